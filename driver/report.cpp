// whorl report: the curves, the quality and the origin of runs, as one page of HTML.
#include "driver/commands.hpp"
#include "driver/report/page.hpp"
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
    runs.push_back(load_run(directory));
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
      "DIR is the directory of a run, finished or not. The page has a verdict in words, a\n"
      "table of all runs beside published values, curves, diagnostics of the draws,\n"
      "trajectories, what a learned sampler has learned, and how to run it again. It needs\n"
      "no network and no other file.",
      "whorl report runs/t runs/s -o comparison.html",
      {{"output", "FILE", "the page (default: DIR/report.html; of several runs, report.html)", 'o'},
       threads_option,
       budget_option,
       quiet_option("nothing printed")},
      &run_report};
}

}  // namespace whorl::driver
