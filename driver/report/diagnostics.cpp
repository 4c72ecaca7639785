// What the draws look like, number by number: traces, ranks, autocorrelation and density. Shown are
// the numbers that are worst off, and the log joint density.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "diagnostics/autocorrelation.hpp"
#include "diagnostics/rank_histogram.hpp"
#include "driver/report/bar_chart.hpp"
#include "driver/report/decimate.hpp"
#include "driver/report/html.hpp"
#include "driver/report/line_chart.hpp"
#include "driver/report/numbers.hpp"
#include "driver/report/sections.hpp"
#include "driver/verdicts.hpp"

namespace whorl::driver::report {

namespace {

constexpr std::size_t shown_numbers = 5;  // and the log joint density
constexpr std::size_t shown_chains = 4;
constexpr std::size_t trace_points = 400;  // of a chain
constexpr std::size_t open_runs = 4;       // more of them are folded away
constexpr double panel_width = 272, panel_height = 190;
constexpr std::int64_t fewest_bins = 5, most_bins = 20, most_lags = 1000;
constexpr double draws_a_bin = 8;
constexpr int density_bins = 40;
constexpr std::size_t curve_steps = 120;

std::string chain_name(const ChainDraws& draws, std::size_t k) {
  return fmt::format("chain {}", draws.chains[k]);
}

// Chains from the one with the lowest mean to the one with the highest: who disagrees is seen.
std::vector<std::size_t> chosen_chains(const ChainDraws& draws) {
  std::vector<double> means;
  for (std::size_t k = 0; k < draws.chains.size(); ++k) {
    double sum = 0;
    for (double x : draws.of(k)) sum += x;
    means.push_back(std::isfinite(sum) ? sum : 0);
  }
  std::vector<std::size_t> order(means.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return means[a] < means[b]; });
  if (order.size() <= shown_chains) {
    std::sort(order.begin(), order.end());
    return order;
  }
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < shown_chains; ++i)
    chosen.push_back(order[i * (order.size() - 1) / (shown_chains - 1)]);
  return chosen;
}

struct Panel {
  const JudgedNumber& number;
  const ChainDraws& draws;
  const std::vector<std::int64_t>& steps;  // of the draws
  std::vector<std::size_t> chains;         // to show
};

std::string trace(const Panel& panel) {
  LineChart chart;
  chart.title = fmt::format("trace of {}", panel.number.name);
  chart.width = panel_width;
  chart.height = panel_height;
  chart.x_label = "step";
  for (std::size_t i = 0; i < panel.chains.size(); ++i) {
    Curve curve{"", {}, static_cast<int>(i), Stroke::thin};
    const auto values = panel.draws.of(panel.chains[i]);
    for (std::size_t t = 0; t < values.size(); ++t)
      curve.points.push_back({static_cast<double>(panel.steps[t]), values[t]});
    curve.points = decimate(curve.points, trace_points);
    chart.curves.push_back(std::move(curve));
  }
  return draw(chart);
}

// So few that chance leaves the bars about even: some effective draws for each.
std::int64_t bins_for(double ess_of_chain) {
  if (!std::isfinite(ess_of_chain)) return fewest_bins;
  return std::clamp(static_cast<std::int64_t>(ess_of_chain / draws_a_bin), fewest_bins, most_bins);
}

std::string ranks(const Panel& panel) {
  const auto chains = std::ssize(panel.draws.chains);
  const double ess = panel.number.summary.ess_bulk;
  const RankHistogram found =
      rank_histogram(panel.draws.values, chains, panel.draws.draws,
                     std::min(bins_for(ess / static_cast<double>(chains)), panel.draws.draws), ess);
  if (found.counts.empty()) return paragraph("Some draws are not finite.", "soft");
  RankChart chart;
  chart.title = fmt::format("ranks of {}", panel.number.name);
  chart.x_label = "rank among all chains";
  chart.width = panel_width;
  chart.height = panel_height;
  chart.expected = found.expected;
  if (std::isfinite(found.high)) chart.band = {found.low, found.high};
  for (std::size_t i = 0; i < panel.chains.size(); ++i) {
    RankRow row{chain_name(panel.draws, panel.chains[i]), {}, static_cast<int>(i)};
    const auto first = panel.chains[i] * static_cast<std::size_t>(found.bins);
    for (std::size_t bin = 0; bin < static_cast<std::size_t>(found.bins); ++bin)
      row.counts.push_back(static_cast<double>(found.counts[first + bin]));
    chart.rows.push_back(std::move(row));
  }
  return draw(chart);
}

