// The mean square of the gradient over the last steps, by which preconditioners scale coordinates.
//
//   m = g / N                        the gradient at the scale of one datum
//   V' = decay V + (1 - decay) m^2   V' = m^2 in a chain's first step
//
// Thread safety: as for StepBuilder.
#pragma once

#include <string_view>

#include "samplers/step.hpp"

namespace whorl {

struct SecondMomentOptions {
  double decay = 0.99;           // 1 keeps V as it is
  double data_size = 1;          // N
  bool likelihood_only = false;  // m leaves the prior out
};

// V', which becomes the state variable `second_moment`. It begins at -1: negative means that there
// is none yet. Throws a usage Error in the sampler's name where the prior is to be left out and the
// energy does not tell it apart.
Value second_moment(StepBuilder& step, std::string_view sampler,
                    const SecondMomentOptions& options);

}  // namespace whorl
