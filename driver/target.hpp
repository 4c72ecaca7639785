// Target: what is sampled, ready to be run: the energy, its data, and the exact law where it is
// known.
//
// Thread safety: plain values; energies and Gaussians are immutable.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

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

  // How chains get at the data. The rows of a step depend on the seed and the step only.
  TaskData task_data(std::uint64_t seed) const;
};

// The targets of an experiment one by one: a Gaussian with a count stands for several.
std::vector<TargetSettings> all_targets(const ExperimentFile& experiment);

// An energy whose graph has other rows than its data is loaded for theirs; with a batch size below
// the number of rows, for that size. Throws an Error for whatever does not fit together.
Target load_target(const TargetSettings& target, const DataSettings& data);
Target make_gaussian_target(const GaussianSettings& settings, double gradient_noise);

// The law that the settings describe. A random covariance with a direction narrower than
// `smallest_sd` is drawn again, with the next seed.
Gaussian make_gaussian(const GaussianSettings& settings);

// U(theta) = (theta - mean)' precision (theta - mean) / 2 + normaliser, with the last three as
// data, so that one plan serves all Gaussians of a dimension.
Energy gaussian_energy(std::int64_t dimension);
std::map<std::string, Tensor> gaussian_data(const Gaussian& gaussian);

}  // namespace whorl::driver
