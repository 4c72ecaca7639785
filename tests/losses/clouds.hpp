// Clouds of points for the tests of losses, and scores of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/evaluate.hpp"
#include "engine/ops.hpp"
#include "engine/random.hpp"
#include "losses/stein.hpp"

namespace whorl::testing {

// Standard normal numbers [rows, columns].
inline Tensor normal_tensor(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  Tensor x({DType::f64, {rows, columns}});
  fill_normal<double>({.seed = seed}, 0, x.values<double>());
  return x;
}

inline Tensor score_of(const Tensor& points, double ridge = 0.03) {
  Graph graph;
  const Value x = input(graph, "x", points.type());
  return evaluate(graph, {{"x", points}}, {stein_score(x, {ridge}).id}).front();
}

inline double largest_difference(const Tensor& a, std::span<const double> b) {
  double worst = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i)
    worst = std::max(worst, std::abs(a.at(i) - b[static_cast<std::size_t>(i)]));
  return worst;
}

}  // namespace whorl::testing
