// Target: what is sampled, ready to be run: the energy, its data, and the exact law where it is
// known.
//
// Thread safety: plain values; energies and Gaussians are immutable.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver/evaluation.hpp"
#include "driver/sequences.hpp"
#include "graphs/experiment_file.hpp"
#include "models/gaussian.hpp"
#include "samplers/measure_task.hpp"

namespace whorl::driver {

struct Target {
  Energy energy;
  GradientSource gradient;
  std::map<std::string, Tensor> data;  // what the energy's data inputs are bound to
  std::int64_t rows = 0;               // of the data; 0 when there are none
  std::optional<Gaussian> gaussian;
  std::vector<std::string> notes;
  std::vector<std::string> row_inputs;      // the data inputs that have rows
  std::optional<HeldOut> test, validation;  // rows that are not sampled
  // Where the data are sequences. `energy` and `gradient` are then those of the longest ones, and
  // `rows` is the number of all frames.
  std::optional<SequenceTask> sequences = {};

  // How chains get at the data. The rows of a step depend on the seed and the step only.
  TaskData task_data(std::uint64_t seed) const;
  // The energies whose steps take turns: several for sequences, else one.
  std::vector<SizedEnergy> energies() const;
  // Steps of one pass over the data; 0 without minibatches.
  std::int64_t steps_per_pass() const;
  bool is_evaluated() const;
};

// Judges of the target's test and validation data. `target` must outlive them.
std::vector<std::unique_ptr<Evaluation>> make_evaluations(const Target& target, std::int64_t chains,
                                                          int threads);

// Targets without counts: a Gaussian with a count stands for several, with seeds of their own.
std::vector<TargetSettings> one_by_one(const std::vector<TargetSettings>& targets);

// An energy whose graph has other rows than its data is loaded for theirs; with a batch size below
// the number of rows, for that size. Throws an Error for whatever does not fit together.
Target load_target(const TargetSettings& target, const DataSettings& data,
                   std::int64_t memory_budget);
Target make_gaussian_target(const GaussianSettings& settings, double gradient_noise,
                            std::int64_t memory_budget);

// What a learned sampler has to know of the target, by its pilot run.
TaskStatistics measure(const Target& target, const Pilot& pilot, const Start& position,
                       std::uint64_t seed, int threads, std::int64_t memory_budget);

// The law that the settings describe. A random covariance with a direction narrower than
// `smallest_sd` is drawn again, with the next seed.
Gaussian make_gaussian(const GaussianSettings& settings);

// U(theta) = (theta - mean)' precision (theta - mean) / 2 + normaliser, with the last three as
// data, so that one plan serves all Gaussians of a dimension.
Energy gaussian_energy(std::int64_t dimension);
std::map<std::string, Tensor> gaussian_data(const Gaussian& gaussian);

}  // namespace whorl::driver
