#include "diagnostics/vector_ess.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "diagnostics/lagged_sums.hpp"
#include "engine/error.hpp"

namespace whorl {

namespace {

template <class T>
VectorEss ess_of(std::span<const T> path, std::int64_t dimension) {
  const std::int64_t size = static_cast<std::int64_t>(path.size());
  if (dimension < 1 || size == 0 || size % dimension != 0)
    fail(ErrorKind::usage, "vector_ess",
         "the path has {} numbers; expected a positive multiple of the dimension {}", size,
         dimension);
  const std::int64_t n = size / dimension, max_lag = std::min<std::int64_t>(n / 3, 1000);
  std::vector<double> states(path.begin(), path.end());
  LaggedSums sums(states, dimension, std::max<std::int64_t>(max_lag, 1));
  const auto gamma = [&](std::int64_t lag) { return sums.at(lag) / static_cast<double>(n - lag); };

  if (!(gamma(0) > 0) || !std::isfinite(gamma(0)))
    return {std::numeric_limits<double>::quiet_NaN(), 0, false};
  double v = gamma(0);
  VectorEss result{.capped = true};
  for (std::int64_t lag = 2; lag < max_lag; lag += 2) {
    const double pair = gamma(lag - 1) + gamma(lag);
    if (!(pair > 0)) {
      result.capped = false;
      break;
    }
    v += 2 * pair;
    result.lags = lag;
  }
  result.ess = static_cast<double>(n) * gamma(0) / v;
  return result;
}

}  // namespace

VectorEss vector_ess(std::span<const double> path, std::int64_t dimension) {
  return ess_of(path, dimension);
}
VectorEss vector_ess(std::span<const float> path, std::int64_t dimension) {
  return ess_of(path, dimension);
}

}  // namespace whorl
