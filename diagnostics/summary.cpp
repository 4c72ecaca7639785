#include "diagnostics/summary.hpp"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <limits>

#include "diagnostics/half_chains.hpp"
#include "diagnostics/normal_quantile.hpp"
#include "engine/error.hpp"

namespace whorl {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr double one_sd_below = 0.15865525393145705;  // Phi(-1)

void expect_chains(std::int64_t chains, std::int64_t length, std::int64_t parameters) {
  if (chains < 1 || length < 4 || parameters < 0)
    fail(ErrorKind::usage, "summarise",
         "there are {} chains of {} draws of {} parameters; expected a chain of 4 draws or more",
         chains, length, parameters);
}

void expect_draws(std::size_t found, std::size_t chains, std::size_t length,
                  std::size_t parameters) {
  if (found != chains * length * parameters)
    fail(ErrorKind::usage, "summarise",
         "there are {} numbers; expected {} for {} chains of {} draws of {} parameters", found,
         chains * length * parameters, chains, length, parameters);
}

// The draw at a place of the order, counted from 1.
double at_place(std::span<const SortedDraw> sorted, double place) {
  const double last = static_cast<double>(sorted.size());
  return sorted[static_cast<std::size_t>(std::clamp(place, 1.0, last)) - 1].value;
}

double quantile_error(std::span<const SortedDraw> sorted, double p, double ess) {
  if (!std::isfinite(ess)) return none;
  const double a = ess * p + 1, b = ess * (1 - p) + 1, n = static_cast<double>(sorted.size());
  const double low = boost::math::ibeta_inv(a, b, one_sd_below);
  const double high = boost::math::ibeta_inv(a, b, 1 - one_sd_below);
  return (at_place(sorted, std::ceil(high * n)) - at_place(sorted, std::floor(low * n))) / 2;
}

ParameterSummary without_value() {
  ParameterSummary result{.mean = none, .sd = none, .mcse = none, .mcse_sd = none};
  result.quantiles.fill(none);
  result.mcse_quantiles.fill(none);
  result.rhat = result.ess_bulk = result.ess_tail = none;
  return result;
}

}  // namespace

Summariser::Summariser(std::int64_t chains, std::int64_t length)
    : length_(static_cast<std::size_t>(length)),
      half_(length_ / 2),
      halves_(static_cast<std::size_t>(chains) * 2) {
  expect_chains(chains, length, 1);
  path_.resize(half_ * halves_);
  work_.resize(path_.size());
  for (std::size_t rank = 1; rank <= (path_.size() + 1) / 2; ++rank)
    scores_.push_back(normal_quantile((static_cast<double>(rank) - 0.375) /
                                      (static_cast<double>(path_.size()) + 0.25)));
}

ParameterSummary Summariser::operator()(std::span<const double> draws) {
  expect_draws(draws.size(), halves_ / 2, length_, 1);
  ParameterSummary result = without_value();
  if (!std::all_of(draws.begin(), draws.end(), [](double v) { return std::isfinite(v); }))
    return result;
  split(draws);
  add_moments(draws, result);
  if (!std::isfinite(result.sd)) return without_value();  // the squares are out of range
  add_quantiles(result);
  add_rank_statistics(result.quantiles[1], result);
  return result;
}

// The draws lie as HalfChains wants them, those in the middle of a chain behind the others.
void Summariser::split(std::span<const double> draws) {
  sorted_.resize(draws.size());
  std::size_t middle = path_.size();
  for (std::size_t chain = 0; chain < halves_ / 2; ++chain) {
    const double* values = draws.data() + chain * length_;
    const std::size_t second = length_ - half_;
    for (std::size_t t = 0; t < half_; ++t) {
      path_[t * halves_ + 2 * chain] = values[t];
      path_[t * halves_ + 2 * chain + 1] = values[second + t];
    }
    if (second > half_)
      sorted_[middle] = {values[half_], static_cast<std::int64_t>(middle)}, ++middle;
  }
  for (std::size_t i = 0; i < path_.size(); ++i)
    sorted_[i] = {path_[i], static_cast<std::int64_t>(i)};
  sort_draws(sorted_, folded_);
}

