#include "diagnostics/lagged_sums.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "diagnostics/fourier.hpp"

namespace whorl {

namespace {

// Sixteen sums side by side, in a fixed order: the compiler may not reorder a sum, so that a plain
// loop would run one number at a time.
double inner_product(const double* a, const double* b, std::int64_t size) {
  constexpr std::int64_t width = 16;
  std::array<double, width> sums{};
  std::int64_t i = 0;
  for (; i + width <= size; i += width)
    for (std::int64_t k = 0; k < width; ++k) sums[k] += a[i + k] * b[i + k];
  for (std::int64_t k = 0; i < size; ++i, ++k) sums[k] += a[i] * b[i];
  double total = 0;
  for (double s : sums) total += s;
  return total;
}

}  // namespace

// Sums are of differences from the first state, which are exactly zero where nothing moves.
LaggedSums::LaggedSums(std::span<double> path, std::int64_t dimension, std::int64_t lags)
    : path_(path),
      mean_(static_cast<std::size_t>(dimension), 0.0),
      dimension_(dimension),
      length_(static_cast<std::int64_t>(path_.size()) / dimension),
      lags_(lags) {
  const std::vector<double> first(path_.begin(), path_.begin() + dimension_);
  for (std::int64_t t = 0; t < length_; ++t)
    for (std::int64_t c = 0; c < dimension_; ++c) mean_[c] += path_[t * dimension_ + c] - first[c];
  for (std::int64_t c = 0; c < dimension_; ++c)
    mean_[c] = first[c] + mean_[c] / static_cast<double>(length_);
  for (std::int64_t t = 0; t < length_; ++t)
    for (std::int64_t c = 0; c < dimension_; ++c) path_[t * dimension_ + c] -= mean_[c];
}

double LaggedSums::at(std::int64_t lag) {
  // About what the transform costs: at worst, both are paid. Whoever is still correlated so much
  // after a group will want about as many lags.
  constexpr std::size_t by_groups = 64;
  constexpr double still_correlated = 0.15;
  while (static_cast<std::int64_t>(sums_.size()) <= lag)
    if (sums_.empty() ||
        (sums_.size() < by_groups && sums_.back() < still_correlated * sums_.front()))
      add_group();
    else
      add_all();
  return sums_[static_cast<std::size_t>(lag)];
}

// A tile of the path stays in the first cache while all lags of a group read it.
void LaggedSums::add_group() {
  constexpr std::int64_t group = 16, tile = 1024;
  const std::int64_t first = static_cast<std::int64_t>(sums_.size());
  const std::int64_t size = static_cast<std::int64_t>(path_.size());
  const std::int64_t last = std::min(first + group, lags_);
  sums_.resize(static_cast<std::size_t>(last), 0.0);
  for (std::int64_t begin = 0; begin < size; begin += tile)
    for (std::int64_t lag = first; lag < last; ++lag) {
      const std::int64_t shift = lag * dimension_;
      const std::int64_t end = std::min(begin + tile, size - shift);
      if (end <= begin) break;
      const double* from = path_.data() + begin;
      sums_[static_cast<std::size_t>(lag)] += inner_product(from, from + shift, end - begin);
    }
}

// The sums are those of a circle that is long enough for no lag to reach around it. Two coordinates
// a and b make one complex path a + ib: the real part of its sums is that of a plus that of b. The
// power is real, so that the real part is the same for the transform and its inverse.
void LaggedSums::add_all() {
  const std::int64_t size =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(length_ + lags_)));
  const Fourier fourier(size);
  // Powers are near the largest sum times the length; a unit of lag 0's root keeps them in range.
  const double unit = sums_[0] > 0 ? std::sqrt(sums_[0]) : 1;
  std::vector<double> re(static_cast<std::size_t>(size)), im(re), power(re);
  for (std::int64_t c = 0; c < dimension_; c += 2) {
    std::fill(re.begin(), re.end(), 0.0);
    std::fill(im.begin(), im.end(), 0.0);
    for (std::int64_t t = 0; t < length_; ++t) re[t] = path_[t * dimension_ + c] / unit;
    if (c + 1 < dimension_)
      for (std::int64_t t = 0; t < length_; ++t) im[t] = path_[t * dimension_ + c + 1] / unit;
    fourier.transform(re.data(), im.data());
    for (std::int64_t k = 0; k < size; ++k) power[k] += re[k] * re[k] + im[k] * im[k];
  }
  for (std::int64_t k = 0; k < size; ++k) re[k] = power[fourier.place(k)];
  std::fill(im.begin(), im.end(), 0.0);
  fourier.transform(re.data(), im.data());
  for (std::int64_t lag = static_cast<std::int64_t>(sums_.size()); lag < lags_; ++lag)
    sums_.push_back(re[fourier.place(lag)] * (unit * unit / static_cast<double>(size)));
}

}  // namespace whorl
