// NNSGHMC with a correction made of quotients instead of derivatives, as in the paper's appendix.
//
// With Q_t = Q(U_t, p_t), Q^_t = Q(U_t, p_{t+1}) and f the network's part of D,
//   dQ/dU  ~ (Q_t - Q^_{t-1}) / (U_t - U_{t-1})
//   dQ/dp  ~ (Q^_{t-1} - Q_{t-1}) / (p_t - p_{t-1})                    one step late
//   df/dp  ~ (f(U_t, p_t, g_t) - f(U_t, p_{t-1}, g_t)) / (p_t - p_{t-1})
//   Gamma_p = dQ/dU g + [D inside its bounds] (2 alpha Q_t dQ/dp + df/dp)
//   Gamma_theta = -(Q^_t - Q_t) / (p_{t+1} - p_t).
//
// A quotient of differences that are near round-off says nothing, and 0/0 is no number. Where a
// network's input x changed by no more than 64 ulp of 1 + |x|, the exact Gamma stands instead, so
// no coordinate is ever moved by a wrong number. The statistic `fallbacks` counts such coordinates
// of both corrections. In a chain's first step, which has no past, Gamma_p is exact and not
// counted. In single precision a large energy often does not change at all in a step.
//
// It is a way to repeat published runs. Exact derivatives are evaluated beside the quotients, so
// it is slower than the exact step, and its bias is larger by a term that vanishes with eta.
// Thread safety: free functions.
#pragma once

#include "samplers/learned.hpp"

namespace whorl {

// State: position, momentum, previous_momentum, previous_energy, previous_curl (Q_{t-1}),
// moved_curl (Q^_{t-1}) and started (0 before the first step). The momentum of a chain on its way
// cannot be replaced alone: these must fit it. `first_step_size` is as in learned_dynamics. Only
// the semi-implicit integrator is defined.
Step finite_difference_step(const Energy& energy, const LearnedSampler& sampler,
                            const TaskStatistics& task = {}, double first_step_size = 0,
                            const RecipeOptions& options = {});

}  // namespace whorl
