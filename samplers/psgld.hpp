// PSGLD: SGLD with the preconditioner of RMSprop (Li et al., 2016).
//
//   m = g / N                                the gradient at the scale of one datum
//   V' = decay V + (1 - decay) m^2           V' = m^2 in a chain's first step
//   G = 1 / (epsilon + sqrt(V'))
//   position' = position - eta G g + sqrt(2 eta T G) N(0, 1)
//
// g is the stochastic gradient of the whole energy, prior included, so the same numbers move the
// chain and measure its scale; or, with `likelihood_only`, m leaves the prior out. G changes with
// the position, and the correction that this asks for is left out, as in the paper: PSGLD has a
// bias that does not vanish with eta. For a step of Welling and Teh's size epsilon,
// eta = epsilon / 2.
// Thread safety: free functions.
#pragma once

#include "samplers/recipe.hpp"

namespace whorl {

struct PsgldOptions {
  double decay = 0.99;    // in [0, 1]; 1 keeps V as it is
  double epsilon = 1e-5;  // positive
  double data_size = 1;   // N
  double temperature = 1;
  double noise_estimate = 0;  // as in RecipeOptions
  GradientSource gradient = {};
  // Whether V is that of the likelihood's gradient alone; the energy must then tell it apart.
  bool likelihood_only = false;
};

// State: position and second_moment, which begins at -1: negative means that there is none yet.
// Throws a usage Error that names the option which is out of range.
Step psgld_step(const Energy& energy, const PsgldOptions& options = {});

}  // namespace whorl
