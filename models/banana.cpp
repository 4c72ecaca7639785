#include "models/banana.hpp"

#include <cmath>
#include <numbers>

#include "engine/ops.hpp"
#include "engine/random.hpp"
#include "models/gaussian.hpp"

namespace whorl {

Banana::Banana(double scale, double bend) : scale_(scale), bend_(bend) {
  if (!(scale > 0) || !std::isfinite(scale) || !std::isfinite(bend))
    fail(ErrorKind::data, "banana",
         "the scale is {} and the bend {}; expected a positive number and a finite one", scale,
         bend);
}

Value Banana::energy(Value theta) const {
  const Shape& shape = theta.shape();
  if (!is_float(theta.dtype()) || shape.rank() < 1 || shape.rank() > 2 ||
      shape[shape.rank() - 1] != 2)
    graph_error("banana", "the state is {}; expected a floating-point [2] or rows of it",
                to_string(theta.type()));
  const auto coordinate = [&](std::int64_t i) { return sum(slice(theta, -1, i, i + 1), {-1}); };
  const Value along = square(coordinate(0));
  const Value across = coordinate(1) - bend_ * (along - scale_ * scale_);
  return 0.5 / (scale_ * scale_) * along + 0.5 * square(across) +
         std::log(2 * std::numbers::pi * scale_);
}

Tensor Banana::draw(std::int64_t count, std::uint64_t seed) const {
  Tensor draws({DType::f64, {count, 2}});
  fill_normal<double>({.seed = seed, .stream = banana_draw_stream}, 0, draws.values<double>());
  for (std::int64_t row = 0; row < count; ++row) {
    double* x = draws.data<double>() + 2 * row;
    x[0] *= scale_;
    x[1] += bend_ * (x[0] * x[0] - scale_ * scale_);
  }
  return draws;
}

}  // namespace whorl
