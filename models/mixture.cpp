#include "models/mixture.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/ops.hpp"
#include "engine/random.hpp"

namespace whorl {

GaussianMixture::GaussianMixture(double weight, Gaussian first, Gaussian second)
    : weight_(weight), first_(std::move(first)), second_(std::move(second)) {
  if (!(weight > 0 && weight < 1))
    fail(ErrorKind::data, "gaussian_mixture",
         "the weight of the first part is {}; expected a number between 0 and 1", weight);
  if (first_.dimension() != second_.dimension())
    fail(ErrorKind::data, "gaussian_mixture", "the dimensions of the parts differ: {} and {}",
         first_.dimension(), second_.dimension());
}

Value GaussianMixture::energy(Value theta) const {
  const Value parts = stack(
      {std::log(weight_) - first_.energy(theta), std::log1p(-weight_) - second_.energy(theta)});
  return -log_sum_exp(parts, {0});
}

Tensor GaussianMixture::draw(std::int64_t count, std::uint64_t seed) const {
  // Row i of either part is used, never both, so both may read the same normals.
  Tensor draws = first_.draw(count, seed);
  const Tensor others = second_.draw(count, seed);
  const std::int64_t d = dimension();
  for (std::int64_t row = 0; row < count; ++row)
    if (uniform({.seed = seed, .stream = mixture_draw_stream}, row) >= weight_)
      std::copy_n(others.data<double>() + row * d, d, draws.data<double>() + row * d);
  return draws;
}

}  // namespace whorl
