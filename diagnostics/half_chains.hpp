// HalfChains: how well the halves of several chains agree, and what they are worth together.
//
// With M halves of N draws, W the mean of their variances and B/N the variance of their means,
//
//   var+  = (N-1)/N W + B/N            rhat = sqrt(var+ / W)
//   rho_l = 1 - (W - mean over halves of autocovariance_l) / var+,  rho_0 = 1
//   P_k   = rho_2k + rho_2k+1
//   ess   = M N / tau,  tau = -1 + 2 sum over k < K of P_k + max(rho_2K, 0)
//
// where K is the first pair whose sum is not positive, N/2 - 2 (but at least 1) at the latest: the
// last lags rest on a few products. No P_k counts more than the one before (Geyer's initial
// monotone sequence). The last term takes one of the pair at which the sum ends: without it, chains
// that overshoot would be valued too high (Vehtari, Gelman, Simpson, Carpenter and Buerkner 2021).
// The ess is at most M N log10(M N).
// Thread safety: none.
#pragma once

#include <cstdint>
#include <span>

#include "diagnostics/lagged_sums.hpp"

namespace whorl {

class HalfChains {
 public:
  // The draws, [N, halves], are centred in their place and read as long as this lives. N is 2 or
  // more.
  HalfChains(std::span<double> draws, std::int64_t halves);

  // NaN where nothing ever moves, infinite where halves stay in different places.
  double rhat() const;
  // NaN where nothing ever moves, and for fewer than 3 draws a half: two tell nothing of how they
  // are correlated.
  double ess();

 private:
  double correlation(std::int64_t lag);

  double count_, size_;
  LaggedSums sums_;
  double within_ = 0, total_ = 0;  // W and var+
};

}  // namespace whorl
