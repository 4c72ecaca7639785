// SampleReport: what a run of a sampler found, for people and for programs.
//
// Thread safety: plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnostics/summary.hpp"
#include "driver/output.hpp"
#include "driver/sampler_choice.hpp"
#include "driver/sampling.hpp"
#include "graphs/experiment_file.hpp"

namespace whorl::driver {

struct SampleReport {
  std::string target;              // as it was named
  ExperimentFile experiment;       // with all its settings
  std::vector<std::string> names;  // of the numbers of a draw: "w[0,1]"
  SamplingResult result;
  std::vector<Metrics> metrics;
  std::vector<ParameterSummary> summaries;  // empty when there are fewer than 4 draws
  std::optional<Gaussian> gaussian;         // the exact law
  std::optional<double> vector_ess;         // of Gaussian targets: the mean over chains
  bool vector_ess_capped = false;
  std::optional<TaskStatistics> statistics;  // of the task
  std::optional<double> expected_temperature;
  std::optional<double> own_step_size;  // where it is by the sampler's own rule
  std::vector<std::string> warnings;
  std::string directory;  // "" when nothing was stored
  int threads = 1;
};

SampleReport make_report(const std::string& target, const ExperimentFile& experiment,
                         const Target& loaded, const ChosenSampler& sampler, SamplingResult result,
                         std::vector<Metrics> metrics, int threads);

void print_report(const SampleReport& report, Output& output);
void print_json(const SampleReport& report, Output& output);

}  // namespace whorl::driver
