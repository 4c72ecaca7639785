// What several chains say of each parameter: mean, sd, Monte Carlo error, R-hat and ESS.
//
// Every chain is split in halves (the middle draw of an odd number is left out), so that a drift
// within chains shows. With M halves of N draws, W the mean of their variances and B/N the variance
// of their means,
//
//   var+  = (N-1)/N W + B/N            rhat = sqrt(var+ / W)
//   rho_l = 1 - (W - mean over halves of autocovariance_l) / var+
//   ess   = M N / (-1 + 2 sum over k of P_k),  P_k = rho_2k + rho_2k+1
//   mcse  = sd / sqrt(ess)
//
// where the sum ends before the first P_k that is not positive and no P_k counts more than the one
// before (Geyer's initial monotone sequence). The ess is that of the mean and is at most
// M N log10(M N).
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace whorl {

struct ParameterSummary {
  double mean = 0, sd = 0;
  // NaN for a parameter that never moves, or is not finite.
  double mcse = 0, rhat = 0, ess = 0;
};

// The draws are [chains, length, parameters]. Throws a usage Error when their number does not fit,
// or a chain has fewer than 4.
std::vector<ParameterSummary> summarise(std::span<const double> draws, std::int64_t chains,
                                        std::int64_t length, std::int64_t parameters);
std::vector<ParameterSummary> summarise(std::span<const float> draws, std::int64_t chains,
                                        std::int64_t length, std::int64_t parameters);

}  // namespace whorl