// Up to where it has died away, and half as much again.
std::size_t interesting_lags(const std::vector<double>& rho) {
  std::size_t dead = 1;
  while (dead < rho.size() && rho[dead] > 0.05) ++dead;
  return std::clamp<std::size_t>(dead + dead / 2, std::min<std::size_t>(20, rho.size() - 1),
                                 rho.size() - 1);
}

std::string memory(const Panel& panel) {
  const std::int64_t lags = std::min(most_lags, std::max<std::int64_t>(panel.draws.draws / 3, 1));
  const std::vector<double> rho =
      autocorrelation(panel.draws.values, std::ssize(panel.draws.chains), panel.draws.draws, lags);
  LineChart chart;
  chart.title = fmt::format("autocorrelation of {}", panel.number.name);
  chart.width = panel_width;
  chart.height = panel_height;
  chart.x_label = "lag (draws)";
  Curve curve{"autocorrelation", {}, 0, Stroke::strong};
  const std::size_t shown = interesting_lags(rho);
  for (std::size_t lag = 0; lag <= shown; ++lag)
    curve.points.push_back({static_cast<double>(lag), rho[lag]});
  chart.stems = shown <= 40;
  chart.curves.push_back(std::move(curve));
  // Of so many independent draws, 95% would lie inside.
  const double width = 1.96 / std::sqrt(static_cast<double>(panel.draws.values.size()));
  chart.bands.push_back({-width, width, "95% of independent draws"});
  Limits limits{-0.05, 1.02};
  for (const Point& point : chart.curves[0].points) limits.add(point.y);
  chart.y_limits = limits;
  return draw(chart);
}

double normal_density(double x, double mean, double variance) {
  const double z = (x - mean) * (x - mean) / variance;
  return std::exp(-z / 2) / std::sqrt(2 * std::numbers::pi * variance);
}

// -lp - normaliser is half a chi-square number with as many degrees of freedom as dimensions.
double log_joint_density(double lp, const Gaussian& gaussian) {
  const double x = -lp - gaussian.normaliser();
  const double shape = static_cast<double>(gaussian.dimension()) / 2;
  return x > 0 ? std::exp((shape - 1) * std::log(x) - x - std::lgamma(shape)) : 0;
}

std::vector<Point> exact_curve(const RunView& run, const JudgedNumber& number,
                               const Limits& limits) {
  std::vector<Point> curve;
  if (!run.gaussian) return curve;
  const Gaussian& gaussian = *run.gaussian;
  for (std::size_t i = 0; i <= curve_steps; ++i) {
    const double x = limits.low + limits.span() * static_cast<double>(i) / curve_steps;
    if (!number.number) {
      curve.push_back({x, log_joint_density(x, gaussian)});
      continue;
    }
    const auto k = static_cast<std::size_t>(number.number->element);
    const auto d = static_cast<std::size_t>(gaussian.dimension());
    if (k >= d) return {};
    curve.push_back({x, normal_density(x, gaussian.mean()[k], gaussian.covariance()[k * d + k])});
  }
  return curve;
}

