// ChosenSampler: the sampler that an experiment names, as a step for its target.
//
// A name that ends in .pbtxt, or that is no built-in sampler's and a file's, is a sampler file. A
// learned sampler that must know the scale of its task measures it here, by its pilot run. Thread
// safety: free functions; values.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/target.hpp"
#include "graphs/sampler_file.hpp"
#include "samplers/schedule.hpp"

namespace whorl::driver {

struct ChosenSampler {
  std::vector<Step> steps;  // one for each of the target's energies
  Schedule step_size;
  std::optional<double> own_step_size;  // where the sampler brought it
  std::optional<SamplerFile> file;
  std::optional<TaskStatistics> statistics;  // of the task, where they were measured
  std::vector<std::string> notes = {};       // for the user
  // What the mean of p^2 is when all is right; empty where the momentum has another law.
  std::optional<double> temperature;
};

struct SamplerRequest {
  std::string name;
  std::vector<std::pair<std::string, double>> settings;
  std::optional<Schedule> step_size;
  std::int64_t run_steps = 0;  // of a chain; 0 where it is not known
  bool own_step_size = false;  // whether one that the sampler itself brings goes before that
  Start position;              // where the pilot run begins, too
  std::uint64_t seed = 0;
  int threads = 1;
  std::int64_t memory_budget = 0;  // of the pilot run
};

// Throws a usage Error for a name or a setting that does not exist or is out of range, when there
// is no step size, and where it is known to be too large.
ChosenSampler choose_sampler(const SamplerRequest& request, const Target& target);

// What a rate per datum is as a step size of a sampler, for N rows: sqrt(rate / N) with a momentum,
// rate / N without one and for santa, whose step size is the square of another's, the rate itself
// for adam.
double step_size_of_rate(std::string_view sampler, double rate, std::int64_t rows);

// Whether a sampler's name is that of a file.
bool is_sampler_file(std::string_view name);

// Some settings are choices: the number that stands for a word, as 1 does for "euler", or empty.
std::optional<double> setting_choice(std::string_view setting, std::string_view word);

}  // namespace whorl::driver
