#include "driver/sample_report.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "diagnostics/vector_ess.hpp"
#include "driver/json.hpp"
#include "driver/print.hpp"

namespace whorl::driver {

namespace {

constexpr double rhat_limit = 1.01, ess_limit = 100;
// How far a temperature may be off, in parts of itself and in standard errors.
constexpr double temperature_limit = 0.05, temperature_errors = 5;
constexpr double temperature_far = 0.25;       // in parts of itself, whatever the standard error
constexpr double acceptance_limit = 0.5;       // of HMC
constexpr std::int64_t vector_ess_draws = 10;  // below, there are too few lags to sum
constexpr std::size_t table_rows = 20;         // of parameters, and
constexpr std::size_t curve_rows = 8;          // of the KL curve

// "w[1,2]" for every element of every parameter, in the order of a draw.
std::vector<std::string> element_names(const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters)
    for (std::int64_t i = 0; i < parameter.shape.elements(); ++i) {
      std::string index;
      std::int64_t rest = i;
      for (int axis = parameter.shape.rank() - 1; axis >= 0; --axis) {
        index =
            fmt::format("{}{}{}", rest % parameter.shape[axis], index.empty() ? "" : ",", index);
        rest /= parameter.shape[axis];
      }
      names.push_back(index.empty() ? parameter.name
                                    : fmt::format("{}[{}]", parameter.name, index));
    }
  return names;
}

// f(0), ..., f(count - 1), on so many threads.
void in_parallel(std::int64_t count, int threads, const std::function<void(std::int64_t)>& f) {
  tbb::task_arena arena(threads);
  arena.execute([&] { tbb::parallel_for(std::int64_t{0}, count, f); });
}

std::vector<ParameterSummary> summaries_of(const Tensor& draws, int threads) {
  const std::int64_t chains = draws.shape()[0], length = draws.shape()[1], n = draws.shape()[2];
  if (length < 4) return {};
  std::vector<ParameterSummary> summaries(static_cast<std::size_t>(n));
  in_parallel(n, threads, [&](std::int64_t parameter) {
    std::vector<double> values(static_cast<std::size_t>(chains * length));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = draws.at(static_cast<std::int64_t>(i) * n + parameter);
    summaries[static_cast<std::size_t>(parameter)] =
        whorl::summarise(values, chains, length, 1).front();
  });
  return summaries;
}

// The vector's ESS in each chain, averaged.
void add_vector_ess(SampleReport& report) {
  const Tensor& draws = report.result.draws;
  const std::int64_t chains = draws.shape()[0], path = draws.shape()[1] * draws.shape()[2];
  if (draws.shape()[1] < vector_ess_draws || draws.shape()[2] == 0) return;
  std::vector<VectorEss> found(static_cast<std::size_t>(chains));
  in_parallel(chains, report.threads, [&](std::int64_t chain) {
    std::vector<double> values(static_cast<std::size_t>(path));
    for (std::int64_t i = 0; i < path; ++i)
      values[static_cast<std::size_t>(i)] = draws.at(chain * path + i);
    found[static_cast<std::size_t>(chain)] = vector_ess(values, draws.shape()[2]);
  });
  report.vector_ess = 0;
  for (const VectorEss& one : found) {
    *report.vector_ess += one.ess / static_cast<double>(chains);
    report.vector_ess_capped |= one.capped;
  }
  if (!std::isfinite(*report.vector_ess)) report.vector_ess.reset();  // a chain never moved
}

// Digits enough that it is seen to be above the limit.
std::string rhat_text(double rhat) {
  for (int digits = 3; digits < 17; ++digits) {
    const std::string text = fmt::format("{:.{}f}", rhat, digits);
    if (!(rhat > rhat_limit) || !std::isfinite(rhat) || std::stod(text) > rhat_limit) return text;
  }
  return fmt::format("{}", rhat);
}

std::int64_t still_chains(const Tensor& draws) {
  const std::int64_t chains = draws.shape()[0], length = draws.shape()[1], n = draws.shape()[2];
  if (length < 2 || n == 0) return 0;
  std::int64_t still = 0;
  for (std::int64_t chain = 0; chain < chains; ++chain) {
    const std::int64_t first = chain * length * n;
    std::int64_t i = n;
    while (i < length * n && draws.at(first + i) == draws.at(first + i % n)) ++i;
    if (i == length * n) ++still;
  }
  return still;
}

void add_movement_warnings(SampleReport& report) {
  const Tensor& draws = report.result.draws;
  if (const std::int64_t still = still_chains(draws); still > 0)
    report.warnings.push_back(fmt::format("{} of {} chains never moved", still, draws.shape()[0]));
  const auto stuck = std::count_if(report.summaries.begin(), report.summaries.end(),
                                   [](const ParameterSummary& s) { return std::isnan(s.rhat); });
  if (stuck > 0)
    report.warnings.push_back(
        fmt::format("{} of {} parameters never moved", stuck, report.summaries.size()));
  const auto accepted = report.result.statistics.find("accepted");
  if (accepted == report.result.statistics.end() || accepted->second >= acceptance_limit) return;
  const std::optional<double>& eta = report.experiment.run.step_size->constant;
  report.warnings.push_back(fmt::format(
      "{:.1f}% of the proposals were accepted{}, less than {:.0f}%: a smaller step size may help",
      100 * accepted->second, eta ? fmt::format(" with step size {}", *eta) : "",
      100 * acceptance_limit));
}

void add_convergence_warnings(SampleReport& report) {
  const auto higher = [](const ParameterSummary& a, const ParameterSummary& b) {
    return std::isnan(a.rhat) ? !std::isnan(b.rhat) : a.rhat < b.rhat;
  };
  const auto lower = [](const ParameterSummary& a, const ParameterSummary& b) {
    return std::isnan(b.ess) ? !std::isnan(a.ess) : a.ess < b.ess;
  };
  const auto& all = report.summaries;
  const auto name_of = [&](auto found) {
    return report.names[static_cast<std::size_t>(found - all.begin())];
  };
  const auto rhat = std::max_element(all.begin(), all.end(), higher);
  if (rhat != all.end() && rhat->rhat > rhat_limit)
    report.warnings.push_back(fmt::format(
        "R-hat is {} for {}, more than {}: the chains do not agree yet; more steps or more "
        "burn-in may help",
        rhat_text(rhat->rhat), name_of(rhat), rhat_limit));
  const auto ess = std::min_element(all.begin(), all.end(), lower);
  if (ess != all.end() && ess->ess < ess_limit)
    report.warnings.push_back(
        fmt::format("ESS is {:.0f} for {}, less than {}: means are known to about {:.2g} sd only",
                    ess->ess, name_of(ess), ess_limit, 1 / std::sqrt(ess->ess)));
}

// A difference counts when it is no accident, or so large that its error does not matter.
void add_temperature_warning(SampleReport& report) {
  const SamplingResult& result = report.result;
  if (!report.expected_temperature || !result.temperature) return;
  const double expected = *report.expected_temperature, off = *result.temperature - expected;
  const bool certain =
      result.temperature_error && std::abs(off) > temperature_errors * *result.temperature_error;
  if (std::abs(off) <= temperature_limit * expected ||
      !(certain || std::abs(off) > temperature_far * expected))
    return;
  report.warnings.push_back(fmt::format(
      "the kinetic temperature is {:.3f}, expected {}: {}", *result.temperature, expected,
      off > 0 ? "a smaller step size or more friction may help"
              : "the chains may not have settled; more burn-in may help"));
}

void add_warnings(SampleReport& report) {
  const std::string& sampler = report.experiment.sampler;
  const bool optimiser = sampler == "adam" || sampler == "sgdm";
  if (sampler == "psgld")
    report.notes.push_back(
        "psgld: its moving average makes the draws biased, however small the step size");
  if (optimiser)
    report.warnings.push_back(
        fmt::format("{} is an optimiser: the spread of the draws is not a posterior's", sampler));
  if (report.summaries.empty())
    report.warnings.push_back(
        fmt::format("R-hat and ESS need at least 4 draws a chain, there are {}",
                    report.result.draws.shape()[1]));
  add_movement_warnings(report);
  if (!optimiser) add_convergence_warnings(report);
  add_temperature_warning(report);
}

std::string or_dash(double value, const char* format) {
  return std::isfinite(value) ? fmt::format(fmt::runtime(format), value) : "-";
}

void print_table(const SampleReport& report, Output& output) {
  if (report.summaries.empty()) return;
  const std::size_t rows = std::min(report.summaries.size(), table_rows);
  std::size_t width = 9;
  for (std::size_t i = 0; i < rows; ++i) width = std::max(width, report.names[i].size());
  const bool exact = report.gaussian.has_value();
  output.print("\n{:<{}} {:>11} {:>11} {:>9} {:>7} {:>8}{}\n", "parameter", width, "mean", "sd",
               "mcse", "R-hat", "ESS", exact ? "  exact mean   exact sd" : "");
  for (std::size_t i = 0; i < rows; ++i) {
    const ParameterSummary& s = report.summaries[i];
    output.print("{:<{}} {:>11} {:>11} {:>9} {:>7} {:>8}", report.names[i], width,
                 or_dash(s.mean, "{:.5g}"), or_dash(s.sd, "{:.5g}"), or_dash(s.mcse, "{:.2g}"),
                 std::isfinite(s.rhat) ? rhat_text(s.rhat) : "-", or_dash(s.ess, "{:.0f}"));
    if (exact)
      output.print(" {:>11.5g} {:>10.5g}", report.gaussian->mean()[i],
                   std::sqrt(report.gaussian->covariance()[i * (report.names.size() + 1)]));
    output.print("\n");
  }
  if (rows < report.summaries.size())
    output.print("and {} more; --json lists all\n", report.summaries.size() - rows);
}

// Steps that double, and the last one.
void print_curve(const SampleReport& report, Output& output) {
  std::vector<const Metrics*> rows;
  for (const Metrics& metrics : report.metrics)
    if (metrics.kl) rows.push_back(&metrics);
  if (rows.empty()) return;
  std::vector<const Metrics*> shown{rows.back()};
  for (std::size_t at = rows.size() / 2; at > 0 && shown.size() < curve_rows; at /= 2)
    shown.push_back(rows[at - 1]);
  std::reverse(shown.begin(), shown.end());
  output.print("\n{:>10} {:>11}\n", "step", "KL");
  for (const Metrics* metrics : shown)
    output.print("{:>10} {:>11}\n", metrics->step, or_dash(*metrics->kl, "{:.4g}"));
  output.print("KL(all states of all chains so far, as a Gaussian || target)\n");
  const std::int64_t length = report.result.draws.shape()[1];
  if (!report.vector_ess)
    output.print("ESS of the whole vector: not known: {}\n",
                 length < vector_ess_draws ? "too few draws" : "a chain never moved");
  else
    output.print("ESS of the whole vector: {:.1f} a chain{}\n", *report.vector_ess,
                 report.vector_ess_capped
                     ? fmt::format(", or less: correlations last beyond lag {}",
                                   std::min<std::int64_t>(length / 3, 1000))
                     : "");
}

void add_settings(Json& json, const SampleReport& report) {
  const RunSettings& run = report.experiment.run;
  json.field("target", report.target).field("sampler", report.experiment.sampler);
  json.key("settings").object();
  for (const auto& [name, value] : report.experiment.sampler_settings) json.field(name, value);
  json.end();
  if (run.step_size->constant) json.field("step_size", *run.step_size->constant);
  json.field("chains", *run.chains).field("steps", report.result.steps);
  json.field("burn_in", *run.burn_in).field("thin", *run.thin);
  json.field("draws", report.result.draws.shape()[1]).field("seed", *run.seed);
  json.field("threads", report.threads).field("seconds", report.result.seconds);
}

void add_parameters(Json& json, const SampleReport& report) {
  json.key("parameters").array();
  for (std::size_t i = 0; i < report.summaries.size(); ++i) {
    const ParameterSummary& s = report.summaries[i];
    json.object().field("name", report.names[i]).field("mean", s.mean).field("sd", s.sd);
    json.field("mcse", s.mcse).field("rhat", s.rhat).field("ess", s.ess);
    if (report.gaussian)
      json.field("exact_mean", report.gaussian->mean()[i])
          .field("exact_sd",
                 std::sqrt(report.gaussian->covariance()[i * (report.names.size() + 1)]));
    json.end();
  }
  json.end();
}

}  // namespace