std::string density(const RunView& run, const Panel& panel) {
  BarChart chart;
  chart.title = fmt::format("density of {}", panel.number.name);
  chart.x_label = panel.number.name;
  chart.width = panel_width;
  chart.height = panel_height;
  chart.x = Scale(Scale::Kind::linear, robust_limits(panel.draws.values), 0, 1).limits();
  if (run.gaussian && panel.number.number) {
    const auto k = static_cast<std::size_t>(panel.number.number->element);
    const auto d = static_cast<std::size_t>(run.gaussian->dimension());
    const double mean = run.gaussian->mean()[k],
                 sd = std::sqrt(run.gaussian->covariance()[k * d + k]);
    chart.x.add(mean - 3 * sd);
    chart.x.add(mean + 3 * sd);
  }
  chart.heights = density_of(panel.draws.values, chart.x, density_bins);
  chart.curve = exact_curve(run, panel.number, chart.x);
  chart.mean = panel.number.summary.mean;
  chart.sd = panel.number.summary.sd;
  chart.colour = run.colour;
  return draw(chart);
}

std::string numbers_line(const JudgedNumber& number, const RunView& run) {
  const ParameterSummary& s = number.summary;
  std::string text = fmt::format(
      "R-hat {} \u00b7 bulk ESS {} \u00b7 tail ESS {} \u00b7 mean {} \u00b1 {} (Monte Carlo "
      "error) \u00b7 sd {}",
      rhat_text(s.rhat), number_text(s.ess_bulk, 3), number_text(s.ess_tail, 3),
      number_text(s.mean), number_text(s.mcse, 2), number_text(s.sd));
  if (run.gaussian && number.number) {
    const auto k = static_cast<std::size_t>(number.number->element);
    const auto d = static_cast<std::size_t>(run.gaussian->dimension());
    text += fmt::format(" \u00b7 exact mean {}, sd {}", number_text(run.gaussian->mean()[k]),
                        number_text(std::sqrt(run.gaussian->covariance()[k * d + k])));
  }
  return text;
}

std::string number_markup(const RunView& run, const JudgedNumber& number,
                          const std::vector<std::int64_t>& living,
                          const std::vector<std::int64_t>& steps) {
  const ChainDraws draws = read_draws(*run.record->draws, living, number);
  if (draws.draws < 4) return "";
  const Panel panel{number, draws, steps, chosen_chains(draws)};
  const auto titled = [](const char* title, const std::string& drawing) {
    return division("", fmt::format("<h5>{}</h5>\n{}", title, drawing));
  };
  return division(
      "number", heading(4, number.name) + paragraph(numbers_line(number, run), "soft") +
                    division("four", titled("Trace", trace(panel)) + titled("Ranks", ranks(panel)) +
                                         titled("Autocorrelation", memory(panel)) +
                                         titled("Density", density(run, panel))));
}

std::string run_markup(const RunView& run) {
  const std::vector<std::int64_t> living = living_chains(*run.record->draws);
  const std::vector<std::int64_t> steps = run.record->draws->steps();
  std::string markup;
  for (const JudgedNumber* number : run.quality->to_show(shown_numbers))
    markup += number_markup(run, *number, living, steps);
  return markup;
}

}  // namespace

std::string diagnostics(const std::vector<RunView>& runs) {
  std::vector<const RunView*> judged;
  for (const RunView& run : runs)
    if (run.quality && !run.quality->judged.empty()) judged.push_back(&run);
  if (judged.empty()) return "";
  std::string markup = paragraph(
      "The numbers that are worst off by R-hat and effective draws, and the log joint density. "
      "Traces and ranks show up to four chains, from the one with the lowest mean to the one with "
      "the highest. Ranks of chains that agree are even: their bars stay in the grey band. Bars of "
      "the density are all draws of all chains; the dot and its line above are mean and standard "
      "deviation; the thin curve is the exact density, where it is known.",
      "soft");
  for (const RunView* run : judged)
    markup += judged.size() == 1 ? run_markup(*run)
                                 : details(run->name, run_markup(*run), judged.size() <= open_runs);
  return section("draws", "The draws", markup);
}

}  // namespace whorl::driver::report
