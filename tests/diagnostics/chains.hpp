// Chains whose effective sample size is known: AR(1), x_t = phi x_{t-1} + sqrt(1 - phi^2) z_t.
//
// Started in its stationary law N(0,1), a chain of n states is worth n (1 - phi) / (1 + phi).
#pragma once

#include <cmath>
#include <vector>

#include "engine/random.hpp"

namespace whorl::testing {

// [length, dimension], every coordinate a chain of its own.
inline std::vector<double> ar1(double phi, std::int64_t length, std::int64_t dimension,
                               std::uint64_t seed) {
  std::vector<double> x(static_cast<std::size_t>(length * dimension));
  fill_normal<double>({.seed = seed}, 0, x);
  const std::size_t d = static_cast<std::size_t>(dimension);
  for (std::size_t i = d; i < x.size(); ++i)
    x[i] = phi * x[i - d] + std::sqrt(1 - phi * phi) * x[i];
  return x;
}

}  // namespace whorl::testing
