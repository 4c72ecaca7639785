// Reverse mode, from graph to graph.
//
// A graph is its own tape: gradient() walks the ids backwards from y over the nodes that lie
// between `wrt` and y, asks each op's rule for the adjoints of the inputs that matter, and appends
// them to the same graph. What comes out are ordinary nodes, so the gradient of a gradient needs
// nothing new. Time and memory are linear in the ids between the first `wrt` and y, and nothing
// recurses over the depth of the graph.
//
// A gradient flows from a floating-point input to a floating-point output, and not through
// stop_gradient. Where a node has several consumers, their contributions are added in ascending
// order of the consumers' ids, the first consumer innermost: ((c1 + c2) + c3). The order is part of
// the result's bits; it also lets the backward pass of the earliest consumer run first.
//
// The graph is checked before anything is appended: after an Error about dtypes, shapes, unused
// variables or a missing rule it is as it was. Thread safety: as for Graph::append.
#pragma once

#include <span>
#include <vector>

#include "engine/graph.hpp"

namespace whorl {

struct GradientOptions {
  // The adjoint of y, of y's type. Without one, y must be a scalar, and the seed is 1.
  Value seed = {};
  // Zeros for a variable that no gradient reaches, instead of an Error.
  bool allow_unused = false;
};

// dy/dw for every w in `wrt`, each of w's type. Throws a graph Error that names the node when y or
// a variable is not floating point, when a needed path meets an op without a gradient, or when no
// gradient can reach a variable (then with the node that cuts the path, if there is one).
std::vector<Value> gradient(Value y, std::span<const Value> wrt,
                            const GradientOptions& options = {});
std::vector<Value> gradient(Value y, std::initializer_list<Value> wrt,
                            const GradientOptions& options = {});
Value gradient(Value y, Value wrt, const GradientOptions& options = {});

// sum_k seeds[k]' (d ys[k] / dw) for every w in `wrt`: the adjoints of several values in one walk.
std::vector<Value> vector_jacobian_product(std::span<const Value> ys, std::span<const Value> seeds,
                                           std::span<const Value> wrt, bool allow_unused = false);

}  // namespace whorl
