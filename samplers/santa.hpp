// Santa: an annealed thermostat with the preconditioner of RMSprop (Chen, Carlson, Gan, Li and
// Carin, 2016), by the Euler scheme. It begins as a sampler and ends as an optimiser.
//
// The step size eta is the paper's, which multiplies the gradient f of the whole energy: a rate
// per datum over N. With h = sqrt(eta), the paper's u and alpha are h p and h xi. In step
// t = 1, 2, ... of a chain:
//
//   V' = decay V + (1 - decay) (f / N)^2         V' = (f / N)^2 in a chain's first step
//   g = 1 / sqrt(epsilon + sqrt(V'))
//   explore, T = 1 / (A t^gamma):  xi' = xi + h (p^2 - T), within [-1/h, 1/h];   alpha = h xi'
//   refine,  T = 0:                xi' = xi;   alpha = h max(xi', g), at most 1
//   p' = (1 - alpha) p - h g f + sqrt(2 h T g) N(0, 1)
//   position' = position + h g p'
//
// p begins at N(0, 1) and xi at the friction C, so alpha at h C. Where this is not the paper's
// Algorithm 1 by the letter:
//   * The paper's term (eta T) (1 - g_old/g) / u is left out, as in a program of the authors. It
//     divides by a momentum that crosses zero, so it has no finite mean, and g changes by a part of
//     1 - decay in a step only.
//   * The noise of u has the variance 2 eta^(3/2) T g, as in the authors' programs, and as follows
//     from du = h dp. With 2 eta T g, as printed, one step's noise would alone be more than the
//     thermostat's aim, E u^2 = eta T, wherever g > 1/2, and no friction could make up for it.
//   * V' begins at the first square and not near 0, which would make the first steps up to
//     1 / sqrt(1 - decay) times too long; and the noise takes g and not the one before, which
//     would be 1 / sqrt(epsilon) in the first step. Both depend on nothing that the noise does.
//   * alpha is at most 1, so that friction never turns a momentum round, and at least -1: a
//     thermostat may be below 0 to warm a momentum up, which is a part of its law, N(g, T). Frozen
//     there it would blow the momentum up, and near 0 leave the position swinging: in refinement
//     the friction is not less than g, the one that balanced the noise.
//
// With the exact gradient, g grows as f shrinks: at a constant eta the end is not a point but
// steps of the order of eta N around the mode. Thread safety: free functions.
#pragma once

#include <optional>

#include "samplers/step.hpp"

namespace whorl {

struct SantaOptions {
  double friction = 5;      // C, not negative
  double decay = 0.99;      // in [0, 1]; 1 keeps V as it is
  double epsilon = 1e-5;    // positive
  double data_size = 1;     // N
  double beta_scale = 1;    // A, positive
  double beta_power = 0.5;  // gamma, not negative
  // The number of steps with noise, which are the first ones; empty: all.
  std::optional<std::int64_t> refine_from = {};
  GradientSource gradient = {};
  // Whether V is that of the likelihood's gradient alone; the energy must then tell it apart.
  bool likelihood_only = false;
};

// State: position, momentum, thermostat [n], second_moment, which begins at -1: negative means that
// there is none yet, and count, the number of steps made.
// Throws a usage Error that names the option which is out of range.
Step santa_step(const Energy& energy, const SantaOptions& options = {});

}  // namespace whorl