// Differences from the first draw: the mean of equal draws is that very number.
void Summariser::add_moments(std::span<const double> draws, ParameterSummary& result) {
  const double n = static_cast<double>(draws.size()), first = draws[0];
  double sum = 0, squares = 0, fourths = 0;
  for (double v : draws) sum += v - first;
  const double mean = first + sum / n;
  for (double v : draws) {
    const double square = (v - mean) * (v - mean);
    squares += square;
    fourths += square * square;
  }
  result.mean = mean;
  result.sd = std::sqrt(squares / (n - 1));

  work_ = path_;
  result.mcse = result.sd / std::sqrt(HalfChains(work_, halves_).ess());
  // Squares that differ by rounding alone, as those of two numbers that are equally frequent, have
  // no size.
  const double square = squares / n, spread = fourths / n - square * square;
  if (!(spread > 1e-13 * square * square)) return;
  for (std::size_t i = 0; i < path_.size(); ++i) work_[i] = (path_[i] - mean) * (path_[i] - mean);
  result.mcse_sd = std::sqrt(spread / HalfChains(work_, halves_).ess() / (4 * square));
}

void Summariser::add_quantiles(ParameterSummary& result) {
  std::array<double, summary_probabilities.size()> ess{};
  for (std::size_t k = 0; k < ess.size(); ++k) {
    const double p = summary_probabilities[k], q = quantile_of(sorted_, p);
    for (std::size_t i = 0; i < path_.size(); ++i) work_[i] = path_[i] <= q ? 1 : 0;
    ess[k] = HalfChains(work_, halves_).ess();
    result.quantiles[k] = q;
    result.mcse_quantiles[k] = quantile_error(sorted_, p, ess[k]);
  }
  if (!std::isnan(ess.front()) && !std::isnan(ess.back()))
    result.ess_tail = std::min(ess.front(), ess.back());
}

void Summariser::add_rank_statistics(double median, ParameterSummary& result) {
  std::erase_if(sorted_, [&](const SortedDraw& draw) {
    return draw.index >= static_cast<std::int64_t>(path_.size());
  });
  set_scores(sorted_);
  HalfChains bulk(work_, halves_);
  result.rhat = bulk.rhat();
  result.ess_bulk = bulk.ess();
  fold_sorted(sorted_, median, folded_);
  set_scores(folded_);
  result.rhat = std::fmax(result.rhat, HalfChains(work_, halves_).rhat());
}

void Summariser::set_scores(std::span<const SortedDraw> sorted) {
  for_each_rank(sorted, [&](std::span<const SortedDraw> equal, double rank) {
    const double z = score(rank);
    for (const SortedDraw& draw : equal) work_[static_cast<std::size_t>(draw.index)] = z;
  });
}

// Ranks of draws that are equal may lie between two whole numbers.
double Summariser::score(double rank) const {
  const double size = static_cast<double>(path_.size()), mirrored = size + 1 - rank;
  if (rank > mirrored) return -score(mirrored);
  const std::size_t whole = static_cast<std::size_t>(rank);
  if (static_cast<double>(whole) == rank) return scores_[whole - 1];
  return normal_quantile((rank - 0.375) / (size + 0.25));
}

namespace {

template <class T>
std::vector<ParameterSummary> summaries_of(std::span<const T> draws, std::int64_t chains,
                                           std::int64_t length, std::int64_t parameters) {
  expect_chains(chains, length, parameters);
  const std::size_t n = static_cast<std::size_t>(chains * length);
  const std::size_t d = static_cast<std::size_t>(parameters);
  expect_draws(draws.size(), static_cast<std::size_t>(chains), static_cast<std::size_t>(length), d);
  Summariser summarise_one(chains, length);
  std::vector<ParameterSummary> result;
  std::vector<double> values(n);
  for (std::size_t p = 0; p < d; ++p) {
    for (std::size_t i = 0; i < n; ++i) values[i] = draws[i * d + p];
    result.push_back(summarise_one(values));
  }
  return result;
}

}  // namespace

std::vector<ParameterSummary> summarise(std::span<const double> draws, std::int64_t chains,
                                        std::int64_t length, std::int64_t parameters) {
  return summaries_of(draws, chains, length, parameters);
}
std::vector<ParameterSummary> summarise(std::span<const float> draws, std::int64_t chains,
                                        std::int64_t length, std::int64_t parameters) {
  return summaries_of(draws, chains, length, parameters);
}

}  // namespace whorl
