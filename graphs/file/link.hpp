// Linking: from names to numbers.
//
// A file's graph and each of its functions become a Body: items in the order of the file, edges
// between them by number, and an order in which they can be appended. All that can be judged
// without types is judged here, once per body, however often a function is used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph.hpp"
#include "graphs/file/source.hpp"

namespace whorl::file {
class Graph;
}

namespace whorl::graphs {

// One output of one item of the same body.
struct Use {
  std::uint32_t item = 0;
  std::uint32_t slot = 0;
};

struct Item {
  enum class Kind { argument, op, call, repeat };
  Kind kind = Kind::op;
  std::string_view name;  // as in the file; a placeholder for a node without one
  int line = 0;
  const OpDef* op = nullptr;
  Attributes attributes;
  std::optional<Type> type;  // what the file says it is
  std::uint32_t first_use = 0, use_count = 0;
  std::uint32_t first_slot = 0, slot_count = 1;  // its outputs among the values of the body

  // Of calls and repeats. `index` is the argument that gets the iteration, or -1.
  std::uint32_t function = 0;
  std::int64_t count = 1;
  std::uint32_t carry = 0;
  int index = -1;
};

struct BodyOutput {
  std::string_view name;
  Use use;
  int line = 0;
};

struct Body {
  std::string_view name;  // of the function; "" for the graph
  int line = 0;
  std::uint32_t arguments = 0;  // of a function: its first items
  std::uint32_t slots = 0;
  std::vector<Item> items;
  std::vector<Use> uses;
  std::vector<std::uint32_t> order;  // the file's order wherever the edges allow it
  std::vector<BodyOutput> outputs;

  std::span<const Use> uses_of(const Item& item) const {
    return {uses.data() + item.first_use, item.use_count};
  }
};

// The views point into the message that was linked.
struct Program {
  Body main;
  std::vector<Body> functions;
};

// Throws a graph Error for the first thing that is wrong.
Program link(const file::Graph& message, const Lines& lines, Source& source);

// "node 'q' (add)", with the function it stands in.
std::string describe(const Body& body, const Item& item);

}  // namespace whorl::graphs
