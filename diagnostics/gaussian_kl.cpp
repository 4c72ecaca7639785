#include "diagnostics/gaussian_kl.hpp"

#include <limits>
#include <optional>

#include "engine/evaluate.hpp"
#include "engine/ops.hpp"

namespace whorl {

namespace {

// log det of a symmetric matrix, or nothing when it is not positive definite.
std::optional<double> log_determinant_of(const Tensor& matrix) {
  Graph graph;
  const Value value = log_determinant(constant(graph, matrix));
  try {
    return evaluate(graph, {}, {value.id}).front().at(0);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numeric) throw;
    return std::nullopt;
  }
}

// The sum of the diagonal of covariance^-1 b.
double trace_of_solution(const Tensor& covariance, const Tensor& b) {
  Graph graph;
  const Value x = symmetric_solve(constant(graph, covariance), constant(graph, b));
  const Tensor solution = evaluate(graph, {}, {x.id}).front();
  double trace = 0;
  const std::int64_t d = b.shape()[0];
  for (std::int64_t i = 0; i < d; ++i) trace += solution.at(i * (d + 1));
  return trace;
}

// scatter += x' x for x [4, d].
void add_squares(const double* x, std::size_t d, double* scatter) {
  const double *a = x, *b = x + d, *c = x + 2 * d, *e = x + 3 * d;
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < d; ++j)
      scatter[i * d + j] += (a[i] * a[j] + b[i] * b[j]) + (c[i] * c[j] + e[i] * e[j]);
}

}  // namespace

PooledMoments::PooledMoments(std::int64_t dimension) {
  if (dimension < 1)
    fail(ErrorKind::usage, "pooled_moments", "the dimension is {}; expected at least 1", dimension);
  const std::size_t d = static_cast<std::size_t>(dimension);
  mean_.assign(d, 0.0);
  scatter_.assign(d * d, 0.0);
}

void PooledMoments::add(std::span<const double> states) { add_block(states); }
void PooledMoments::add(std::span<const float> states) { add_block(states); }

template <class T>
void PooledMoments::add_block(std::span<const T> states) {
  const std::size_t d = mean_.size(), rows = states.size() / d;
  if (rows * d != states.size())
    fail(ErrorKind::usage, "pooled_moments",
         "the states have {} numbers; expected a multiple of the dimension {}", states.size(), d);
  if (rows == 0) return;
  std::vector<double> mean(d, 0.0), delta(d);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t i = 0; i < d; ++i) mean[i] += states[r * d + i];
  for (double& m : mean) m /= static_cast<double>(rows);

  const auto add_square = [&](double weight) {
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j) scatter_[i * d + j] += weight * delta[i] * delta[j];
  };
  // Four states at a time: the matrix is then loaded and stored a quarter as often.
  std::size_t r = 0;
  for (std::vector<double> four(4 * d); r + 4 <= rows; r += 4) {
    for (std::size_t k = 0; k < 4; ++k)
      for (std::size_t i = 0; i < d; ++i) four[k * d + i] = states[(r + k) * d + i] - mean[i];
    add_squares(four.data(), d, scatter_.data());
  }
  for (; r < rows; ++r) {
    for (std::size_t i = 0; i < d; ++i) delta[i] = states[r * d + i] - mean[i];
    add_square(1);
  }
  const double before = static_cast<double>(count_), block = static_cast<double>(rows);
  for (std::size_t i = 0; i < d; ++i) delta[i] = mean[i] - mean_[i];
  add_square(before * block / (before + block));
  for (std::size_t i = 0; i < d; ++i) mean_[i] += delta[i] * (block / (before + block));
  count_ += static_cast<std::int64_t>(rows);
}

std::vector<double> PooledMoments::covariance() const {
  if (count_ < 2)
    fail(ErrorKind::usage, "pooled_moments", "{} states have no covariance; expected at least 2",
         count_);
  std::vector<double> result = scatter_;
  for (double& v : result) v /= static_cast<double>(count_ - 1);
  return result;
}

std::vector<double> PooledMoments::save() const {
  std::vector<double> saved{static_cast<double>(count_)};
  saved.insert(saved.end(), mean_.begin(), mean_.end());
  saved.insert(saved.end(), scatter_.begin(), scatter_.end());
  return saved;
}

void PooledMoments::load(std::span<const double> saved) {
  const std::size_t expected = 1 + mean_.size() + scatter_.size();
  if (saved.size() != expected)
    fail(ErrorKind::usage, "pooled_moments", "{} numbers were saved, expected {}", saved.size(),
         expected);
  count_ = static_cast<std::int64_t>(saved[0]);
  const auto means = saved.subspan(1, mean_.size());
  const auto scatters = saved.subspan(1 + mean_.size());
  std::copy(means.begin(), means.end(), mean_.begin());
  std::copy(scatters.begin(), scatters.end(), scatter_.begin());
}

double gaussian_kl(const PooledMoments& states, std::span<const double> mean,
                   std::span<const double> covariance) {
  const std::size_t d = states.mean().size();
  if (mean.size() != d || covariance.size() != d * d)
    fail(ErrorKind::usage, "gaussian_kl",
         "the target's mean has {} numbers and its covariance {}; expected {} and {}", mean.size(),
         covariance.size(), d, d * d);
  const Shape square{states.dimension(), states.dimension()};
  const Tensor target = Tensor::of<double>(square, covariance);
  const std::optional<double> target_determinant = log_determinant_of(target);
  if (!target_determinant)
    fail(ErrorKind::data, "gaussian_kl", "the target's covariance is not positive definite");
  if (states.count() <= states.dimension()) return std::numeric_limits<double>::infinity();
  Tensor found = Tensor::of<double>(square, std::span<const double>(states.covariance()));
  const std::optional<double> determinant = log_determinant_of(found);
  if (!determinant) return std::numeric_limits<double>::infinity();

  // x' A x is the trace of A x x', so both terms are traces of one solution.
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < d; ++j)
      found.data<double>()[i * d + j] +=
          (mean[i] - states.mean()[i]) * (mean[j] - states.mean()[j]);
  return 0.5 * (*target_determinant - *determinant - static_cast<double>(d) +
                trace_of_solution(target, found));
}

}  // namespace whorl
