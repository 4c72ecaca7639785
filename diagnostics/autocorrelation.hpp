// How long chains remember: the autocorrelation of one parameter, over all its chains.
//
//   rho_l = sum over chains of sum_t z_t z_{t+l}  /  sum over chains of sum_t z_t^2
//
// with z a chain less its own mean. Chains that move further count more, and that chains disagree
// does not show. Towards the last lags it shrinks to zero, as fewer and fewer products are summed.
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace whorl {

// Lags 0, 1, ..., `lag` of draws [chains, length]; NaN when they never move or are not finite.
// Throws a usage Error when the draws do not fit, or there is no such lag.
std::vector<double> autocorrelation(std::span<const double> draws, std::int64_t chains,
                                    std::int64_t length, std::int64_t lag);

}  // namespace whorl
