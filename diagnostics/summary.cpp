#include "diagnostics/summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "diagnostics/lagged_sums.hpp"
#include "engine/error.hpp"

namespace whorl {

namespace {

// Mean and variance (divisor size - 1).
struct Moments {
  double mean = 0, variance = 0;
};

Moments moments_of(std::span<const double> values) {
  const double size = static_cast<double>(values.size());
  Moments m;
  for (double v : values) m.mean += v;
  m.mean /= size;
  for (double v : values) m.variance += (v - m.mean) * (v - m.mean);
  m.variance /= size - 1;
  return m;
}

// One parameter's half chains, with the variances within and over them. They are the coordinates
// of one path, [length, halves], because only sums over all of them are needed.
class Halves {
 public:
  Halves(std::vector<double> path, std::int64_t halves)
      : count_(static_cast<double>(halves)),
        size_(static_cast<double>(path.size()) / count_),
        sums_(std::move(path), halves, static_cast<std::int64_t>(size_)) {
    within_ = sums_.at(0) / (size_ - 1) / count_;
    total_ = (size_ - 1) / size_ * within_ + moments_of(sums_.mean()).variance;
  }

  double rhat() const { return std::sqrt(total_ / within_); }

  double ess() {
    if (!(total_ > 0) || !std::isfinite(total_)) return std::numeric_limits<double>::quiet_NaN();
    double tau = -1, before = std::numeric_limits<double>::infinity();
    for (std::int64_t lag = 0; lag + 1 < sums_.length(); lag += 2) {
      const double pair = correlation(lag) + correlation(lag + 1);
      if (!(pair > 0)) break;
      before = std::min(before, pair);
      tau += 2 * before;
    }
    const double draws = count_ * size_;
    return draws / std::max(tau, 1 / std::log10(draws));
  }

 private:
  double correlation(std::int64_t lag) {
    if (lag == 0) return 1;
    return 1 - (within_ - sums_.at(lag) / size_ / count_) / total_;
  }

  double count_, size_;
  LaggedSums sums_;
  double within_ = 0, total_ = 0;
};

// `values` are one parameter's draws, [chains, length].
ParameterSummary summary_of(std::span<const double> values, std::size_t length) {
  const std::size_t half = length / 2, halves = values.size() / length * 2;
  std::vector<double> path(half * halves);
  for (std::size_t h = 0; h < halves; ++h) {
    const std::size_t from = h / 2 * length + h % 2 * (length - half);
    for (std::size_t t = 0; t < half; ++t) path[t * halves + h] = values[from + t];
  }
  Halves parts(std::move(path), static_cast<std::int64_t>(halves));
  const Moments all = moments_of(values);
  ParameterSummary result{.mean = all.mean, .sd = std::sqrt(all.variance)};
  result.rhat = parts.rhat();
  result.ess = parts.ess();
  result.mcse = result.sd / std::sqrt(result.ess);
  return result;
}

template <class T>
std::vector<ParameterSummary> summaries_of(std::span<const T> draws, std::int64_t chains,
                                           std::int64_t length, std::int64_t parameters) {
  if (chains < 1 || length < 4 || parameters < 0)
    fail(ErrorKind::usage, "summarise",
         "there are {} chains of {} draws of {} parameters; expected a chain of 4 draws or more",
         chains, length, parameters);
  const std::size_t n = static_cast<std::size_t>(chains * length);
  const std::size_t d = static_cast<std::size_t>(parameters);
  if (draws.size() != n * d)
    fail(ErrorKind::usage, "summarise",
         "there are {} numbers; expected {} for {} chains of {} draws of {} parameters",
         draws.size(), n * d, chains, length, parameters);
  std::vector<ParameterSummary> result;
  std::vector<double> values(n);
  for (std::size_t p = 0; p < d; ++p) {
    for (std::size_t i = 0; i < n; ++i) values[i] = draws[i * d + p];
    result.push_back(summary_of(values, static_cast<std::size_t>(length)));
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
