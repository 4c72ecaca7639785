// One effective sample size for the path of a whole vector.
//
// For a path of n states, centred to z,
//
//   gamma_l = 1/(n-l) sum_t <z_t, z_{t+l}>                   summed over the coordinates
//   v       = gamma_0 + 2 sum over l = 2, 4, .. of (gamma_{l-1} + gamma_l)
//   ess     = n gamma_0 / v
//
// where the sum ends before the first pair that is not positive, and before lag min(n/3, 1000). A
// chain that is still correlated at that lag gets an ess that is too large: `capped` says so. The
// coordinates with the largest variance count most.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>

namespace whorl {

struct VectorEss {
  double ess = 0;         // NaN for a path that never moves, or is not finite
  std::int64_t lags = 0;  // the last lag in the sum
  bool capped = false;    // the pairs were still positive at the largest lag
};

// The path is [n, dimension], row by row. Throws a usage Error when it is empty or not whole rows.
VectorEss vector_ess(std::span<const double> path, std::int64_t dimension);
VectorEss vector_ess(std::span<const float> path, std::int64_t dimension);

}  // namespace whorl
