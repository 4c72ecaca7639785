// How far the confidence of predictions can be relied on: reliability diagrams, and what stands in
// scores.json. Runs that differ in their seed are taken together.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "driver/report/html.hpp"
#include "driver/report/line_chart.hpp"
#include "driver/report/numbers.hpp"
#include "driver/report/sections.hpp"
#include "driver/report/seeds.hpp"

namespace whorl::driver::report {

namespace {

constexpr double bins = ClassificationScores::bins;
constexpr int diagonal_colour = 7;

// What runs of one colour have of one ensemble on one set of data.
struct Scored {
  std::string name;
  int colour = 0;
  std::vector<const ClassificationScores*> scores;  // one for each run
};

struct Kind {
  std::string data, ensemble;
};

const ClassificationScores* scores_of(const RunView& run, const Kind& kind) {
  if (!run.record->scores) return nullptr;
  for (const EnsembleScores& found : run.record->scores->ensembles)
    if (found.data == kind.data && found.ensemble == kind.ensemble) return &found.scores;
  return nullptr;
}

// The order of the files; those of one run are those of all, as a rule.
std::vector<Kind> kinds_of(const std::vector<RunView>& runs) {
  std::vector<Kind> kinds;
  for (const RunView& run : runs) {
    if (!run.record->scores) continue;
    for (const EnsembleScores& found : run.record->scores->ensembles)
      if (std::none_of(kinds.begin(), kinds.end(), [&](const Kind& kind) {
            return kind.data == found.data && kind.ensemble == found.ensemble;
          }))
        kinds.push_back({found.data, found.ensemble});
  }
  return kinds;
}

std::string kind_name(const Kind& kind) {
  const char* who = kind.ensemble == "current"   ? "all chains at the last step"
                    : kind.ensemble == "average" ? "the posterior average"
                                                 : kind.ensemble.c_str();
  return fmt::format("{}, {} data", who, kind.data);
}

std::vector<Scored> scored_runs(const std::vector<RunView>& runs, const Kind& kind) {
  std::vector<const RunView*> all;
  for (const RunView& run : runs)
    if (scores_of(run, kind) != nullptr) all.push_back(&run);
  std::vector<Scored> scored;
  for (const auto& group : by_colour(all)) {
    Scored entry{name_of_group(group), group.front()->colour, {}};
    for (const RunView* run : group) entry.scores.push_back(scores_of(*run, kind));
    scored.push_back(std::move(entry));
  }
  return scored;
}

// The rows of all runs together.
CalibrationBin pooled(const Scored& scored, std::size_t bin) {
  CalibrationBin sum;
  for (const ClassificationScores* scores : scored.scores) {
    const CalibrationBin& found = scores->calibration[bin];
    const double count = static_cast<double>(found.count);
    sum.count += found.count;
    sum.confidence += count * found.confidence;
    sum.accuracy += count * found.accuracy;
  }
  if (sum.count == 0) return sum;
  sum.confidence /= static_cast<double>(sum.count);
  sum.accuracy /= static_cast<double>(sum.count);
  return sum;
}

std::string reliability(const std::vector<Scored>& all, const Kind& kind) {
  LineChart chart;
  chart.title = fmt::format("accuracy over confidence, {}", kind_name(kind));
  chart.x_label = "confidence";
  chart.y_label = "accuracy";
  chart.x_limits = chart.y_limits = Limits{0, 1};
  chart.curves.push_back({"", {{0, 0}, {1, 1}}, diagonal_colour, Stroke::thin});
  for (const Scored& scored : all) {
    Curve curve{scored.name, {}, scored.colour, Stroke::strong};
    for (std::size_t b = 0; b < ClassificationScores::bins; ++b)
      if (const CalibrationBin bin = pooled(scored, b); bin.count > 0)
        curve.points.push_back({bin.confidence, bin.accuracy});
    chart.curves.push_back(std::move(curve));
  }
  return figure(
      "Reliability: " + kind_name(kind), draw(chart),
      "In 15 bins of equal width. On the line, a prediction is right as often as it says; "
      "below, it is too sure of itself.");
}

std::string confidences(const std::vector<Scored>& all, const Kind& kind) {
  LineChart chart;
  chart.title = fmt::format("share of the data with a confidence, {}", kind_name(kind));
  chart.x_label = "confidence";
  chart.y_label = "share of the data";
  chart.x_limits = Limits{0, 1};
  chart.logarithmic_y = true;
  for (const Scored& scored : all) {
    Curve curve{scored.name, {}, scored.colour, Stroke::strong};
    double rows = 0;
    for (const ClassificationScores* scores : scored.scores)
      rows += static_cast<double>(scores->rows);
    for (std::size_t b = 0; b < ClassificationScores::bins; ++b)
      if (const CalibrationBin bin = pooled(scored, b); bin.count > 0)
        curve.points.push_back(
            {(static_cast<double>(b) + 0.5) / bins, static_cast<double>(bin.count) / rows});
    chart.curves.push_back(std::move(curve));
  }
  return figure("Confidence: " + kind_name(kind), draw(chart),
                "Bins with few data say little about accuracy.");
}

struct Column {
  const char *name, *tooltip;
  double ClassificationScores::*member;
};

constexpr std::array<Column, 7> columns{
    {{"error", "share that is wrong", &ClassificationScores::error},
     {"NLL", "negative log likelihood of a datum, in nats", &ClassificationScores::nll},
     {"Brier", "squared distance from the truth, 0 to 2", &ClassificationScores::brier},
     {"ECE", "expected calibration error, 15 bins", &ClassificationScores::ece},
     {"entropy", "of the mean prediction, in nats: all that is uncertain",
      &ClassificationScores::entropy},
     {"aleatoric", "mean entropy of single predictions: what each leaves open by itself",
      &ClassificationScores::aleatoric},
     {"epistemic", "the rest: what they disagree about", &ClassificationScores::epistemic}}};

// "0.0182 ± 0.0003": the mean over runs and its standard error, where there are several.
std::string cell(const Scored& scored, double ClassificationScores::*member) {
  const double n = static_cast<double>(scored.scores.size());
  double sum = 0, squares = 0;
  for (const ClassificationScores* scores : scored.scores) sum += scores->*member;
  const double mean = sum / n;
  for (const ClassificationScores* scores : scored.scores)
    squares += (scores->*member - mean) * (scores->*member - mean);
  if (scored.scores.size() < 2) return number_text(mean);
  return error_text(mean, std::sqrt(squares / (n - 1) / n));
}

std::string head_of(std::string_view first) {
  std::string head = fmt::format("<tr><th class=\"text\">{}</th>", escaped(first));
  for (const Column& column : columns)
    head += fmt::format("<th title=\"{}\">{}</th>", escaped(column.tooltip), escaped(column.name));
  return head + "<th>data</th><th title=\"chains, or chains and steps\">draws</th></tr>";
}

std::string named_row(const Scored& scored, const std::string& cells) {
  return fmt::format("<tr><th scope=\"row\"><span class=\"key {}\"></span>{}</th>{}</tr>\n",
                     colour_class(scored.colour), escaped(scored.name), cells);
}

std::string table_markup(const std::string& head, const std::string& body) {
  return division("scroll", fmt::format("<table>\n<thead>{}</thead>\n<tbody>\n{}</tbody>\n"
                                        "</table>\n",
                                        head, body));
}

std::string scores_table(const std::vector<Scored>& all, const Kind& kind) {
  std::string body;
  std::int64_t floored = 0;
  for (const Scored& scored : all) {
    std::string cells;
    for (const Column& column : columns)
      cells += fmt::format("<td>{}</td>", escaped(cell(scored, column.member)));
    const ClassificationScores& first = *scored.scores.front();
    cells += fmt::format("<td>{}</td><td>{}</td>", grouped(first.rows), grouped(first.draws));
    body += named_row(scored, cells);
    for (const ClassificationScores* scores : scored.scores) floored += scores->floored;
  }
  std::string markup = table_markup(head_of(kind_name(kind)), body);
  if (floored > 0)
    markup += paragraph(
        fmt::format("{} got no probability at all for what is true: the likelihood is even lower "
                    "than it says.",
                    floored == 1 ? "One datum" : fmt::format("{} data", grouped(floored))));
  return markup;
}

std::string bins_table(const std::vector<Scored>& all, const Kind& kind) {
  std::string head = fmt::format(
      "<tr><th class=\"text\">{}</th><th>confidence</th><th>data</th>"
      "<th>mean confidence</th><th>accuracy</th></tr>",
      escaped(kind_name(kind)));
  std::string body;
  for (const Scored& scored : all)
    for (std::size_t b = 0; b < ClassificationScores::bins; ++b)
      if (const CalibrationBin bin = pooled(scored, b); bin.count > 0)
        body += named_row(scored, fmt::format("<td>{} to {}</td><td>{}</td><td>{}</td><td>{}</td>",
                                              fixed_text(static_cast<double>(b) / bins, 3),
                                              fixed_text(static_cast<double>(b + 1) / bins, 3),
                                              grouped(bin.count), fixed_text(bin.confidence, 4),
                                              fixed_text(bin.accuracy, 4)));
  return table_markup(head, body);
}

}  // namespace

std::string calibration(const std::vector<RunView>& runs) {
  std::string tables, figures, details_markup;
  bool several = false;
  for (const Kind& kind : kinds_of(runs)) {
    const std::vector<Scored> all = scored_runs(runs, kind);
    tables += scores_table(all, kind);
    figures += reliability(all, kind) + confidences(all, kind);
    details_markup += bins_table(all, kind);
    for (const Scored& scored : all) several |= scored.scores.size() > 1;
  }
  if (tables.empty()) return "";
  const std::string note =
      several ? paragraph(
                    "Of several seeds: the mean over runs \u00b1 its standard error; the data "
                    "of all runs together in the bins.",
                    "soft")
              : "";
  return section("calibration", "Predictions",
                 tables + note + division("pair", figures) +
                     division("small", details("The bins", details_markup, false)));
}

}  // namespace whorl::driver::report
