#include "driver/report/quality.hpp"

#include <algorithm>
#include <cmath>

#include "diagnostics/vector_ess.hpp"
#include "driver/verdicts.hpp"

namespace whorl::driver::report {

namespace {

constexpr std::int64_t most_numbers = 200, fewest_numbers = 8;
constexpr std::int64_t most_values = 60'000'000;  // read in all: some seconds
constexpr std::int64_t most_path_values = 30'000'000;
constexpr std::int64_t fewest_path_draws = 10;
// How many times the draws of a number lie in memory while they are judged.
constexpr std::int64_t copies = 10;

ChainDraws living_rows(std::vector<double> all, const std::vector<std::int64_t>& living,
                       std::int64_t draws) {
  ChainDraws result{living, draws, {}};
  result.values.resize(living.size() * static_cast<std::size_t>(draws));
  for (std::size_t k = 0; k < living.size(); ++k)
    std::copy_n(all.begin() + living[k] * draws, draws,
                result.values.begin() + static_cast<std::int64_t>(k) * draws);
  return result;
}

void add_statistics(DrawsQuality& quality, const RunRecord& run,
                    const std::vector<std::int64_t>& living) {
  quality.temperatures = run_temperatures(run, living);
  const ChainDraws accepted = read_statistic(*run.draws, living, "acceptance_rate");
  if (accepted.draws > 0) {
    double sum = 0;
    for (double x : accepted.values) sum += x;
    quality.acceptance = sum / static_cast<double>(accepted.values.size());
  }
  const ChainDraws log_joint = read_statistic(*run.draws, living, "lp");
  if (log_joint.draws < 4) return;
  quality.log_joint = {"log joint density", {}, {}};
  quality.log_joint->summary =
      whorl::summarise(log_joint.values, std::ssize(living), log_joint.draws, 1).front();
}

// The numbers of each chain, state by state.
void add_vector_ess(DrawsQuality& quality, const RunRecord& run,
                    const std::vector<std::int64_t>& living) {
  const std::int64_t n = quality.numbers, draws = quality.draws;
  if (std::ssize(quality.judged) < n || draws < fewest_path_draws || living.empty() ||
      n * draws * std::ssize(living) > most_path_values)
    return;
  std::vector<std::vector<double>> paths(living.size());
  for (auto& path : paths) path.resize(static_cast<std::size_t>(n * draws));
  for (std::size_t i = 0; i < quality.judged.size(); ++i) {
    const ChainDraws column = read_draws(*run.draws, living, quality.judged[i]);
    for (std::size_t k = 0; k < living.size(); ++k)
      for (std::size_t t = 0; t < static_cast<std::size_t>(draws); ++t)
        paths[k][t * static_cast<std::size_t>(n) + i] = column.of(k)[t];
  }
  double sum = 0;
  for (const std::vector<double>& path : paths) {
    const VectorEss found = vector_ess(path, n);
    sum += found.ess / static_cast<double>(paths.size());
    quality.vector_ess_capped |= found.capped;
  }
  if (std::isfinite(sum)) quality.vector_ess = sum;
}

// NaN is the worst that a number can be.
template <class Better>
const JudgedNumber* worst_of(const DrawsQuality& quality, double ParameterSummary::*field,
                             Better better) {
  std::vector<const JudgedNumber*> all;
  for (const JudgedNumber& number : quality.judged) all.push_back(&number);
  if (quality.log_joint) all.push_back(&*quality.log_joint);
  const JudgedNumber* worst = nullptr;
  for (const JudgedNumber* number : all) {
    const double value = number->summary.*field;
    if (worst == nullptr || (!std::isnan(worst->summary.*field) &&
                             (std::isnan(value) || better(worst->summary.*field, value))))
      worst = number;
  }
  return worst;
}

}  // namespace

const JudgedNumber* DrawsQuality::worst_rhat() const {
  return worst_of(*this, &ParameterSummary::rhat, std::less<>());
}
const JudgedNumber* DrawsQuality::least_bulk() const {
  return worst_of(*this, &ParameterSummary::ess_bulk, std::greater<>());
}
const JudgedNumber* DrawsQuality::least_tail() const {
  return worst_of(*this, &ParameterSummary::ess_tail, std::greater<>());
}

std::vector<const JudgedNumber*> DrawsQuality::to_show(std::size_t most) const {
  std::vector<const JudgedNumber*> shown;
  for (const JudgedNumber& number : judged) shown.push_back(&number);
  std::stable_sort(shown.begin(), shown.end(), [](const JudgedNumber* a, const JudgedNumber* b) {
    return is_worse(a->summary, b->summary);
  });
  shown.resize(std::min(shown.size(), most));
  if (log_joint) shown.push_back(&*log_joint);
  return shown;
}

ChainDraws read_draws(const DrawsReader& reader, const std::vector<std::int64_t>& living,
                      const JudgedNumber& number) {
  if (!number.number) return read_statistic(reader, living, "lp");
  return living_rows(reader.read(number.number->parameter, number.number->element, 1), living,
                     reader.draws());
}

ChainDraws read_statistic(const DrawsReader& reader, const std::vector<std::int64_t>& living,
                          std::string_view name) {
  const auto& names = reader.layout().statistics;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return {};
  DrawnStatistic statistic =
      driver::read_statistic(reader, static_cast<std::size_t>(found - names.begin()), living);
  return {living, statistic.known, std::move(statistic.values)};
}

std::optional<DrawsQuality> judge_draws(const RunRecord& run, int threads, std::int64_t memory) {
  if (!run.draws || run.draws->draws() == 0) return std::nullopt;
  const DrawsReader& reader = *run.draws;
  DrawsQuality quality;
  for (const DrawsVariable& parameter : reader.layout().parameters)
    quality.numbers += parameter.shape.elements();
  quality.chains = reader.layout().chains;
  quality.draws = reader.draws();
  const std::int64_t values = quality.chains * quality.draws;
  if (values * 8 > memory / copies) return quality;
  const std::int64_t most =
      std::clamp(most_values / std::max<std::int64_t>(values, 1), fewest_numbers, most_numbers);
  const DrawsSummary found = summarise_draws(reader, some_numbers(reader.layout(), most), threads);
  quality.lost = found.lost;
  quality.still = found.still;
  for (std::size_t i = 0; i < found.summaries.size(); ++i)
    quality.judged.push_back(
        {name_of(reader.layout(), found.numbers[i]), found.numbers[i], found.summaries[i]});
  const std::vector<std::int64_t> living = living_chains(reader);
  if (living.empty()) return quality;
  add_statistics(quality, run, living);
  add_vector_ess(quality, run, living);
  return quality;
}

}  // namespace whorl::driver::report
