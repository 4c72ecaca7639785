// Optimisers as samplers without noise: references that run in the same chains.
//
// Their gradient is that of the whole energy U, a sum over the data; a rate that is known for the
// mean over N data is to be divided by N. Adam does not depend on the scale of U.
// Thread safety: free functions.
#pragma once

#include "samplers/adam.hpp"
#include "samplers/step.hpp"

namespace whorl {

// State: position, first_moment, second_moment and count, the number of steps made.
Step adam_step(const Energy& energy, const AdamOptions& options = {},
               const GradientSource& gradient = {});

// Stochastic gradient descent with momentum: velocity' = decay velocity + g,
// position' = position - eta velocity'. Throws a usage Error for a decay outside [0, 1).
Step sgdm_step(const Energy& energy, double decay = 0.9, const GradientSource& gradient = {});

}  // namespace whorl
