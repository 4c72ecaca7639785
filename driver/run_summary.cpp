#include "driver/run_summary.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "diagnostics/nested_rhat.hpp"
#include "driver/draws_summary.hpp"
#include "driver/run_record.hpp"
#include "driver/run_temperature.hpp"
#include "driver/target.hpp"
#include "driver/verdicts.hpp"
#include "engine/attributes.hpp"
#include "engine/error.hpp"

namespace whorl::driver {

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t least_draws = 4;

// What is asked for, in the order of the file.
struct Selection {
  std::vector<DrawnNumber> numbers;
  std::vector<std::size_t> statistics;
};

// The element of "w[1,2]", counted through; nothing when there is none.
std::optional<std::int64_t> element_at(const Shape& shape, std::string_view index) {
  std::int64_t element = 0;
  int axis = 0;
  for (std::size_t at = 0; at <= index.size(); ++axis) {
    const std::size_t end = std::min(index.find(',', at), index.size());
    std::int64_t i = 0;
    const auto [stop, fault] = std::from_chars(index.data() + at, index.data() + end, i);
    if (axis >= shape.rank() || fault != std::errc{} || stop != index.data() + end || i < 0 ||
        i >= shape[axis])
      return std::nullopt;
    element = element * shape[axis] + i;
    at = end + 1;
  }
  return axis == shape.rank() ? std::optional(element) : std::nullopt;
}

// What each draw comes with, but for the mark of chains that were given up.
std::vector<std::size_t> shown_statistics(const DrawsLayout& layout) {
  std::vector<std::size_t> shown;
  for (std::size_t s = 0; s < layout.statistics.size(); ++s)
    if (layout.statistics[s] != "diverging") shown.push_back(s);
  return shown;
}

[[noreturn]] void unknown_name(const RunSummary& run, const DrawsLayout& layout,
                               const std::string& word) {
  std::vector<std::string_view> names;
  for (const DrawsVariable& parameter : layout.parameters) names.push_back(parameter.name);
  for (std::size_t s : shown_statistics(layout)) names.push_back(layout.statistics[s]);
  fail(ErrorKind::usage, "summary", "{}: there is no parameter '{}'{}; there are: {}",
       run.directory, word, did_you_mean(word, names), fmt::join(names, ", "));
}

void select(const RunSummary& run, const DrawsLayout& layout, const std::string& word,
            Selection& selection) {
  for (std::size_t s : shown_statistics(layout))
    if (layout.statistics[s] == word) return selection.statistics.push_back(s);
  for (std::size_t p = 0; p < layout.parameters.size(); ++p) {
    const DrawsVariable& parameter = layout.parameters[p];
    if (word == parameter.name) {
      for (std::int64_t i = 0; i < parameter.shape.elements(); ++i)
        selection.numbers.push_back({p, i});
      return;
    }
    if (!word.starts_with(parameter.name + "[") || !word.ends_with("]")) continue;
    const std::size_t begin = parameter.name.size() + 1;
    const auto element =
        element_at(parameter.shape, std::string_view(word).substr(begin, word.size() - begin - 1));
    if (!element)
      fail(ErrorKind::usage, "summary", "{}: there is no {}: {} has the shape {}", run.directory,
           word, parameter.name, to_string(parameter.shape));
    return selection.numbers.push_back({p, *element});
  }
  unknown_name(run, layout, word);
}

Selection selected(const RunSummary& run, const DrawsLayout& layout,
                   const std::vector<std::string>& chosen) {
  if (chosen.empty()) return {all_numbers(layout), shown_statistics(layout)};
  Selection selection;
  for (const std::string& word : chosen) select(run, layout, word, selection);
  const auto place = [](const DrawnNumber& n) { return std::pair(n.parameter, n.element); };
  std::ranges::sort(selection.numbers, {}, place);
  const auto again = std::ranges::unique(selection.numbers, {}, place);
  selection.numbers.erase(again.begin(), again.end());
  std::ranges::sort(selection.statistics);
  const auto twice = std::ranges::unique(selection.statistics);
  selection.statistics.erase(twice.begin(), twice.end());
  return selection;
}

// Which of the living chains are in superchains that lost none.
class Superchains {
 public:
  Superchains(const RunSummary& run, const std::vector<std::int64_t>& living,
              std::int64_t superchains)
      : living_(std::ssize(living)) {
    if (superchains < 2 || run.chains % superchains != 0)
      fail(ErrorKind::usage, "summary",
           "--superchains: {} chains do not make {} superchains; expected two or more of equal "
           "size",
           run.chains, superchains);
    const std::int64_t size = run.chains / superchains;
    for (std::int64_t k = 0; k < superchains; ++k) {
      const auto first = std::lower_bound(living.begin(), living.end(), k * size);
      const auto end = std::lower_bound(first, living.end(), (k + 1) * size);
      if (end - first != size) continue;
      ++whole_;
      for (auto chain = first; chain != end; ++chain) places_.push_back(chain - living.begin());
    }
  }

