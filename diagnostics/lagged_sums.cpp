#include "diagnostics/lagged_sums.hpp"

#include <algorithm>
#include <array>
#include <utility>

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

LaggedSums::LaggedSums(std::vector<double> path, std::int64_t dimension)
    : path_(std::move(path)),
      mean_(static_cast<std::size_t>(dimension), 0.0),
      dimension_(dimension),
      length_(static_cast<std::int64_t>(path_.size()) / dimension) {
  const auto for_each = [&](auto&& f) {
    for (std::int64_t t = 0; t < length_; ++t)
      for (std::int64_t c = 0; c < dimension_; ++c) f(path_[t * dimension_ + c], mean_[c]);
  };
  for_each([](double x, double& mean) { mean += x; });
  for (double& mean : mean_) mean /= static_cast<double>(length_);
  for_each([](double& x, double mean) { x -= mean; });
}

double LaggedSums::at(std::int64_t lag) {
  while (static_cast<std::int64_t>(sums_.size()) <= lag) add_group();
  return sums_[static_cast<std::size_t>(lag)];
}

// A tile of the path stays in the first cache while all lags of a group read it.
void LaggedSums::add_group() {
  constexpr std::int64_t group = 16, tile = 1024;
  const std::int64_t first = static_cast<std::int64_t>(sums_.size());
  const std::int64_t size = static_cast<std::int64_t>(path_.size());
  const std::int64_t last = std::min(first + group, length_);
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

}  // namespace whorl
