// Numeric differences: what gradients are compared with, for our ops and for users' own.
//
// The derivative is the fourth-order central difference
//   f'(x) = (f(x-2h) - 8 f(x-h) + 8 f(x+h) - f(x+2h)) / 12h + O(h^4),
// stepped through evaluate() in f64. With the default step its error is about 1e-11 of f's scale.
//
// Every stop_gradient keeps the value that it has at the base point. A gradient treats a stopped
// value as constant, so must the difference: for y = x * stop_gradient(x) at x = 3 the gradient is
// 3 and the frozen difference is 3, while a plain difference, of x^2, would be 6 and would call a
// right gradient wrong. (A stop_gradient inside a composition is not seen; lower() the graph
// first.)
//
// Thread safety: reads the graph only.
#pragma once

#include <string>
#include <vector>

#include "engine/evaluate.hpp"

namespace whorl {

struct DifferenceOptions {
  double step = 5e-4;  // h, for |x| <= 1; it grows with |x|
};

// sum_j seed_j dy_j/dx_i for every element i of x, which may be any f64 node. Without a seed y must
// be a scalar. Throws a graph Error when a value between x and y is f32.
Tensor numeric_gradient(const Graph& graph, const Feeds& feeds, NodeId y, NodeId x,
                        const Tensor* seed = nullptr, const DifferenceOptions& options = {});

// d/dt y(x + t v) at t = 0 for a scalar y, all xs moving at once. The xs must not depend on each
// other. One derivative for four evaluations, however many elements there are.
double numeric_slope(const Graph& graph, const Feeds& feeds, NodeId y,
                     const std::vector<NodeId>& xs, const std::vector<Tensor>& directions,
                     const DifferenceOptions& options = {});

// How far two arrays of derivatives are apart, relative to the larger one's largest element, or to
// a thousandth of `scale` (the size of the function itself) where that is more: differences cannot
// resolve derivatives that are tiny beside the function.
double relative_error(const Tensor& symbolic, const Tensor& numeric, double scale);

struct GradientCheck {
  double worst = 0;          // relative error, as above
  NodeId x = 0;              // the variable it belongs to
  Tensor symbolic, numeric;  // that variable's derivatives, both ways
};

// Compares the gradient of y with differences, for every x. A y that is not a scalar is weighted
// with fixed numbers between 0.5 and 1.5. The graph is left as it was.
GradientCheck check_gradient(const Graph& graph, const Feeds& feeds, NodeId y,
                             const std::vector<NodeId>& xs, const DifferenceOptions& options = {});

}  // namespace whorl
