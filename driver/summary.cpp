// whorl summary: what the draws of runs are worth.
#include <algorithm>

#include "driver/commands.hpp"
#include "driver/run_summary.hpp"
#include "engine/error.hpp"

namespace whorl::driver {

namespace {

// "w[0,1],b" is w[0,1] and b: commas within brackets belong to a name.
std::vector<std::string> names_of(std::string_view text) {
  std::vector<std::string> names(1);
  int depth = 0;
  for (char c : text) {
    if (c == ' ') continue;
    depth += (c == '[') - (c == ']');
    if (c == ',' && depth == 0)
      names.emplace_back();
    else
      names.back() += c;
  }
  if (std::find(names.begin(), names.end(), "") != names.end())
    fail(ErrorKind::usage, "summary",
         "--parameters '{}' has an empty name; expected names as in w[0,1],b", text);
  return names;
}

void run_summary(const Arguments& arguments, Output& output) {
  SummaryRequest request;
  if (arguments.has("parameters")) request.chosen = names_of(arguments.text("parameters"));
  request.superchains = arguments.integer("superchains", 0, 2, 1'000'000);
  request.exact = arguments.has("exact");
  request.threads = arguments.threads();
  std::vector<RunSummary> runs;
  for (const std::string& directory : arguments.positional())
    runs.push_back(summarise_run(directory, request));

  if (arguments.has("json")) {
    Json json;
    json.object().key("runs").array();
    for (const RunSummary& run : runs) add_summary(json, run);
    return output.write(json.end().end().text());
  }
  for (const RunSummary& run : runs) {
    if (&run != &runs.front()) output.print("\n");
    print_summary(run, arguments.has("all"), output);
  }
  if (runs.size() < 2) return;
  output.print("\n");
  print_comparison(runs, output);
}

}  // namespace

Command summary_command() {
  return {
      "summary",
      {"DIR..."},
      1,
      "R-hat, ESS, means, quantiles and temperatures of runs",
      "Judges the draws of each run in DIR, also while it goes on: mean and sd, the Monte Carlo\n"
      "error of the mean, quantiles, rank-normalised split R-hat, effective sample size of the\n"
      "bulk and of the tails, bulk ESS per second of the run; the same of the log joint and of\n"
      "what else belongs to a draw; kinetic and configurational temperature with a verdict.\n"
      "Chains that diverged are left out. Of more than 20 parameters the worst are shown.\n"
      "Several runs are compared at the end.",
      "whorl summary runs/a runs/b --parameters w,b",
      {{"parameters", "NAMES", "only these: parameters, elements, statistics; w,b[0,1],lp"},
       {"all", "", "every parameter, in the order of the file"},
       {"superchains", "K", "nested R-hat, for K groups of chains that follow each other"},
       {"exact", "", "the moments of a Gaussian target beside those found"},
       threads_option,
       json_option},
      &run_summary};
}

}  // namespace whorl::driver
