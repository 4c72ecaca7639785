// ChainMeans: the running mean of a number, for each chain by itself, in f64.
//
// Chains are averaged last, so that one that was given up can be left out with all it ever said.
// Thread safety: as for a plain value.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "driver/sampling.hpp"
#include "engine/error.hpp"

namespace whorl::driver {

class ChainMeans {
 public:
  explicit ChainMeans(std::int64_t chains) : sums_(static_cast<std::size_t>(chains), 0.0) {}

  // Rows [T, chains] from `first` on.
  void add(const Tensor& rows, std::int64_t first) {
    dispatch(rows.dtype(), [&](auto zero) {
      auto row =
          rows.values<decltype(zero)>().subspan(static_cast<std::size_t>(first) * sums_.size());
      for (; !row.empty(); row = row.subspan(sums_.size()))
        for (std::size_t chain = 0; chain < sums_.size(); ++chain)
          sums_[chain] += static_cast<double>(row[chain]);
    });
    count_ += rows.shape()[0] - first;
  }

  ChainMean over(const std::vector<bool>& alive) const {
    double sum = 0, chains = 0, scatter = 0;
    const auto mean_of = [&](std::size_t chain) {
      return sums_[chain] / static_cast<double>(count_);
    };
    for (std::size_t chain = 0; chain < sums_.size(); ++chain)
      if (alive[chain]) {
        sum += mean_of(chain);
        chains += 1;
      }
    ChainMean mean{sum / chains, {}};
    for (std::size_t chain = 0; chain < sums_.size(); ++chain)
      if (alive[chain]) scatter += std::pow(mean_of(chain) - mean.value, 2);
    if (chains >= 4) mean.error = std::sqrt(scatter / (chains - 1) / chains);
    return mean;
  }

  std::vector<double> save() const {
    std::vector<double> saved = sums_;
    saved.push_back(static_cast<double>(count_));
    return saved;
  }
  void load(std::span<const double> saved) {
    if (saved.size() != sums_.size() + 1)
      fail(ErrorKind::checkpoint, "checkpoint", "it has means of {} chains; expected {}",
           saved.size() - 1, sums_.size());
    sums_.assign(saved.begin(), saved.end() - 1);
    count_ = static_cast<std::int64_t>(saved.back());
  }

 private:
  std::vector<double> sums_;
  std::int64_t count_ = 0;
};

}  // namespace whorl::driver
