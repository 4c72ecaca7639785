// whorl report: the curves, the quality and the origin of runs, as one page of HTML.
#include "driver/commands.hpp"
#include "driver/report/page.hpp"
#include "driver/run_groups.hpp"
#include "engine/error.hpp"
#include "engine/file.hpp"

namespace whorl::driver {

namespace {

namespace fs = std::filesystem;

fs::path place_of(const Arguments& arguments) {
  if (arguments.has("output")) return arguments.text("output");
  if (arguments.positional().size() > 1) return "report.html";
  return fs::path(arguments.positional()[0]) / "report.html";
}

void run_report(const Arguments& arguments, Output& output) {
  std::vector<RunRecord> runs;
  for (const std::string& directory : arguments.positional()) {
    if (directory.empty())
      fail(ErrorKind::usage, "report", "DIR is empty; expected the directory of a run");
    for (const fs::path& path : runs_within(directory)) runs.push_back(load_run(path));
  }
  const std::string page =
      report::make_page(runs, {arguments.threads(), arguments.memory_budget()});
  const std::string path = place_of(arguments).string();
  write_file("report", path, page);
  if (!output.quiet) output.print("wrote {}\n", printable(path));
}

}  // namespace

Command report_command() {
  return {
      "report",
      {"DIR..."},
      1,
      "one page of HTML about runs",
      "DIR is the directory of a run, finished or not, or one that has runs in it. The page\n"
      "has a verdict in words, a table of all runs beside published values, curves,\n"
      "calibration of predictions, diagnostics of the draws, trajectories, what a learned\n"
      "sampler has learned, and how to run it again. It needs no network and no other file.",
      "whorl report runs/t runs/s -o comparison.html",
      {{"output", "FILE", "the page (default: DIR/report.html; of several runs, report.html)", 'o'},
       threads_option,
       budget_option,
       quiet_option("nothing printed")},
      &run_report};
}

}  // namespace whorl::driver
