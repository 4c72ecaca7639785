#include "diagnostics/autocorrelation.hpp"

#include <cmath>
#include <limits>

#include "diagnostics/lagged_sums.hpp"
#include "engine/error.hpp"

namespace whorl {

std::vector<double> autocorrelation(std::span<const double> draws, std::int64_t chains,
                                    std::int64_t length, std::int64_t lag) {
  if (chains < 1 || length < 1 || draws.size() != static_cast<std::size_t>(chains * length))
    fail(ErrorKind::usage, "autocorrelation",
         "there are {} numbers in {} chains of {} draws; expected a number for each draw",
         draws.size(), chains, length);
  if (lag < 0 || lag >= length)
    fail(ErrorKind::usage, "autocorrelation", "the lag is {}; expected 0 to {} for {} draws", lag,
         length - 1, length);
  std::vector<double> path(draws.size());
  for (std::int64_t c = 0; c < chains; ++c)
    for (std::int64_t t = 0; t < length; ++t) path[t * chains + c] = draws[c * length + t];
  LaggedSums sums(path, chains, lag + 1);
  const double whole = sums.at(0);
  const bool has_value = whole > 0 && std::isfinite(whole);
  std::vector<double> result;
  for (std::int64_t l = 0; l <= lag; ++l)
    result.push_back(has_value ? sums.at(l) / whole : std::numeric_limits<double>::quiet_NaN());
  return result;
}

}  // namespace whorl
