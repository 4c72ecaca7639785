#include "driver/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "driver/report/html.hpp"
#include "driver/report/sections.hpp"
#include "driver/report/style.hpp"
#include "driver/report/svg.hpp"

namespace whorl::driver::report {

namespace {

// What all runs are about, when they agree; trainings on other targets do not count beside runs on
// one.
std::string title_of(const std::vector<RunView>& runs) {
  std::vector<std::string> targets;
  for (bool training : {false, true})
    if (targets.empty())
      for (const RunView& run : runs)
        if (run.record->is_training() == training) targets.push_back(run.target);
  const bool common = std::count(targets.begin(), targets.end(), targets[0]) == std::ssize(targets);
  if (common && !targets[0].empty()) return targets[0];
  return runs.size() == 1 ? runs.front().label : count_of(std::ssize(runs), "run");
}

// Jumps to the sections that there are.
std::string navigation(const std::string& sections) {
  std::string links;
  for (const auto& [id, name] :
       {std::pair("curves", "Along the way"), std::pair("calibration", "Predictions"),
        std::pair("training", "Training"), std::pair("draws", "The draws"),
        std::pair("trajectories", "Trajectories"), std::pair("networks", "What was learned"),
        std::pair("provenance", "Where it is from")})
    if (sections.find(fmt::format("<section id=\"{}\">", id)) != std::string::npos)
      links += fmt::format("<a href=\"#{}\">{}</a>\n", id, name);
  return fmt::format("<nav>\n{}</nav>\n", links);
}

}  // namespace

std::string make_page(const std::vector<RunRecord>& runs, const PageOptions& options) {
  const std::vector<RunView> views = view_runs(runs, options.threads, options.memory_budget);
  const std::string sections = curves(views) + calibration(views) + diagnostics(views) +
                               trajectories(views, options.threads, options.memory_budget) +
                               networks(views) + provenance(views);
  const std::string title = title_of(views);
  return fmt::format(
      "<!DOCTYPE html>\n"
      "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"generator\" content=\"whorl {}\"/>\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n"
      "<header>\n<h1>{}</h1>\n{}{}</header>\n{}{}</main>\n</body>\n</html>\n",
      WHORL_VERSION, escaped(title), style_sheet(), escaped(title),
      paragraph(fmt::format("A report on {}, made by whorl {}.", count_of(std::ssize(views), "run"),
                            WHORL_VERSION),
                "soft"),
      navigation(sections), overview(views), sections);
}

}  // namespace whorl::driver::report
