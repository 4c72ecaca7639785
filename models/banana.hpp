// Banana: a Gaussian in the plane, bent by a map that keeps areas.
//
//   x_1 = scale z_1,  x_2 = z_2 + bend (x_1^2 - scale^2)        z ~ N(0, I)
//   U(x) = x_1^2 / (2 scale^2) + (x_2 - bend (x_1^2 - scale^2))^2 / 2 + log(2 pi scale)
//
// Its mean is 0, the variances are scale^2 and 1 + 2 bend^2 scale^4, and the coordinates are
// uncorrelated but far from independent.
// Thread safety: as for Gaussian.
#pragma once

#include <cstdint>

#include "engine/graph.hpp"
#include "engine/tensor.hpp"

namespace whorl {

class Banana {
 public:
  // Throws a data Error when the scale is not a positive number or the bend not a number.
  explicit Banana(double scale = 2, double bend = 0.25);

  // U of theta [2], a scalar, or of theta [K,2], one number a row.
  Value energy(Value theta) const;
  // Independent draws, f64 [count, 2], from the stream banana_draw_stream of `seed`.
  Tensor draw(std::int64_t count, std::uint64_t seed) const;

 private:
  double scale_, bend_;
};

}  // namespace whorl
