// RunSummary: what the draws of one run say, for `whorl summary`.
//
// Each number that was drawn, and each statistic that belongs to a draw, has a row. Chains that
// were given up are left out with all their draws. Draws are read in blocks of bounded memory;
// results do not depend on threads. Thread safety: plain values.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "diagnostics/summary.hpp"
#include "diagnostics/temperature.hpp"
#include "driver/json.hpp"
#include "driver/output.hpp"

namespace whorl::driver {

struct SummaryRequest {
  std::vector<std::string> chosen;  // "w", "w[1,2]", "lp"; everything when empty
  std::int64_t superchains = 0;     // for nested R-hat; 0: none
  bool exact = false;               // with the moments of a Gaussian target
  int threads = 1;
};

struct SummaryRow {
  std::string name;
  ParameterSummary found;
  std::optional<double> nested_rhat, exact_mean, exact_sd;
};

struct RunSummary {
  std::string directory, target, sampler, state;  // state: running, stopped or done
  std::int64_t chains = 0, steps = 0, draws = 0;
  std::vector<std::int64_t> lost;  // chains that were given up
  double seconds = 0;
  std::vector<SummaryRow> parameters, statistics;  // empty for fewer than 4 draws
  std::optional<Temperature> kinetic, configurational;
  std::vector<std::string> warnings, notes;

  double per_second(double ess) const;  // NaN when the run's time is not known
};

// Throws a usage Error when the directory has no run of `sample` or the request does not fit it, a
// data Error when there are no draws yet.
RunSummary summarise_run(const std::filesystem::path& directory, const SummaryRequest& request);

// What is worst in a run, among its parameters and the log joint; NaN where there is no number.
struct WorstOfRun {
  double rhat = 0, ess_bulk = 0, ess_tail = 0;
};
WorstOfRun worst_of(const RunSummary& run);

// At most the worst rows, unless all are wanted.
void print_summary(const RunSummary& run, bool all, Output& output);
void print_comparison(const std::vector<RunSummary>& runs, Output& output);
void add_summary(Json& json, const RunSummary& run);

}  // namespace whorl::driver
