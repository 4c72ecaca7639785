#include "driver/sample_report.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "diagnostics/temperature.hpp"
#include "diagnostics/vector_ess.hpp"
#include "driver/json.hpp"
#include "driver/print.hpp"
#include "driver/report/quantities.hpp"
#include "driver/run_temperature.hpp"
#include "driver/verdicts.hpp"

namespace whorl::driver {

namespace {

constexpr double acceptance_limit = 0.5;       // of HMC
constexpr std::int64_t vector_ess_draws = 10;  // below, there are too few lags to sum
constexpr std::size_t table_rows = 20;         // of parameters, and
constexpr std::size_t curve_rows = 8;          // of the KL curve

// f(0), ..., f(count - 1), on so many threads.
void in_parallel(std::int64_t count, int threads, const std::function<void(std::int64_t)>& f) {
  tbb::task_arena arena(threads);
  arena.execute([&] { tbb::parallel_for(std::int64_t{0}, count, f); });
}

// The vector's ESS in each chain, averaged.
void add_vector_ess(SampleReport& report, const DrawsReader& draws) {
  const auto n = static_cast<std::int64_t>(report.names.size());
  if (!report.keeps_all || draws.draws() < vector_ess_draws || n == 0) return;
  const std::vector<std::int64_t> living = living_chains(draws);
  std::vector<VectorEss> found(living.size());
  // One chain at a time is read, a few are judged together.
  const auto together = static_cast<std::int64_t>(report.threads);
  for (std::int64_t first = 0; first < std::ssize(living); first += together) {
    const std::int64_t count = std::min(together, std::ssize(living) - first);
    std::vector<std::vector<double>> paths;
    for (std::int64_t k = 0; k < count; ++k)
      paths.push_back(draws.read_chain(0, living[static_cast<std::size_t>(first + k)]));
    in_parallel(count, report.threads, [&](std::int64_t k) {
      found[static_cast<std::size_t>(first + k)] =
          vector_ess(paths[static_cast<std::size_t>(k)], n);
    });
  }
  report.vector_ess = 0;
  for (const VectorEss& one : found) {
    *report.vector_ess += one.ess / static_cast<double>(found.size());
    report.vector_ess_capped |= one.capped;
  }
  if (!std::isfinite(*report.vector_ess)) report.vector_ess.reset();  // a chain never moved
}

void add_movement_warnings(SampleReport& report) {
  const DrawsSummary& found = report.found;
  if (found.lost > 0)
    report.warnings.push_back(
        fmt::format("{} of {} chains diverged and are left out with all their draws", found.lost,
                    found.chains));
  if (found.still > 0)
    report.warnings.push_back(
        fmt::format("{} of {} chains never moved", found.still, found.chains));
  const auto stuck = std::count_if(found.summaries.begin(), found.summaries.end(),
                                   [](const ParameterSummary& s) { return std::isnan(s.rhat); });
  if (stuck > 0)
    report.warnings.push_back(
        fmt::format("{} of {} parameters never moved", stuck, found.summaries.size()));
  const auto accepted = report.totals.statistics.find("accepted");
  if (accepted == report.totals.statistics.end() || accepted->second >= acceptance_limit) return;
  const std::optional<double>& eta = report.experiment.run.step_size->constant;
  report.warnings.push_back(fmt::format(
      "{:.1f}% of the proposals were accepted{}, less than {:.0f}%: a smaller step size may help",
      100 * accepted->second, eta ? fmt::format(" with step size {}", *eta) : "",
      100 * acceptance_limit));
}

void add_temperature_warnings(SampleReport& report) {
  const SamplingTotals& totals = report.totals;
  if (!report.expected_temperature || !totals.temperature) return;
  const double found = totals.temperature->value, expected = *report.expected_temperature;
  const std::string_view advice =
      temperature_advice(temperature_verdict(found, totals.temperature->error, expected));
  if (!advice.empty())
    report.warnings.push_back(
        fmt::format("the kinetic temperature is {:.3f}, expected {}: {}", found, expected, advice));
}

void add_warnings(SampleReport& report) {
  const std::string& sampler = report.experiment.sampler();
  const bool optimiser = is_optimiser(sampler);
  if (sampler == "psgld")
    report.notes.push_back(
        "psgld: its moving average makes the draws biased, however small the step size");
  if (optimiser)
    report.warnings.push_back(
        fmt::format("{} is an optimiser: the spread of the draws is not a posterior's", sampler));
  if (report.found.summaries.empty())
    report.warnings.push_back(fmt::format(
        "R-hat and ESS need at least 4 draws a chain, there are {}", report.found.draws));
  add_movement_warnings(report);
  if (!optimiser) add_convergence_warnings(report.names, report.found.summaries, report.warnings);
  add_temperature_warnings(report);
}

void print_table(const SampleReport& report, Output& output) {
  const std::vector<ParameterSummary>& all = report.found.summaries;
  if (all.empty()) return;
  const std::size_t rows = std::min(all.size(), table_rows);
  std::size_t width = 9;
  for (std::size_t i = 0; i < rows; ++i) width = std::max(width, report.names[i].size());
  const bool exact = report.gaussian && report.keeps_all;
  output.print("\n{:<{}} {:>11} {:>11} {:>9} {:>7} {:>8}{}\n", "parameter", width, "mean", "sd",
               "mcse", "R-hat", "ESS", exact ? "  exact mean   exact sd" : "");
  for (std::size_t i = 0; i < rows; ++i) {
    const ParameterSummary& s = all[i];
    output.print("{:<{}} {:>11} {:>11} {:>9} {:>7} {:>8}", report.names[i], width,
                 or_dash(s.mean, "{:.5g}"), or_dash(s.sd, "{:.5g}"), or_dash(s.mcse, "{:.2g}"),
                 rhat_text(s.rhat), or_dash(s.ess_bulk, "{:.0f}"));
    if (exact)
      output.print(" {:>11.5g} {:>10.5g}", report.gaussian->mean()[i],
                   std::sqrt(report.gaussian->covariance()[i * (report.names.size() + 1)]));
    output.print("\n");
  }
  if (rows < all.size())
    output.print("and {} more; 'whorl summary {} --all' lists them\n", all.size() - rows,
                 printable(report.directory));
}

std::optional<double> kl_of(const MetricsRow& row) {
  const auto found = row.find("kl");
  return found == row.end() ? std::nullopt : std::optional(found->second);
}

// Steps that double, and the last one.
void print_curve(const SampleReport& report, Output& output) {
  std::vector<const MetricsRow*> rows;
  for (const MetricsRow& metrics : report.metrics)
    if (kl_of(metrics)) rows.push_back(&metrics);
  if (rows.empty()) return;
  std::vector<const MetricsRow*> shown{rows.back()};
  for (std::size_t at = rows.size() / 2; at > 0 && shown.size() < curve_rows; at /= 2)
    shown.push_back(rows[at - 1]);
  std::reverse(shown.begin(), shown.end());
  output.print("\n{:>10} {:>11}\n", "step", "KL");
  for (const MetricsRow* row : shown)
    output.print("{:>10} {:>11}\n", row->find("step")->second, or_dash(*kl_of(*row), "{:.4g}"));
  output.print("KL(all states of all chains so far, as a Gaussian || target)\n");
  const std::int64_t length = report.found.draws;
  if (!report.vector_ess)
    output.print("ESS of the whole vector: not known: {}\n",
                 length < vector_ess_draws ? "too few draws"
                 : report.keeps_all        ? "a chain never moved"
                                           : "not all parameters are kept");
  else
    output.print("ESS of the whole vector: {:.1f} a chain{}\n", *report.vector_ess,
                 report.vector_ess_capped
                     ? fmt::format(", or less: correlations last beyond lag {}",
                                   std::min<std::int64_t>(length / 3, 1000))
                     : "");
}

void add_settings(Json& json, const SampleReport& report) {
  const RunSettings& run = report.experiment.run;
  json.field("target", report.target).field("sampler", report.experiment.sampler());
  json.key("settings").object();
  for (const auto& [name, value] : report.experiment.sampler_settings()) json.field(name, value);
  json.end();
  if (run.step_size->constant) json.field("step_size", *run.step_size->constant);
  json.field("chains", *run.chains).field("steps", report.totals.steps);
  json.field("burn_in", *run.burn_in).field("thin", *run.thin);
  json.field("draws", report.found.draws).field("seed", *run.seed);
  json.field("threads", report.threads).field("seconds", report.seconds);
}

void add_parameters(Json& json, const SampleReport& report) {
  json.key("parameters").array();
  for (std::size_t i = 0; i < report.found.summaries.size(); ++i) {
    const ParameterSummary& s = report.found.summaries[i];
    json.object().field("name", report.names[i]).field("mean", s.mean).field("sd", s.sd);
    json.field("mcse", s.mcse).field("mcse_sd", s.mcse_sd);
    json.field("q5", s.quantiles[0]).field("q50", s.quantiles[1]).field("q95", s.quantiles[2]);
    json.field("rhat", s.rhat).field("ess", s.ess_bulk);
    json.field("ess_bulk", s.ess_bulk).field("ess_tail", s.ess_tail);
    if (report.gaussian && report.keeps_all)
      json.field("exact_mean", report.gaussian->mean()[i])
          .field("exact_sd",
                 std::sqrt(report.gaussian->covariance()[i * (report.names.size() + 1)]));
    json.end();
  }
  json.end();
}

}  // namespace

SampleReport make_report(SampleFindings findings) {
  SampleReport report;
  report.target = findings.target;
  report.experiment = findings.experiment;
  report.totals = std::move(findings.totals);
  report.seconds = findings.seconds;
  report.metrics = std::move(findings.metrics);
  report.threads = findings.threads;
  // Two quotients for every coordinate.
  if (const auto found = report.totals.statistics.find("fallbacks");
      found != report.totals.statistics.end())
    found->second /= 2 * static_cast<double>(findings.loaded.energy.size());
  const DrawsLayout& layout = findings.draws.layout();
  report.found =
      summarise_draws(findings.draws, some_numbers(layout, findings.most_numbers), report.threads);
  report.keeps_all = std::ssize(report.found.numbers) == findings.loaded.energy.size();
  for (const DrawnNumber& number : report.found.numbers)
    report.names.push_back(name_of(layout, number));
  report.gaussian = findings.loaded.gaussian;
  report.statistics = findings.sampler.statistics;
  report.expected_temperature = findings.sampler.temperature;
  report.own_step_size = findings.sampler.own_step_size;
  if (report.gaussian) add_vector_ess(report, findings.draws);
  add_warnings(report);
  return report;
}

namespace {

// How well the chains predict at the end, where there are rows to judge by.
void add_predictions(const SampleReport& report,
                     std::vector<std::pair<std::string, std::string>>& lines) {
  if (report.metrics.empty()) return;
  const MetricsRow& last = report.metrics.back();
  for (const auto& [label, prefix] :
       {std::pair("test", ""), std::pair("average", "average_"),
        std::pair("validation", "validation_"), std::pair("its average", "validation_average_")}) {
    const auto number = [&, begin = prefix](std::string_view name) {
      const auto found = last.find(fmt::format("{}{}", begin, name));
      return found == last.end() ? std::nan("") : found->second;
    };
    const double nll = number("nll"), error = number("error");
    const double later = number("nll_after_first"), by_sequence = number("nll_by_sequence");
    if (std::isfinite(error))
      lines.emplace_back(label, fmt::format("error {:.4f}, NLL {:.5f} a row, {:.2f} in all", error,
                                            nll, number("nll_sum")));
    if (std::isfinite(by_sequence))
      lines.emplace_back(label,
                         fmt::format("NLL {:.5f} a frame, {} without first frames, {:.5f} by "
                                     "sequence",
                                     nll, or_dash(later, "{:.5f}"), by_sequence));
  }
}

void add_scores(Json& json, const MetricsRow& last) {
  if (std::none_of(last.begin(), last.end(),
                   [](const auto& each) { return report::is_score(each.first); }))
    return;
  json.key("scores").object();
  for (const auto& [name, value] : last)
    if (report::is_score(name)) json.field(name, value);
  json.end();
}

}  // namespace

void print_report(const SampleReport& report, Output& output) {
  const SamplingTotals& totals = report.totals;
  const RunSettings& run = report.experiment.run;
  const double rate = static_cast<double>(totals.steps) / report.seconds;
  output.print("{}, sampled by {}\n", printable(report.target),
               printable(report.experiment.sampler()));
  std::vector<std::pair<std::string, std::string>> lines{
      {"chains", fmt::format("{} of {} steps", *run.chains, totals.steps)},
      {"draws",
       fmt::format("{} a chain, {} after {} steps of burn-in", report.found.draws,
                   *run.thin == 1 ? "every state" : fmt::format("one state in {}", *run.thin),
                   *run.burn_in)},
      {"time", fmt::format("{}, {} steps/s", seconds_text(report.seconds), count_text(rate))},
      {"energy", or_dash(totals.energy, "{:.6g}")}};
  if (report.own_step_size)
    lines.insert(lines.begin() + 1, {"step size", fmt::format("{:.4g}, by the sampler's own rule",
                                                              *report.own_step_size)});
  if (report.statistics)
    lines.emplace_back("pilot",
                       fmt::format("step size {:.4g}", report.statistics->pilot_step_size));
  if (report.expected_temperature && totals.temperature)
    lines.emplace_back(
        "temperature",
        fmt::format("{} kinetic, {} configurational", or_dash(totals.temperature->value, "{:.4f}"),
                    or_dash(totals.configurational_temperature.value, "{:.4f}")));
  for (const auto& [name, value] : totals.statistics)
    lines.emplace_back(name, or_dash(value, "{:.4g}"));
  add_predictions(report, lines);
  std::size_t width = 0;
  for (const auto& line : lines) width = std::max(width, line.first.size());
  for (const auto& [name, text] : lines) output.print("  {:<{}}  {}\n", name, width, text);
  print_table(report, output);
  print_curve(report, output);
  if (!report.warnings.empty() || !report.notes.empty()) output.print("\n");
  for (const std::string& warning : report.warnings) output.print("warning: {}\n", warning);
  for (const std::string& note : report.notes) output.print("note: {}\n", note);
  if (!report.directory.empty()) output.print("\nwrote {}\n", printable(report.directory));
}

void print_json(const SampleReport& report, Output& output) {
  Json json;
  json.object();
  add_settings(json, report);
  json.field("energy", report.totals.energy);
  if (report.expected_temperature && report.totals.temperature)
    json.field("temperature", report.totals.temperature->value);
  json.field("configurational_temperature", report.totals.configurational_temperature.value);
  json.key("statistics").object();
  for (const auto& [name, value] : report.totals.statistics) json.field(name, value);
  json.end();
  if (!report.metrics.empty()) add_scores(json, report.metrics.back());
  if (report.statistics)
    json.key("task")
        .object()
        .field("energy_mean", report.statistics->energy_mean)
        .field("energy_sd", report.statistics->energy_sd)
        .field("momentum_rms", report.statistics->momentum_rms)
        .field("gradient_rms", report.statistics->gradient_rms)
        .field("pilot_step_size", report.statistics->pilot_step_size)
        .end();
  add_parameters(json, report);
  if (report.gaussian) {
    json.key("kl").array();
    for (const MetricsRow& row : report.metrics)
      if (const auto kl = kl_of(row))
        json.object()
            .field("step", static_cast<std::int64_t>(row.find("step")->second))
            .field("kl", *kl)
            .end();
    json.end();
  }
  if (report.vector_ess)
    json.field("vector_ess", *report.vector_ess)
        .field("vector_ess_capped", report.vector_ess_capped);
  json.key("warnings").array();
  for (const std::string& warning : report.warnings) json.value(warning);
  json.end().key("notes").array();
  for (const std::string& note : report.notes) json.value(note);
  json.end();
  if (!report.directory.empty()) json.field("directory", report.directory);
  output.write(json.end().text());
}

}  // namespace whorl::driver