SampleReport make_report(const std::string& target, const ExperimentFile& experiment,
                         const Target& loaded, const ChosenSampler& sampler, SamplingResult result,
                         std::vector<Metrics> metrics, int threads) {
  SampleReport report;
  report.target = target;
  report.experiment = experiment;
  report.names = element_names(loaded.energy.parameters());
  report.result = std::move(result);
  report.metrics = std::move(metrics);
  // Two quotients for every coordinate.
  if (const auto found = report.result.statistics.find("fallbacks");
      found != report.result.statistics.end())
    found->second /= 2 * static_cast<double>(loaded.energy.size());
  report.summaries = summaries_of(report.result.draws, threads);
  report.gaussian = loaded.gaussian;
  report.statistics = sampler.statistics;
  report.expected_temperature = sampler.temperature;
  report.own_step_size = sampler.own_step_size;
  report.threads = threads;
  if (report.gaussian) add_vector_ess(report);
  add_warnings(report);
  return report;
}

void print_report(const SampleReport& report, Output& output) {
  const SamplingResult& result = report.result;
  const RunSettings& run = report.experiment.run;
  const double rate = static_cast<double>(result.steps) / result.seconds;
  output.print("{}, sampled by {}\n", printable(report.target),
               printable(report.experiment.sampler));
  std::vector<std::pair<std::string, std::string>> lines{
      {"chains", fmt::format("{} of {} steps", *run.chains, result.steps)},
      {"draws",
       fmt::format("{} a chain, {} after {} steps of burn-in", result.draws.shape()[1],
                   *run.thin == 1 ? "every state" : fmt::format("one state in {}", *run.thin),
                   *run.burn_in)},
      {"time", fmt::format("{}, {} steps/s", seconds_text(result.seconds), count_text(rate))},
      {"energy", or_dash(result.energy, "{:.6g}")}};
  if (report.own_step_size)
    lines.insert(lines.begin() + 1, {"step size", fmt::format("{:.4g}, by the sampler's own rule",
                                                              *report.own_step_size)});
  if (report.statistics)
    lines.emplace_back("pilot",
                       fmt::format("step size {:.4g}", report.statistics->pilot_step_size));
  if (report.expected_temperature && result.temperature)
    lines.emplace_back("temperature", or_dash(*result.temperature, "{:.4f}"));
  for (const auto& [name, value] : result.statistics)
    lines.emplace_back(name, or_dash(value, "{:.4g}"));
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
  json.field("energy", report.result.energy);
  if (report.expected_temperature && report.result.temperature)
    json.field("temperature", *report.result.temperature);
  json.key("statistics").object();
  for (const auto& [name, value] : report.result.statistics) json.field(name, value);
  json.end();
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
    for (const Metrics& metrics : report.metrics)
      json.object().field("step", metrics.step).field("kl", *metrics.kl).end();
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
