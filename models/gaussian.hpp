// Gaussian: the target N(mean, covariance), and covariances to try samplers on.
//
//   U(x) = 1/2 (x - mean)' P (x - mean) + 1/2 (d log 2 pi + log det covariance)
//
// with the precision P = covariance^-1, which is computed once, in f64. The energy takes one state
// [d] or rows of states [K,d], f32 or f64.
//
// Invariants: the covariance is symmetric and positive definite.
// Thread safety: immutable; energy() appends to the graph of its argument and needs that alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/graph.hpp"
#include "engine/tensor.hpp"

namespace whorl {

class Gaussian {
 public:
  // The covariance is d x d, row by row. Throws a data Error when the sizes do not fit, or when it
  // is not symmetric (to 1e-12 of its largest element) or not positive definite.
  Gaussian(std::span<const double> mean, std::span<const double> covariance);

  std::int64_t dimension() const { return mean_.elements(); }
  std::span<const double> mean() const { return mean_.values<double>(); }
  std::span<const double> covariance() const { return covariance_.values<double>(); }
  std::span<const double> precision() const { return precision_.values<double>(); }
  double log_determinant() const { return log_determinant_; }  // of the covariance
  double normaliser() const;                                   // U at the mean

  // U of theta [d], a scalar, or of theta [K,d], one number a row.
  Value energy(Value theta) const;
  // Independent draws, f64 [count, d], from the stream gaussian_draw_stream of `seed`.
  Tensor draw(std::int64_t count, std::uint64_t seed) const;

 private:
  Tensor mean_, covariance_, factor_, precision_;
  double log_determinant_ = 0;
};

// Every use of random numbers in models has a stream of its own.
inline constexpr std::uint32_t random_covariance_stream = 0x6d6f0001;
inline constexpr std::uint32_t diagonal_covariance_stream = 0x6d6f0002;
inline constexpr std::uint32_t gaussian_draw_stream = 0x6d6f0003;
inline constexpr std::uint32_t mixture_draw_stream = 0x6d6f0004;
inline constexpr std::uint32_t banana_draw_stream = 0x6d6f0005;

// L L' with L = scale * N(0,1), d x d: all directions, scales over several orders of magnitude.
std::vector<double> random_covariance(std::int64_t d, double scale, std::uint64_t seed);
// diag(range * Uniform(0,1)); a variance is at least range/1000, so that none is near zero.
std::vector<double> diagonal_covariance(std::int64_t d, double range, std::uint64_t seed);

}  // namespace whorl
