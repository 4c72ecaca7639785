#include "diagnostics/half_chains.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace whorl {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

double variance_of(std::span<const double> values) {
  const double size = static_cast<double>(values.size());
  double mean = 0, sum = 0;
  for (double v : values) mean += (v - values[0]) / size;
  for (double v : values) sum += (v - values[0] - mean) * (v - values[0] - mean);
  return sum / (size - 1);
}

}  // namespace

// The halves are the coordinates of one path, because only sums over all of them are needed.
HalfChains::HalfChains(std::span<double> draws, std::int64_t halves)
    : count_(static_cast<double>(halves)),
      size_(static_cast<double>(draws.size()) / count_),
      sums_(draws, halves, static_cast<std::int64_t>(size_)) {
  within_ = sums_.at(0) / (size_ - 1) / count_;
  total_ = (size_ - 1) / size_ * within_ + variance_of(sums_.mean());
}

double HalfChains::rhat() const {
  return total_ > 0 && std::isfinite(total_) ? std::sqrt(total_ / within_) : none;
}

double HalfChains::ess() {
  if (!(total_ > 0) || !std::isfinite(total_) || sums_.length() < 3) return none;
  const std::int64_t last = std::max<std::int64_t>(sums_.length() / 2 - 2, 1);
  double tau = -1, before = std::numeric_limits<double>::infinity();
  std::int64_t k = 0;
  for (; k < last; ++k) {
    const double pair = correlation(2 * k) + correlation(2 * k + 1);
    if (!(pair > 0)) break;
    before = std::min(before, pair);
    tau += 2 * before;
  }
  tau += std::max(correlation(2 * k), 0.0);
  const double draws = count_ * size_;
  return draws / std::max(tau, 1 / std::log10(draws));
}

double HalfChains::correlation(std::int64_t lag) {
  if (lag == 0) return 1;
  return 1 - (within_ - sums_.at(lag) / size_ / count_) / total_;
}

}  // namespace whorl
