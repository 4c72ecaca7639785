#include "losses/stein.hpp"

#include <cmath>
#include <limits>

#include "engine/ops.hpp"

namespace whorl {

namespace {

void check_points(std::string_view where, Value x) {
  if (!is_float(x.dtype()) || x.shape().rank() != 2 || x.shape()[0] < 2)
    graph_error(where,
                "the points are {}; expected a floating-point [points,coordinates] with at "
                "least 2 points",
                to_string(x.type()));
}

// The points around their centre. |x|^2 + |y|^2 - 2 x.y cancels where the cloud is far from the
// origin. The first point is taken off before the mean is: equal points become exact zeros.
Value centred(Value x) {
  const Value shifted = x - slice(x, 0, 0, 1);
  return shifted - mean(shifted, {0}, true);
}

Value on_diagonal(Graph& graph, std::int64_t size) {
  const Type index{DType::i32, {size, size}};
  return equal(iota(graph, index, 0), iota(graph, index, 1));
}

Value distances_of_centred(Value c) {
  const std::int64_t count = c.shape()[0];
  const Value norms = sum(square(c), {1});
  const Value raw = reshape(norms, Shape{count, 1}) + norms - 2.0 * matmul(c, c, false, true);
  return select(on_diagonal(*c.graph, count), fill_like(raw, 0), relu(raw));
}

// The median, or what stands for it in a cloud that has collapsed. Distances are known to a few eps
// of their mean; a median below that is noise. In a single point all distances are zero, the kernel
// is 1 and R is 0 for any width.
Value kernel_width(Value d2) {
  const double eps = d2.dtype() == DType::f32 ? std::numeric_limits<float>::epsilon()
                                              : std::numeric_limits<double>::epsilon();
  const Value middle = median(d2), average = mean(d2);
  const Value width = select(greater(middle, 64 * eps * average), middle, average);
  return select(equal(width, fill_like(width, 0)), fill_like(width, 1), width);
}

}  // namespace

Value squared_distances(Value x) {
  check_points("squared_distances", x);
  return distances_of_centred(centred(stop_gradient(x)));
}

Value stein_score(Value x, const SteinOptions& options) {
  check_points("stein_score", x);
  if (!(options.ridge > 0) || !std::isfinite(options.ridge))
    graph_error("stein_score", "the ridge is {}; expected a positive number", options.ridge);
  const Value c = centred(stop_gradient(x));
  const Value d2 = distances_of_centred(c);
  const Value width = kernel_width(d2);
  const Value kernel = exp(-(d2 / width));
  // R = (S - K) x / h with S the diagonal matrix of the sums of K's rows: no [K,K,n] anywhere. With
  // fewer coordinates than points R is the smaller right side; else the [K,K] matrix is, and leaves
  // one product with x.
  const Value diagonal = cast(on_diagonal(*x.graph, x.shape()[0]), x.dtype());
  const Value regular = kernel + options.ridge * diagonal;
  const Value sums = sum(kernel, {1}, true);
  if (x.shape()[1] < x.shape()[0])
    return symmetric_solve(regular, (matmul(kernel, c) - sums * c) / (0.5 * width));
  const Value weights = symmetric_solve(regular, kernel - sums * diagonal) / (0.5 * width);
  return matmul(weights, c);
}

}  // namespace whorl
