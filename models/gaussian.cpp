#include "models/gaussian.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/evaluate.hpp"
#include "engine/ops.hpp"
#include "engine/random.hpp"

namespace whorl {

namespace {

void check_symmetric(std::span<const double> a, std::size_t d) {
  double largest = 0;
  for (double v : a) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (!(std::abs(a[i * d + j] - a[j * d + i]) <= 1e-12 * largest))
        fail(ErrorKind::data, "gaussian",
             "the covariance is not symmetric: element ({},{}) is {} and ({},{}) is {}", i, j,
             a[i * d + j], j, i, a[j * d + i]);
}

}  // namespace

Gaussian::Gaussian(std::span<const double> mean, std::span<const double> covariance) {
  const std::size_t d = mean.size();
  if (d == 0 || covariance.size() != d * d)
    fail(ErrorKind::data, "gaussian",
         "the mean has {} numbers and the covariance {}; expected d and d*d", d, covariance.size());
  check_symmetric(covariance, d);
  const std::int64_t side = static_cast<std::int64_t>(d);
  mean_ = Tensor::of<double>({side}, mean);
  covariance_ = Tensor::of<double>({side, side}, covariance);
  Tensor identity({DType::f64, {side, side}});
  for (std::size_t i = 0; i < d; ++i) identity.data<double>()[i * (d + 1)] = 1;

  Graph graph;
  const Value a = constant(graph, covariance_);
  const Value factor = cholesky(a), inverse = symmetric_solve(a, constant(graph, identity));
  const Value determinant = whorl::log_determinant(a);
  try {
    std::vector<Tensor> values = evaluate(graph, {}, {factor.id, inverse.id, determinant.id});
    factor_ = values[0];
    precision_ = values[1];
    log_determinant_ = values[2].at(0);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numeric) throw;
    fail(ErrorKind::data, "gaussian", "the covariance, {} x {}, is not positive definite", d, d);
  }
}

double Gaussian::normaliser() const {
  return 0.5 *
         (static_cast<double>(dimension()) * std::log(2 * std::numbers::pi) + log_determinant_);
}

Value Gaussian::energy(Value theta) const {
  const Shape& shape = theta.shape();
  if (!is_float(theta.dtype()) || shape.rank() < 1 || shape.rank() > 2 ||
      shape[shape.rank() - 1] != dimension())
    graph_error("gaussian", "the state is {}; expected a floating-point [{}] or rows of it",
                to_string(theta.type()), dimension());
  const auto given = [&](const Tensor& x) {
    return cast(constant(*theta.graph, x), theta.dtype());
  };
  const Value delta = theta - given(mean_);
  return 0.5 * sum(delta * matmul(delta, given(precision_)), {-1}) + normaliser();
}

Tensor Gaussian::draw(std::int64_t count, std::uint64_t seed) const {
  const std::int64_t d = dimension();
  Tensor draws({DType::f64, {count, d}});
  std::vector<double> z(static_cast<std::size_t>(d));
  const double* l = factor_.data<double>();
  for (std::int64_t row = 0; row < count; ++row) {
    fill_normal<double>({.seed = seed, .stream = gaussian_draw_stream}, row * d, z);
    double* x = draws.data<double>() + row * d;
    for (std::int64_t i = 0; i < d; ++i) {
      x[i] = mean()[static_cast<std::size_t>(i)];
      for (std::int64_t j = 0; j <= i; ++j) x[i] += l[i * d + j] * z[static_cast<std::size_t>(j)];
    }
  }
  return draws;
}

std::vector<double> random_covariance(std::int64_t d, double scale, std::uint64_t seed) {
  const std::size_t side = static_cast<std::size_t>(d);
  std::vector<double> l(side * side), product(side * side, 0.0);
  fill_normal<double>({.seed = seed, .stream = random_covariance_stream}, 0, l);
  for (std::size_t i = 0; i < side; ++i)
    for (std::size_t j = 0; j < side; ++j)
      for (std::size_t k = 0; k < side; ++k)
        product[i * side + j] += scale * scale * l[i * side + k] * l[j * side + k];
  return product;
}

std::vector<double> diagonal_covariance(std::int64_t d, double range, std::uint64_t seed) {
  const std::size_t side = static_cast<std::size_t>(d);
  std::vector<double> u(side), diagonal(side * side, 0.0);
  fill_uniform<double>({.seed = seed, .stream = diagonal_covariance_stream}, 0, u);
  for (std::size_t i = 0; i < side; ++i) diagonal[i * (side + 1)] = range * std::max(u[i], 1e-3);
  return diagonal;
}

}  // namespace whorl
