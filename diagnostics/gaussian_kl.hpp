// How far the states of a sampler are from a Gaussian target, by their mean and covariance.
//
// PooledMoments gathers any number of states in O(d^2) memory. Each call adds its states as a block
// with a mean and a scatter matrix of its own, which are merged (Chan, Golub and LeVeque): nothing
// cancels where the states lie far from the origin.
// Thread safety: as for a plain value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace whorl {

class PooledMoments {
 public:
  explicit PooledMoments(std::int64_t dimension);

  // States [any, dimension], row by row; a usage Error when they are not whole rows.
  void add(std::span<const double> states);
  void add(std::span<const float> states);

  std::int64_t dimension() const { return static_cast<std::int64_t>(mean_.size()); }
  std::int64_t count() const { return count_; }
  const std::vector<double>& mean() const { return mean_; }
  // With the divisor count - 1; a usage Error for fewer than two states.
  std::vector<double> covariance() const;

  // All that it knows as numbers, and back; a usage Error when there are too few or too many.
  std::vector<double> save() const;
  void load(std::span<const double> saved);

 private:
  template <class T>
  void add_block(std::span<const T> states);

  std::int64_t count_ = 0;
  std::vector<double> mean_, scatter_;
};

// KL(N(m, S) || N(mean, covariance)) for the mean m and covariance S of the states:
//   1/2 (log(det covariance / det S) - d + tr(S P) + (mean - m)' P (mean - m)),  P = covariance^-1
// Infinite when S is singular, as it is for d states or fewer. Throws a usage Error when the sizes
// do not fit, a data Error when the target's covariance is not positive definite.
double gaussian_kl(const PooledMoments& states, std::span<const double> mean,
                   std::span<const double> covariance);

}  // namespace whorl
