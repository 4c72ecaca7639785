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

// One parameter's half chains, with the variances within and over them.
class Halves {
 public:
  explicit Halves(std::vector<LaggedSums> halves) : halves_(std::move(halves)) {
    std::vector<double> means;
    for (LaggedSums& half : halves_) {
      means.push_back(half.mean().front());
      within_ += half.at(0) / (size() - 1) / count();
    }
    total_ = (size() - 1) / size() * within_ + moments_of(means).variance;
  }

  double rhat() const { return std::sqrt(total_ / within_); }

  double ess() {
    if (!(total_ > 0) || !std::isfinite(total_)) return std::numeric_limits<double>::quiet_NaN();
    double tau = -1, before = std::numeric_limits<double>::infinity();
    for (std::int64_t lag = 0; lag + 1 < halves_.front().length(); lag += 2) {
      const double pair = correlation(lag) + correlation(lag + 1);
      if (!(pair > 0)) break;
      before = std::min(before, pair);
      tau += 2 * before;
    }
    const double draws = count() * size();
    return draws / std::max(tau, 1 / std::log10(draws));
  }

 private:
  double count() const { return static_cast<double>(halves_.size()); }
  double size() const { return static_cast<double>(halves_.front().length()); }
  double correlation(std::int64_t lag) {
    if (lag == 0) return 1;
    double covariance = 0;
    for (LaggedSums& half : halves_) covariance += half.at(lag) / size() / count();
    return 1 - (within_ - covariance) / total_;
  }

  std::vector<LaggedSums> halves_;
  double within_ = 0, total_ = 0;
};

// `values` are one parameter's draws, [chains, length].
ParameterSummary summary_of(std::span<const double> values, std::size_t length) {
  const std::size_t half = length / 2;
  std::vector<LaggedSums> parts;
  for (std::size_t begin = 0; begin < values.size(); begin += length)
    for (const std::size_t from : {begin, begin + length - half})
      parts.emplace_back(std::vector<double>(&values[from], &values[from] + half), 1);
  Halves halves(std::move(parts));
  const Moments all = moments_of(values);
  ParameterSummary result{.mean = all.mean, .sd = std::sqrt(all.variance)};
  result.rhat = halves.rhat();
  result.ess = halves.ess();
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
