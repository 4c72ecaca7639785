// Every quantity that was measured, of all runs on common axes: over the steps, and over the time
// where runs differ in speed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "driver/report/html.hpp"
#include "driver/report/line_chart.hpp"
#include "driver/report/numbers.hpp"
#include "driver/report/sections.hpp"

namespace whorl::driver::report {

namespace {

constexpr std::size_t smoothing_share = 30;  // of all points, to either side
constexpr std::size_t fewest_smoothed = 120;
// Published values from later steps than this, in parts of the longest run, would squeeze all runs.
constexpr double beyond_runs = 1.25;
constexpr double other_speed = 1.1;  // a quotient of steps per second that is worth a drawing

struct TimeUnit {
  const char* name;
  double seconds;
};

TimeUnit unit_for(double seconds) {
  if (seconds < 180) return {"s", 1};
  return seconds < 3 * 3600 ? TimeUnit{"min", 60} : TimeUnit{"h", 3600};
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string caption_of(std::string_view quantity) {
  if (quantity == "kl")
    return "From the target, of the Gaussian with mean and covariance of all states of all chains "
           "so far, burn-in included. Less is better.";
  if (is_score(quantity))
    return fmt::format("Of the mean prediction of {}. Less is better.",
                       quantity.find("average_") == std::string_view::npos
                           ? "all chains at that step"
                           : "all chains at all steps that were looked at since the burn-in");
  if (quantity == "energy") return "Mean over chains and the steps since the point before.";
  if (quantity == "temperature")
    return "Mean square of the momentum: the temperature, when the step size is small enough.";
  if (quantity == "configurational_temperature")
    return "From positions and gradients alone; far off as long as chains have not settled.";
  if (quantity == "clamped")
    return "Where a network's output is cut off; a sampler that is clamped everywhere has learned "
           "constants.";
  if (quantity == "curl") return "Q carries the momentum into the position.";
  if (quantity == "diffusion") return "D is friction and noise.";
  return "";
}

double seconds_at(const std::vector<std::pair<double, double>>& clock, double step) {
  const auto after = std::lower_bound(clock.begin(), clock.end(), std::pair(step, -1e300));
  if (after == clock.end()) return clock.back().second;
  if (after == clock.begin()) return after->second;
  const auto& [step1, seconds1] = *after;
  const auto& [step0, seconds0] = *(after - 1);
  return seconds0 + (step - step0) / (step1 - step0) * (seconds1 - seconds0);
}

// By the clock one asks how soon the draws are good, which temperatures do not tell, and energies
// only where nothing better does.
bool is_worth_time(const std::string& quantity, const std::vector<std::string>& all) {
  if (quantity.ends_with("temperature") || counts_otherwise(quantity)) return false;
  return quantity != "energy" || std::none_of(all.begin(), all.end(), [](const auto& other) {
           return other == "kl" || is_score(other);
         });
}

bool has(const RunView& run, const std::string& quantity) {
  const auto all = run.quantities();
  return std::find(all.begin(), all.end(), quantity) != all.end();
}

// The mean over some points to either side: of a training, whose targets take turns, one point says
// little.
std::vector<Point> smoothed(const std::vector<Point>& points) {
  const std::size_t reach = points.size() / smoothing_share;
  std::vector<Point> result;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t around = std::min({reach, i, points.size() - 1 - i});
    double sum = 0;
    for (std::size_t k = i - around; k <= i + around; ++k) sum += points[k].y;
    result.push_back({points[i].x, sum / static_cast<double>(2 * around + 1)});
  }
  return result;
}

// What matters of a score is its end, which the beginning would flatten.
bool falls_far(const std::string& quantity, const std::vector<double>& values) {
  constexpr double far = 3;
  const Limits limits = limits_of(values);
  return is_score(quantity) && !limits.empty() && limits.low > 0 && limits.high > far * limits.low;
}

using Runs = std::vector<const RunView*>;

bool differ_in_speed(const Runs& runs) {
  Limits rates;
  std::size_t timed = 0;
  for (const RunView* run : runs)
    if (!run->clock().empty() && run->steps_per_second() > 0) {
      rates.add(run->steps_per_second());
      ++timed;
    }
  return timed > 1 && timed == runs.size() && rates.high > other_speed * rates.low;
}

void add_expected(LineChart& chart, const std::string& quantity, const Runs& runs) {
  if (!quantity.ends_with("temperature") || runs.front()->record->is_training()) return;
  const std::optional<double> expected = expected_temperature(*runs.front()->record);
  if (!expected) return;
  chart.levels.push_back({*expected, fmt::format("expected: {}", number_text(*expected))});
  chart.y_label += fmt::format(" (expected: {})", number_text(*expected));
}

void add_published(LineChart& chart, const std::string& quantity, const Runs& runs) {
  double last = 0;
  for (const RunView* run : runs) last = std::max(last, static_cast<double>(run->record->steps()));
  std::vector<std::string> seen;
  for (const RunView* run : runs)
    for (const PublishedValue& value : run->experiment().published) {
      if (value.quantity != quantity) continue;
      const double step = value.step ? static_cast<double>(*value.step) : last;
      if (step > beyond_runs * last) continue;
      Mark mark{{step, value.value},
                fmt::format("{}, published", value.sampler),
                value.spread.value_or(0),
                fmt::format("{}, published: {} at {}; {}", value.sampler, number_text(value.value),
                            number_text(step, 7), value.source)};
      const std::string key = fmt::format("{} {} {}", mark.label, step, value.value);
      if (std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
      seen.push_back(key);
      chart.marks.push_back(std::move(mark));
    }
}

enum class Over { steps, time };

// A run's points, by the steps that they are of.
std::map<double, Point> points_of(const RunView& run, const std::string& quantity, Over over,
                                  const TimeUnit& unit) {
  const Sequence sequence = run.sequence(quantity);
  const auto clock = run.clock();
  std::map<double, Point> points;
  for (std::size_t i = 0; i < sequence.values.size(); ++i) {
    const double step = sequence.steps[i];
    points[step] = {over == Over::steps ? step : seconds_at(clock, step) / unit.seconds,
                    sequence.values[i]};
  }
  return points;
}

std::vector<Point> in_order(const std::map<double, Point>& points) {
  std::vector<Point> list;
  for (const auto& [step, point] : points) list.push_back(point);
  return list;
}

// At the steps that all of them have.
std::vector<Point> mean_of(const std::vector<std::map<double, Point>>& runs) {
  std::vector<Point> mean;
  const double n = static_cast<double>(runs.size());
  for (const auto& [step, first] : runs.front()) {
    Point sum;
    const bool common = std::all_of(runs.begin(), runs.end(), [&, at = step](const auto& run) {
      const auto found = run.find(at);
      if (found == run.end()) return false;
      sum = {sum.x + found->second.x, sum.y + found->second.y};
      return true;
    });
    if (common) mean.push_back({sum.x / n, sum.y / n});
  }
  return mean;
}

// Of runs that differ in their seed, each one pale and their mean in front.
void add_group(LineChart& chart, const Runs& group, const std::string& quantity, Over over,
               const TimeUnit& unit) {
  std::vector<std::map<double, Point>> all;
  for (const RunView* run : group) all.push_back(points_of(*run, quantity, over, unit));
  const std::vector<Point> mean = mean_of(all);
  const int colour = group.front()->colour;
  for (std::size_t i = 0; i < group.size(); ++i) {
    std::vector<Point> points = in_order(all[i]);
    const bool training = group[i]->record->is_training() && points.size() >= fewest_smoothed;
    if (group.size() > 1 && !mean.empty()) {
      chart.curves.push_back({"", std::move(points), colour, Stroke::pale});
    } else {
      if (training) {
        chart.curves.push_back({"", points, colour, Stroke::pale});
        points = smoothed(points);
      }
      chart.curves.push_back({group[i]->name, std::move(points), colour, Stroke::strong});
    }
  }
  if (group.size() > 1 && !mean.empty())
    chart.curves.push_back({name_of_group(group), mean, colour, Stroke::strong});
}

LineChart chart_of(const std::string& quantity, const Runs& runs, Over over) {
  LineChart chart;
  double longest = 0;
  for (const RunView* run : runs) longest = std::max(longest, run->record->seconds());
  const TimeUnit unit = unit_for(longest);
  for (const Runs& group : by_colour(runs)) add_group(chart, group, quantity, over, unit);
  std::vector<double> all;
  for (const RunView* run : runs) {
    const Sequence sequence = run->sequence(quantity);
    all.insert(all.end(), sequence.values.begin(), sequence.values.end());
  }
  chart.y_label = quantity_axis(quantity);
  Limits x;
  x.add(0);
  for (const Curve& curve : chart.curves)
    for (const Point& point : curve.points) x.add(point.x);
  chart.x_label = over == Over::time ? fmt::format("time ({})", unit.name) : runs.front()->unit();
  chart.title = fmt::format("{} over {}", quantity_name(quantity),
                            over == Over::time ? "time" : chart.x_label);
  chart.logarithmic_y =
      (spans_decades(all) && !quantity.ends_with("temperature")) || falls_far(quantity, all);
  add_expected(chart, quantity, runs);
  if (over == Over::steps) add_published(chart, quantity, runs);
  for (const Mark& mark : chart.marks) x.add(mark.at.x);
  chart.x_limits = x;
  return chart;
}

std::string figures(const Runs& group) {
  std::vector<std::string> quantities;
  for (const RunView* run : group)
    for (const std::string& quantity : run->quantities())
      if (std::find(quantities.begin(), quantities.end(), quantity) == quantities.end())
        quantities.push_back(quantity);
  std::string markup, aside;
  for (const std::string& quantity : quantities) {
    Runs runs;
    for (const RunView* run : group)
      if (has(*run, quantity)) runs.push_back(run);
    const std::string name = capitalised(quantity_name(quantity));
    (counts_otherwise(quantity) ? aside : markup) +=
        figure(name, draw(chart_of(quantity, runs, Over::steps)), caption_of(quantity));
    if (is_worth_time(quantity, quantities) && differ_in_speed(runs))
      markup += figure(name + " over time", draw(chart_of(quantity, runs, Over::time)),
                       "By the clock, on the machine of each run.");
  }
  if (markup.empty()) return "";
  return division("pair", markup) + (aside.empty()
                                         ? ""
                                         : details("The same by other ways of counting frames",
                                                   division("pair", aside), false));
}

}  // namespace

std::string curves(const std::vector<RunView>& runs) {
  Runs sampling, training;
  for (const RunView& run : runs) (run.record->is_training() ? training : sampling).push_back(&run);
  std::string markup;
  if (!sampling.empty()) {
    const std::string drawn = figures(sampling);
    const std::string seeds =
        by_colour(sampling).size() < sampling.size()
            ? paragraph("Thin: every run. Thick: the mean over runs that differ in their seed.",
                        "soft")
            : "";
    if (!drawn.empty()) markup += section("curves", "Along the way", seeds + drawn);
  }
  if (!training.empty()) {
    const std::string drawn = figures(training);
    if (!drawn.empty())
      markup += section(
          "training", "Training",
          paragraph("Thin: every update. Thick: the mean over the updates around it.", "soft") +
              drawn);
  }
  return markup;
}

}  // namespace whorl::driver::report
