#include "models/regression.hpp"

#include <cmath>
#include <numbers>

#include "engine/evaluate.hpp"
#include "engine/ops.hpp"

namespace whorl {

namespace {

bool fits(const Shape& x, const Shape& y) { return x.rank() == 2 && y.rank() == 1 && x[0] == y[0]; }

void check_rows(std::string_view where, Value w, Value x, Value y) {
  if (!fits(x.shape(), y.shape()) || w.shape() != Shape{x.shape()[1]})
    graph_error(where, "the types do not fit: w={} x={} y={}; expected w [k], x [rows,k], y [rows]",
                to_string(w.type()), to_string(x.type()), to_string(y.type()));
}

}  // namespace

EnergyTerms LinearRegression::energy(Value w, Value x, Value y) const {
  check_rows("linear_regression", w, x, y);
  if (!(noise_sd > 0) || !std::isfinite(noise_sd))
    fail(ErrorKind::usage, "linear_regression",
         "the noise has the standard deviation {}; expected a positive number", noise_sd);
  const double constant = static_cast<double>(y.type().elements()) *
                          (std::log(noise_sd) + 0.5 * std::log(2 * std::numbers::pi));
  return {normal_prior(w, prior_sd),
          0.5 / (noise_sd * noise_sd) * sum(square(y - matmul(x, w))) + constant};
}

Gaussian LinearRegression::posterior(const Tensor& x, const Tensor& y) const {
  if (x.dtype() != DType::f64 || y.dtype() != DType::f64 || !fits(x.shape(), y.shape()))
    fail(ErrorKind::data, "linear_regression",
         "the types do not fit: x={} y={}; expected x f64[rows,k], y f64[rows]",
         to_string(x.type()), to_string(y.type()));
  const std::int64_t k = x.shape()[1];
  Tensor identity({DType::f64, {k, k}});
  for (std::int64_t i = 0; i < k; ++i) identity.data<double>()[i * (k + 1)] = 1;

  Graph graph;
  const Value rows = constant(graph, x), one = constant(graph, identity);
  const double data_weight = 1 / (noise_sd * noise_sd), prior_weight = 1 / (prior_sd * prior_sd);
  const Value precision = data_weight * matmul(rows, rows, true) + prior_weight * one;
  const Value inverse = symmetric_solve(precision, one);
  const Value covariance = 0.5 * (inverse + transpose(inverse));
  const Value pull = data_weight * matmul(transpose(rows), constant(graph, y));
  const std::vector<Tensor> values =
      evaluate(graph, {}, {symmetric_solve(precision, pull).id, covariance.id});
  return {values[0].values<double>(), values[1].values<double>()};
}

EnergyTerms LogisticRegression::energy(Value w, Value x, Value y) const {
  check_rows("logistic_regression", w, x, y);
  return {normal_prior(w, prior_sd), sum(bernoulli_cross_entropy(matmul(x, w), y))};
}

}  // namespace whorl
