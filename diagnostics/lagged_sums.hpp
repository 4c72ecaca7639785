// LaggedSums: sum_t <z_t, z_{t+l}> of a centred path z, for the lags l that are asked for.
//
// A path of `length` states of `dimension` numbers lies row by row, so that a lag is one inner
// product of the path with itself, moved by l * dimension numbers. The first lags are computed so,
// in groups, in ascending order, the first time one of a group is needed: whoever stops early pays
// for little. Whoever goes on gets all other lags at once, as the Fourier transform of the path's
// power: O(length log length) for each coordinate. Their errors are roundings of lag 0's sum. A
// coordinate that never moves adds exactly nothing.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace whorl {

class LaggedSums {
 public:
  // Takes the mean of each coordinate off the path, in its place, and reads it as long as lags are
  // asked for. 1 <= lags <= length.
  LaggedSums(std::span<double> path, std::int64_t dimension, std::int64_t lags);

  std::int64_t length() const { return length_; }
  const std::vector<double>& mean() const { return mean_; }
  double at(std::int64_t lag);  // 0 <= lag < lags

 private:
  void add_group();
  void add_all();

  std::span<double> path_;
  std::vector<double> mean_, sums_;
  std::int64_t dimension_, length_, lags_;
};

}  // namespace whorl
