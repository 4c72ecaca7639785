#include "diagnostics/predictive_density.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/error.hpp"

namespace whorl {

namespace {

constexpr double log_of_nothing = -std::numeric_limits<double>::infinity();

// log(exp(a) + exp(b)), for b that is not +inf.
double log_add(double a, double b) {
  if (a == log_of_nothing) return b;
  if (b == log_of_nothing) return a;
  return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

}  // namespace

PredictiveDensity::PredictiveDensity(std::vector<std::int64_t> starts)
    : starts_(std::move(starts)) {
  if (starts_.size() < 2 || starts_.front() != 0 ||
      !std::is_sorted(starts_.begin(), starts_.end(), std::less_equal<>{}))
    fail(ErrorKind::usage, "density",
         "expected sequences that begin at 0 and have a frame or more");
  sums_.resize(2 * static_cast<std::size_t>(frames()));
  clear();
}

std::span<const double> PredictiveDensity::counts() const {
  return std::span(sums_).subspan(static_cast<std::size_t>(frames()));
}

std::int64_t PredictiveDensity::draws() const {
  return static_cast<std::int64_t>(*std::min_element(counts().begin(), counts().end()));
}

template <class T>
void PredictiveDensity::add_draw(std::span<const T> losses, std::int64_t first) {
  const auto count = static_cast<std::int64_t>(losses.size());
  if (first < 0 || first > frames() - count)
    fail(ErrorKind::usage, "density", "frames {} to {} are given; there are {}", first,
         first + count, frames());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto frame = static_cast<std::size_t>(first + i);
    sums_[frame] = log_add(sums_[frame], -static_cast<double>(losses[static_cast<std::size_t>(i)]));
    sums_[static_cast<std::size_t>(frames()) + frame] += 1;
  }
}

void PredictiveDensity::add(std::span<const float> losses, std::int64_t first) {
  add_draw(losses, first);
}
void PredictiveDensity::add(std::span<const double> losses, std::int64_t first) {
  add_draw(losses, first);
}

void PredictiveDensity::add(const PredictiveDensity& other) {
  if (other.starts_ != starts_)
    fail(ErrorKind::usage, "density", "the other one is of other sequences");
  const auto n = static_cast<std::size_t>(frames());
  for (std::size_t i = 0; i < n; ++i) {
    if (other.sums_[n + i] == 0) continue;
    sums_[i] = log_add(sums_[i], other.sums_[i]);
    sums_[n + i] += other.sums_[n + i];
  }
}

void PredictiveDensity::clear() {
  const auto middle = sums_.begin() + static_cast<std::ptrdiff_t>(frames());
  std::fill(sums_.begin(), middle, log_of_nothing);
  std::fill(middle, sums_.end(), 0.0);
}

std::vector<double> PredictiveDensity::losses() const {
  const double draws = counts().front();
  if (draws == 0) fail(ErrorKind::usage, "density", "there are no draws");
  for (double each : counts())
    if (each != draws)
      fail(ErrorKind::usage, "density",
           "a frame has {} draws and another one {}; expected the same", draws, each);
  std::vector<double> result(static_cast<std::size_t>(frames()));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = std::log(draws) - sums_[i];
  return result;
}

SequenceScores PredictiveDensity::scores() const {
  const std::vector<double> all = losses();
  SequenceScores scores;
  scores.sequences = static_cast<std::int64_t>(starts_.size()) - 1;
  scores.frames = frames();
  scores.draws = draws();
  double sum = 0, sum_of_means = 0, sum_after_first = 0;
  for (std::size_t s = 0; s + 1 < starts_.size(); ++s) {
    double later = 0;
    for (std::int64_t t = starts_[s] + 1; t < starts_[s + 1]; ++t)
      later += all[static_cast<std::size_t>(t)];
    const double own = all[static_cast<std::size_t>(starts_[s])] + later;
    sum += own;
    sum_of_means += own / static_cast<double>(starts_[s + 1] - starts_[s]);
    sum_after_first += later;
  }
  scores.nll = sum / static_cast<double>(scores.frames);
  scores.nll_by_sequence = sum_of_means / static_cast<double>(scores.sequences);
  scores.nll_after_first = sum_after_first / static_cast<double>(scores.frames - scores.sequences);
  return scores;
}

void PredictiveDensity::load(std::span<const double> sums) {
  if (sums.size() != sums_.size())
    fail(ErrorKind::usage, "density", "there are {} numbers, expected {}", sums.size(),
         sums_.size());
  for (double count : sums.subspan(static_cast<std::size_t>(frames())))
    if (!(count >= 0) || count != std::floor(count) || count > 1e15)
      fail(ErrorKind::usage, "density", "a frame has {} draws, expected a count", count);
  std::copy(sums.begin(), sums.end(), sums_.begin());
}

}  // namespace whorl
