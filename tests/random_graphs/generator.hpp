// Random typed graphs: a seed gives a graph, its feeds and a scalar that depends on its inputs.
//
// Nodes are drawn from recipes, one per op or family; a recipe whose op is not in the table is left
// out. Every new node is evaluated at once, and only values that are finite and of moderate size
// are used further, so the graphs are sane at their base point; the others stay as dead nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/evaluate.hpp"
#include "engine/graph.hpp"

namespace whorl::testing {

struct RandomGraph {
  std::uint64_t seed;
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  Feeds feeds;
  std::vector<Value> inputs;  // all of floating point
  Value y;                    // a scalar, also the output "y"
  bool draws = false;         // it has random nodes
};

struct RandomGraphOptions {
  DType dtype = DType::f64;
  int nodes = 20;                               // to draw; recipes may append a few each
  std::vector<std::int64_t> sizes{1, 2, 3, 4};  // of axes
  std::int64_t most_elements = 100;             // of one value
};

// Outputs: "y", some of the values on the way, and the gradients of y.
RandomGraph random_graph(std::uint64_t seed, const RandomGraphOptions& options);

// The options that seed n of a series uses: small and large, f32 and f64 take turns.
RandomGraphOptions small_options(std::uint64_t seed, DType dtype);
RandomGraphOptions large_options(std::uint64_t seed, DType dtype);

}  // namespace whorl::testing
