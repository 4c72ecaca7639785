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
// A pilot that diverges, or whose mean p^2 is more than 25% from 1, is run again with half the step
// size and up to 8 times the steps, at most 10 times and only as long as mean p^2 comes nearer
// to 1. The positions begin at `start`. The pilot's noise is not that of a run with the same seed;
// its minibatches are what `data` gives, usually those of the run's first steps. Throws a numeric
// Error when the pilot diverges with every step size, or its energy does not vary, a usage Error
// for a pilot without chains, with fewer than 2 steps or with a step size that is not positive, a
// memory Error when the pilot needs more than the budget (0: no limit). With several energies their
// steps take turns, as data.bind tells the chains.
TaskStatistics measure_task(std::span<const SizedEnergy> energies, const Pilot& pilot,
                            const Start& start, std::uint64_t seed, const TaskData& data = {},
                            int threads = 1, std::int64_t memory_budget = 0);
TaskStatistics measure_task(const Energy& energy, const GradientSource& gradient,
                            const Pilot& pilot, const Start& start, std::uint64_t seed,
                            const TaskData& data = {}, int threads = 1,
                            std::int64_t memory_budget = 0);

}  // namespace whorl
