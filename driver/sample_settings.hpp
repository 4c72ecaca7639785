// The experiment that a command line asks for: a file's, with the flags on top and the defaults
// filled in.
//
// Thread safety: free functions; values.
#pragma once

#include <functional>
#include <string_view>

#include "driver/command_line.hpp"
#include "graphs/experiment_file.hpp"
#include "samplers/schedule.hpp"

namespace whorl::driver {

struct SampleExperiment {
  ExperimentFile experiment;  // with one target, and every field of `run` that has a default
  // Whether a step size that the sampler itself brings goes before the file's: it does when
  // --sampler replaced the sampler that the file's step size is meant for.
  bool own_step_size = false;
};

// Of `whorl sample`. Throws a usage Error for what cannot be.
SampleExperiment sample_experiment(const Arguments& arguments);

// "normal:0,1", "uniform:0,6", or a number.
Start parse_start(std::string_view option, std::string_view text);
// A number, "phases:0=0.01,1000=0.02", "polynomial:A,B,GAMMA" or "cosine:HIGHEST,PERIOD".
ScheduleSettings parse_schedule(std::string_view option, std::string_view text);

// "90s", "15m", "2h", "1d" or a number of seconds.
double parse_duration(std::string_view option, std::string_view text);

// With phases by steps instead of passes over the data.
ScheduleSettings by_steps(ScheduleSettings schedule, std::int64_t steps_per_epoch);
// With a rule applied to every value. Throws a usage Error for a polynomial.
ScheduleSettings mapped(ScheduleSettings schedule, const std::function<double(double)>& rule);

// Throws a usage Error for a step size that is not positive.
Schedule make_schedule(const ScheduleSettings& settings);

}  // namespace whorl::driver
