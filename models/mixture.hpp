// GaussianMixture: weight * N_1 + (1 - weight) * N_2, a target with two modes.
//
//   U(x) = -log( weight exp(-U_1(x)) + (1 - weight) exp(-U_2(x)) )
//
// Thread safety: as for Gaussian.
#pragma once

#include "models/gaussian.hpp"

namespace whorl {

class GaussianMixture {
 public:
  // Throws a data Error unless 0 < weight < 1 and both parts have one dimension.
  GaussianMixture(double weight, Gaussian first, Gaussian second);

  std::int64_t dimension() const { return first_.dimension(); }
  double weight() const { return weight_; }
  const Gaussian& first() const { return first_; }
  const Gaussian& second() const { return second_; }

  // As for Gaussian; mixture_draw_stream decides which part a draw is of.
  Value energy(Value theta) const;
  Tensor draw(std::int64_t count, std::uint64_t seed) const;

 private:
  double weight_;
  Gaussian first_, second_;
};

}  // namespace whorl
