// ChosenSampler: the sampler that an experiment names, as a step for its target.
//
// A name that ends in .pbtxt is a sampler file, any other one of the built-in samplers. A learned
// sampler that must know the scale of its task measures it here, by its pilot run.
// Thread safety: free functions; values.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/target.hpp"
#include "graphs/sampler_file.hpp"

namespace whorl::driver {

struct ChosenSampler {
  Step step;
  std::optional<SamplerFile> file;
  std::optional<TaskStatistics> statistics;  // of the task, where they were measured
  std::optional<double> step_size;           // that a learned sampler has for the task
  // What the mean of p^2 is when all is right; empty where the momentum has another law.
  std::optional<double> temperature;
};

struct SamplerRequest {
  std::string name;
  std::vector<std::pair<std::string, double>> settings;
  double first_step_size = 0, largest_step_size = 0;
  bool own_step_size = false;  // whether a learned sampler may choose it
  Start position;              // where the pilot run begins, too
  std::uint64_t seed = 0;
  int threads = 1;
};

// Throws a usage Error for a name or a setting that does not exist or is out of range, and where
// the step size times the friction is 2 or more: such a step is unstable.
ChosenSampler choose_sampler(const SamplerRequest& request, const Target& target);

// Some settings are choices: the number that stands for a word, as 1 does for "euler", or empty.
std::optional<double> setting_choice(std::string_view setting, std::string_view word);

}  // namespace whorl::driver