  std::int64_t whole() const { return whole_; }
  // Of draws [living, any].
  double rhat(std::span<const double> draws) const {
    if (whole_ < 2 || draws.empty()) return not_a_number;
    const std::int64_t length = std::ssize(draws) / living_;
    std::vector<double> values;
    for (std::int64_t place : places_)
      values.insert(values.end(), draws.begin() + place * length,
                    draws.begin() + (place + 1) * length);
    return nested_rhat(values, std::ssize(places_), length, whole_);
  }

 private:
  std::int64_t living_, whole_ = 0;
  std::vector<std::int64_t> places_;
};

std::string target_name(const ExperimentFile& experiment) {
  if (!experiment.name.empty()) return experiment.name;
  if (experiment.targets.empty()) return "";
  const TargetSettings& target = experiment.targets.front();
  return target.gaussian ? fmt::format("a Gaussian of {} dimensions", target.gaussian->dimension)
                         : target.graph.string();
}

void add_temperatures(RunSummary& run, const RunRecord& record,
                      const std::vector<std::int64_t>& living) {
  const RunTemperatures found = run_temperatures(record, living);
  run.kinetic = found.kinetic;
  run.configurational = found.configurational;
  const auto warn = [&](std::string_view name, const std::optional<Temperature>& temperature) {
    if (!temperature) return;
    if (const auto advice = temperature_advice(temperature->verdict); !advice.empty())
      run.warnings.push_back(fmt::format("the {} temperature is {:.3f}, expected {}: {}", name,
                                         temperature->estimate, temperature->expected, advice));
  };
  warn("kinetic", run.kinetic);
  warn("configurational", run.configurational);
}

void add_parameters(RunSummary& run, const RunRecord& record, const Selection& selection,
                    const std::optional<Superchains>& superchains, int threads) {
  std::vector<double> nested(superchains ? selection.numbers.size() : 0);
  NumberVisitor also;
  if (superchains)
    also = [&](std::size_t i, std::span<const double> values) {
      nested[i] = superchains->rhat(values);
    };
  const DrawsSummary found = summarise_draws(*record.draws, selection.numbers, threads, also);
  for (std::size_t i = 0; i < found.summaries.size(); ++i) {
    SummaryRow row{
        name_of(record.draws->layout(), found.numbers[i]), found.summaries[i], {}, {}, {}};
    if (superchains) row.nested_rhat = nested[i];
    run.parameters.push_back(std::move(row));
  }
  if (found.still > 0)
    run.warnings.push_back(fmt::format("{} of {} chains never moved", found.still, found.chains));
  const auto stuck = std::count_if(found.summaries.begin(), found.summaries.end(),
                                   [](const ParameterSummary& s) { return s.sd == 0; });
  if (stuck > 0)
    run.warnings.push_back(
        fmt::format("{} of {} parameters never moved", stuck, found.summaries.size()));
}

void add_statistics(RunSummary& run, const RunRecord& record, const Selection& selection,
                    const std::vector<std::int64_t>& living,
                    const std::optional<Superchains>& superchains) {
  for (std::size_t s : selection.statistics) {
    const DrawnStatistic statistic = read_statistic(*record.draws, s, living);
    if (statistic.known < least_draws) continue;
    SummaryRow row{
        statistic.name,
        whorl::summarise(statistic.values, std::ssize(living), statistic.known, 1).front(),
        {},
        {},
        {}};
    if (superchains) row.nested_rhat = superchains->rhat(statistic.values);
    run.statistics.push_back(std::move(row));
  }
}

void add_exact(RunSummary& run, const RunRecord& record, const Selection& selection) {
  const std::vector<TargetSettings>& targets = record.experiment.targets;
  if (targets.empty() || !targets.front().gaussian)
    fail(ErrorKind::usage, "summary",
         "{}: --exact is for Gaussian targets, the law of others is not known", run.directory);
  const Gaussian exact = make_gaussian(*targets.front().gaussian);
  for (std::size_t i = 0; i < run.parameters.size(); ++i) {
    const DrawnNumber& number = selection.numbers[i];
    const std::size_t at = static_cast<std::size_t>(
        record.draws->layout().parameters[number.parameter].offset + number.element);
    run.parameters[i].exact_mean = exact.mean()[at];
    run.parameters[i].exact_sd = std::sqrt(exact.covariance()[at * (exact.mean().size() + 1)]);
  }
}

void add_convergence(RunSummary& run) {
  std::vector<std::string> names;
  std::vector<ParameterSummary> summaries;
  for (const std::vector<SummaryRow>* rows : {&run.parameters, &run.statistics})
    for (const SummaryRow& row : *rows)
      if (rows == &run.parameters || row.name == "lp") {
        names.push_back(row.name);
        summaries.push_back(row.found);
      }
  add_convergence_warnings(names, summaries, run.warnings);
}

void add_superchain_notes(RunSummary& run, const Superchains& superchains, std::int64_t wanted) {
  const std::int64_t size = run.chains / wanted;
  if (superchains.whole() < wanted)
    run.notes.push_back(
        fmt::format("nested R-hat: {} of {} superchains are left out, because "
                    "chains of theirs diverged",
                    wanted - superchains.whole(), wanted));
  if (size > 1)
    run.notes.push_back(fmt::format(
        "nested R-hat: the chains of this run started each for itself, so that groups of {} may "
        "look as if they agreed; --superchains {} cannot be misled",
        size, run.chains));
}

RunSummary summary_of_draws(RunSummary run, const RunRecord& record,
                            const SummaryRequest& request) {
  const std::vector<std::int64_t> living = living_chains(*record.draws);
  for (std::int64_t chain = 0; chain < run.chains; ++chain)
    if (!std::binary_search(living.begin(), living.end(), chain)) run.lost.push_back(chain);
  const Selection selection = selected(run, record.draws->layout(), request.chosen);
  std::optional<Superchains> superchains;
  if (request.superchains > 0) superchains.emplace(run, living, request.superchains);
  if (!run.lost.empty())
    run.warnings.push_back(
        fmt::format("{} of {} chains diverged and are left out with all their "
                    "draws: {}",
                    run.lost.size(), run.chains, fmt::join(run.lost, ", ")));
  if (run.draws < least_draws)
    run.warnings.push_back(fmt::format("R-hat and ESS need at least {} draws a chain, there are {}",
                                       least_draws, run.draws));
  if (!living.empty() && run.draws >= least_draws) {
    add_parameters(run, record, selection, superchains, request.threads);
    add_statistics(run, record, selection, living, superchains);
  }
  if (request.exact) add_exact(run, record, selection);
  if (is_optimiser(record))
    run.warnings.push_back(fmt::format(
        "{} is an optimiser: the spread of the draws is not a posterior's", run.sampler));
  else
    add_convergence(run);
  add_temperatures(run, record, living);
  if (superchains) add_superchain_notes(run, *superchains, request.superchains);
  return run;
}

}  // namespace

