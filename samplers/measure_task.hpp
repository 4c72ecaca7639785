// measure_task: what a learned sampler must know of a task before it runs there.
//
// A short run of SGHMC, the pilot, finds the range in which energy, momentum and gradient lie when
// the chains have settled. Learned samplers divide by it, so that a new target reaches their
// networks at the scale of those that they were trained on.
// Thread safety: free function; the callbacks run on the calling thread.
#pragma once

#include <functional>
#include <span>

#include "samplers/chains.hpp"
#include "samplers/learned.hpp"

namespace whorl {

struct TaskData {
  // Binds the energy's data, when it has any.
  std::function<void(Chains&)> bind = {};
  // Fills in the rows of a step, for minibatches, as Chains::advance wants it.
  std::function<void(std::int64_t, std::span<std::int32_t>)> batch = {};
};

// Over the second half of the pilot's steps and all its chains, in f64:
//   energy_mean, energy_sd   of U, as every step saw it
//   momentum_rms             sqrt(mean p^2)
//   gradient_rms             sqrt(mean g^2 + injected_noise^2), g with its minibatch noise
// The positions begin at `start`. The pilot's random numbers are not those of a run with the same
// seed. Where the pilot diverges it begins again with half the step size, up to six times. Throws a
// numeric Error when that does not help or the energy does not vary, a usage Error for a pilot
// without chains, with fewer than 2 steps or with a step size that is not positive.
TaskStatistics measure_task(const Energy& energy, const GradientSource& gradient,
                            const Pilot& pilot, const Start& start, std::uint64_t seed,
                            const TaskData& data = {}, int threads = 1);

}  // namespace whorl
