// LaggedSums: sum_t <z_t, z_{t+l}> of a centred path z, for the lags l that are asked for.
//
// A path of `length` states of `dimension` numbers lies row by row, so that a lag is one inner
// product of the path with itself, moved by l * dimension numbers. Lags are computed in groups, in
// ascending order, the first time one of a group is needed: whoever stops early pays for little.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <vector>

namespace whorl {

class LaggedSums {
 public:
  // Takes the mean of each coordinate off the path.
  LaggedSums(std::vector<double> path, std::int64_t dimension);

  std::int64_t length() const { return length_; }
  const std::vector<double>& mean() const { return mean_; }
  double at(std::int64_t lag);  // 0 <= lag < length

 private:
  void add_group();

  std::vector<double> path_, mean_, sums_;
  std::int64_t dimension_, length_;
};

}  // namespace whorl
