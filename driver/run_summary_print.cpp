// A RunSummary for people and for programs.
#include <algorithm>
#include <cmath>

#include "driver/print.hpp"
#include "driver/run_summary.hpp"
#include "driver/verdicts.hpp"

namespace whorl::driver {

namespace {

constexpr std::size_t table_rows = 20;

std::string rate_text(double rate) { return or_dash(rate, rate < 100 ? "{:.3g}" : "{:.0f}"); }

using Lines = std::vector<std::pair<std::string, std::string>>;

std::string temperature_text(const Temperature& temperature, std::string_view name) {
  const std::string error =
      temperature.error ? fmt::format(" +- {:.2g}", *temperature.error) : std::string{};
  return fmt::format("{}{} {}, expected {}: {}", or_dash(temperature.estimate, "{:.4f}"), error,
                     name, temperature.expected, to_string(temperature.verdict));
}

void print_head(const RunSummary& run, Output& output) {
  output.print("{}: {}{}, {}\n", printable(run.directory), printable(run.target),
               run.sampler.empty() ? "" : ", sampled by " + printable(run.sampler), run.state);
  Lines lines{{"chains", fmt::format("{} of {} steps", run.chains, run.steps)},
              {"draws", fmt::format("{} a chain", run.draws)},
              {"time", run.seconds > 0 ? seconds_text(run.seconds) : "not known"}};
  if (!run.lost.empty())
    lines[0].second += fmt::format(", {} of them left out: they diverged", run.lost.size());
  if (run.kinetic) lines.emplace_back("temperature", temperature_text(*run.kinetic, "kinetic"));
  if (run.configurational)
    lines.emplace_back(run.kinetic ? "" : "temperature",
                       temperature_text(*run.configurational, "configurational"));
  for (const auto& [name, text] : lines) output.print("  {:<11}  {}\n", name, text);
}

// The columns that all rows of a table have.
struct Columns {
  std::size_t width = 9;
  bool nested = false, exact = false;
};

void print_heading(const Columns& columns, std::string_view name, Output& output) {
  output.print("\n{:<{}} {:>10} {:>9} {:>8} {:>10} {:>10} {:>10} {:>7} {:>7} {:>7} {:>8}{}{}\n",
               name, columns.width, "mean", "sd", "mcse", "5%", "50%", "95%", "R-hat", "bulk",
               "tail", "ESS/s", columns.nested ? "  nested" : "",
               columns.exact ? " exact mean  exact sd" : "");
}

void print_row(const RunSummary& run, const SummaryRow& row, const Columns& columns,
               Output& output) {
  const ParameterSummary& s = row.found;
  output.print("{:<{}} {:>10} {:>9} {:>8} {:>10} {:>10} {:>10} {:>7} {:>7} {:>7} {:>8}", row.name,
               columns.width, or_dash(s.mean, "{:.5g}"), or_dash(s.sd, "{:.4g}"),
               or_dash(s.mcse, "{:.2g}"), or_dash(s.quantiles[0], "{:.5g}"),
               or_dash(s.quantiles[1], "{:.5g}"), or_dash(s.quantiles[2], "{:.5g}"),
               rhat_text(s.rhat), or_dash(s.ess_bulk, "{:.0f}"), or_dash(s.ess_tail, "{:.0f}"),
               rate_text(run.per_second(s.ess_bulk)));
  if (row.nested_rhat) output.print(" {:>7}", rhat_text(*row.nested_rhat));
  if (row.exact_mean) output.print(" {:>10.5g} {:>9.4g}", *row.exact_mean, *row.exact_sd);
  output.print("\n");
}

void print_rows(const RunSummary& run, const std::vector<const SummaryRow*>& rows,
                std::string_view name, Output& output) {
  Columns columns{name.size(), false, false};
  for (const SummaryRow* row : rows) {
    columns.width = std::max(columns.width, row->name.size());
    columns.nested |= row->nested_rhat.has_value();
    columns.exact |= row->exact_mean.has_value();
  }
  print_heading(columns, name, output);
  for (const SummaryRow* row : rows) print_row(run, *row, columns, output);
}

void print_parameters(const RunSummary& run, bool all, Output& output) {
  std::vector<const SummaryRow*> rows;
  for (const SummaryRow& row : run.parameters) rows.push_back(&row);
  const bool cut = !all && rows.size() > table_rows;
  if (cut) {
    std::stable_sort(rows.begin(), rows.end(), [](const SummaryRow* a, const SummaryRow* b) {
      return is_worse(a->found, b->found);
    });
    rows.resize(table_rows);
  }
  if (rows.empty()) return;
  print_rows(run, rows, "parameter", output);
  if (cut)
    output.print("these are the worst; and {} more: --all lists them, --json too\n",
                 run.parameters.size() - table_rows);
}

void add_temperature(Json& json, std::string_view name, const std::optional<Temperature>& found) {
  if (!found) return;
  json.key(name).object().field("estimate", found->estimate);
  if (found->error) json.field("error", *found->error);
  json.field("expected", found->expected).field("verdict", to_string(found->verdict)).end();
}

void add_rows(Json& json, std::string_view name, const RunSummary& run,
              const std::vector<SummaryRow>& rows) {
  json.key(name).array();
  for (const SummaryRow& row : rows) {
    const ParameterSummary& s = row.found;
    json.object().field("name", row.name).field("mean", s.mean).field("sd", s.sd);
    json.field("mcse", s.mcse).field("mcse_sd", s.mcse_sd);
    json.field("q5", s.quantiles[0]).field("q50", s.quantiles[1]).field("q95", s.quantiles[2]);
    json.field("mcse_q5", s.mcse_quantiles[0]).field("mcse_q50", s.mcse_quantiles[1]);
    json.field("mcse_q95", s.mcse_quantiles[2]).field("rhat", s.rhat);
    json.field("ess_bulk", s.ess_bulk).field("ess_tail", s.ess_tail);
    json.field("ess_per_second", run.per_second(s.ess_bulk));
    if (row.nested_rhat) json.field("nested_rhat", *row.nested_rhat);
    if (row.exact_mean) json.field("exact_mean", *row.exact_mean).field("exact_sd", *row.exact_sd);
    json.end();
  }
  json.end();
}

void add_texts(Json& json, std::string_view name, const std::vector<std::string>& texts) {
  json.key(name).array();
  for (const std::string& text : texts) json.value(text);
  json.end();
}

}  // namespace

void print_summary(const RunSummary& run, bool all, Output& output) {
  print_head(run, output);
  print_parameters(run, all, output);
  std::vector<const SummaryRow*> statistics;
  for (const SummaryRow& row : run.statistics) statistics.push_back(&row);
  if (!statistics.empty()) print_rows(run, statistics, "statistic", output);
  if (!run.warnings.empty() || !run.notes.empty()) output.print("\n");
  for (const std::string& warning : run.warnings) output.print("warning: {}\n", warning);
  for (const std::string& note : run.notes) output.print("note: {}\n", note);
}

void print_comparison(const std::vector<RunSummary>& runs, Output& output) {
  std::size_t width = 3;
  for (const RunSummary& run : runs) width = std::max(width, printable(run.directory).size());
  output.print("{:<{}} {:>8} {:>8} {:>7} {:>12} {:>11} {:>11} {:>9}\n", "run", width, "state",
               "draws", "chains", "worst R-hat", "least bulk", "least tail", "ESS/s");
  for (const RunSummary& run : runs) {
    const WorstOfRun worst = worst_of(run);
    output.print("{:<{}} {:>8} {:>8} {:>7} {:>12} {:>11} {:>11} {:>9}\n", printable(run.directory),
                 width, run.state, run.draws, run.chains - std::ssize(run.lost),
                 rhat_text(worst.rhat), or_dash(worst.ess_bulk, "{:.0f}"),
                 or_dash(worst.ess_tail, "{:.0f}"), rate_text(run.per_second(worst.ess_bulk)));
  }
}

void add_summary(Json& json, const RunSummary& run) {
  const WorstOfRun worst = worst_of(run);
  json.object().field("directory", run.directory).field("target", run.target);
  json.field("sampler", run.sampler).field("state", run.state);
  json.field("chains", run.chains).field("steps", run.steps).field("draws", run.draws);
  json.key("lost_chains").array();
  for (std::int64_t chain : run.lost) json.value(chain);
  json.end().field("seconds", run.seconds);
  json.key("temperature").object();
  add_temperature(json, "kinetic", run.kinetic);
  add_temperature(json, "configurational", run.configurational);
  json.end();
  json.key("worst").object().field("rhat", worst.rhat).field("ess_bulk", worst.ess_bulk);
  json.field("ess_tail", worst.ess_tail);
  json.field("ess_per_second", run.per_second(worst.ess_bulk)).end();
  add_rows(json, "parameters", run, run.parameters);
  add_rows(json, "statistics", run, run.statistics);
  add_texts(json, "warnings", run.warnings);
  add_texts(json, "notes", run.notes);
  json.end();
}

}  // namespace whorl::driver
