// HMC with Metropolis' test (Duane et al., 1987): exact for its target at any step size.
//
// A step draws a momentum p ~ N(0, T), makes L leapfrog steps on the whole data,
//   p -= eta/2 g(x),  x += eta p,  p -= eta/2 g(x),
// and keeps the end with probability min(1, exp((H - H') / T)), H = U + |p|^2/2; else the chain
// stays. An end that is not finite is not kept.
// Thread safety: free functions.
#pragma once

#include "samplers/step.hpp"

namespace whorl {

struct HmcOptions {
  std::int64_t leapfrog_steps = 10;
  // eta is multiplied by a number that is uniform in 1 +- jitter, drawn for each step and chain, so
  // that no orbit closes after exactly L steps.
  double jitter = 0.2;
  double temperature = 1;
};

// State: the position alone. Statistic, beside those of every step: `accepted`, 0 or 1.
// Throws a usage Error that names the option which is out of range.
Step hmc_step(const Energy& energy, const HmcOptions& options = {});

}  // namespace whorl
