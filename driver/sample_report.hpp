// SampleReport: what a run of a sampler found, for people and for programs.
//
// Thread safety: plain values.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "driver/draws_summary.hpp"
#include "driver/output.hpp"
#include "driver/run_record.hpp"
#include "driver/sampler_choice.hpp"
#include "driver/sampling.hpp"
#include "graphs/experiment_file.hpp"

namespace whorl::driver {

struct SampleReport {
  std::string target;              // as it was named
  ExperimentFile experiment;       // with all its settings
  std::vector<std::string> names;  // of the numbers of a draw: "w[0,1]"
  SamplingTotals totals;
  double seconds = 0;
  std::vector<MetricsRow> metrics;
  DrawsSummary found;
  bool keeps_all = true;             // whether the draws have all parameters
  std::optional<Gaussian> gaussian;  // the exact law
  std::optional<double> vector_ess;  // of Gaussian targets: the mean over chains
  bool vector_ess_capped = false;
  std::optional<TaskStatistics> statistics;  // of the task
  std::optional<double> expected_temperature;
  std::optional<double> own_step_size;  // where it is by the sampler's own rule
  std::vector<std::string> warnings, notes;
  std::string directory;  // "" when nothing was stored
  int threads = 1;
};

// What a report is made of.
struct SampleFindings {
  std::string target;
  const ExperimentFile& experiment;
  const Target& loaded;
  const ChosenSampler& sampler;
  SamplingTotals totals;
  std::vector<MetricsRow> metrics;
  DrawsReader draws;
  double seconds = 0;
  int threads = 1;
  // Of larger models, so many numbers are judged, evenly spread.
  std::int64_t most_numbers = std::numeric_limits<std::int64_t>::max();
};
SampleReport make_report(SampleFindings findings);

void print_report(const SampleReport& report, Output& output);
void print_json(const SampleReport& report, Output& output);

}  // namespace whorl::driver