double RunSummary::per_second(double ess) const {
  return seconds > 0 ? ess / seconds : not_a_number;
}

RunSummary summarise_run(const std::filesystem::path& directory, const SummaryRequest& request) {
  const RunRecord record = load_run(directory);
  RunSummary run;
  run.directory = directory.string();
  if (record.is_training())
    fail(ErrorKind::usage, "summary",
         "{}: is a run of 'train', which has no draws; expected one "
         "of 'sample'",
         run.directory);
  run.state = record.state();
  if (!record.draws || record.draws->draws() == 0)
    fail(ErrorKind::data, "summary", "{}: there are no draws yet: the run is {} after step {}",
         run.directory, run.state, record.steps());
  run.target = target_name(record.experiment);
  run.sampler = record.experiment.sampler();
  run.chains = record.draws->layout().chains;
  run.steps = record.steps();
  run.draws = record.draws->draws();
  run.seconds = record.seconds();
  return summary_of_draws(std::move(run), record, request);
}

WorstOfRun worst_of(const RunSummary& run) {
  WorstOfRun worst{not_a_number, not_a_number, not_a_number};
  const auto look = [&](const SummaryRow& row) {
    worst.rhat = std::fmax(worst.rhat, row.found.rhat);
    worst.ess_bulk = std::fmin(worst.ess_bulk, row.found.ess_bulk);
    worst.ess_tail = std::fmin(worst.ess_tail, row.found.ess_tail);
  };
  for (const SummaryRow& row : run.parameters) look(row);
  for (const SummaryRow& row : run.statistics)
    if (row.name == "lp") look(row);
  return worst;
}

}  // namespace whorl::driver
