// Named sizes and ops: dimensions and ops that a file calls by a name of its own, so that who loads
// it can choose them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "graphs/file/source.hpp"

namespace whorl::file {
class Graph;
}

namespace whorl::graphs {

// Completes source.sizes, which hold what the caller chose, by the values in the file. A name that
// the file does not declare is a graph Error.
void take_sizes(const file::Graph& message, const Lines& lines, Source& source);

// Completes source.ops in the same way.
void take_ops(const file::Graph& message, const Lines& lines, Source& source);

// "200", or the name of a size. Throws a graph Error without a place; `whole` is what the text is
// part of, such as "type 'f32[rows]'".
std::int64_t parse_size(std::string_view whole, std::string_view text, const Source& source);

// The dtype and the dimensions of "f32[20, rows]", as texts without blanks around them.
struct TypeText {
  std::string_view dtype;
  std::vector<std::string_view> dimensions;
};
TypeText split_type(std::string_view text, const LoadLimits& limits);

// A long text, shortened for a message.
std::string shown(std::string_view text);

}  // namespace whorl::graphs
