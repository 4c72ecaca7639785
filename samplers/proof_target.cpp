#include "samplers/proof_target.hpp"

#include <cmath>

#include "engine/ops.hpp"
#include "engine/random.hpp"

namespace whorl {

namespace {

using Kind = TestTarget::Kind;

constexpr double heavy_side = 0.65;  // the probability of s = 1

double centre(std::int64_t i) { return 0.4 * std::cos(2.0 * static_cast<double>(i)); }

// L; what it holds below the diagonal has row norms below 0.6 in any number of dimensions.
double factor(std::int64_t i, std::int64_t j) {
  if (j > i) return 0;
  if (j == i) return 0.9 + 0.3 * std::sin(1.0 + 1.7 * static_cast<double>(i));
  return 0.8 / std::sqrt(static_cast<double>(i)) *
         std::cos(1.3 * static_cast<double>(i) + 0.7 * static_cast<double>(j));
}

double half_distance(std::int64_t i, std::int64_t size) {
  return 1.2 * std::cos(0.5 * static_cast<double>(i)) / std::sqrt(static_cast<double>(size));
}

Tensor vector_of(std::int64_t size, const auto& element) {
  Tensor result({DType::f64, {size}});
  for (std::int64_t i = 0; i < size; ++i) result.data<double>()[i] = element(i);
  return result;
}

// Gaussian: |L^-1 (x - mu)|^2 / 2. Mixture: |y|^2 / 2 - log(w e^t + (1 - w) e^-t), t = m . y,
// with y = x - mu, up to a constant. The prior is |x|^2 / 4, and the likelihood the rest.
Graph energy_graph(Kind kind, std::int64_t size) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {size}}, "parameter");
  const Value y = x - constant(graph, vector_of(size, centre));
  Value u;
  if (kind == Kind::gaussian) {
    Tensor l({DType::f64, {size, size}});
    for (std::int64_t i = 0; i < size; ++i)
      for (std::int64_t j = 0; j < size; ++j) l.data<double>()[i * size + j] = factor(i, j);
    const Value white = triangular_solve(constant(graph, l), reshape(y, Shape{size, 1}));
    u = 0.5 * sum(square(white));
  } else {
    const Value m =
        constant(graph, vector_of(size, [&](std::int64_t i) { return half_distance(i, size); }));
    const Value t = sum(y * m);
    u = 0.5 * sum(square(y)) + t - softplus(2 * t + std::log(heavy_side / (1 - heavy_side)));
  }
  const Value prior = 0.25 * sum(square(x));
  graph.add_output("prior", prior.id);
  graph.add_output("likelihood", (u - prior).id);
  return graph;
}

}  // namespace

TestTarget::TestTarget(Kind kind, std::int64_t size)
    : kind_(kind), size_(size), energy_(energy_graph(kind, size)) {}

std::string TestTarget::name() const {
  return fmt::format("{}, d = {}", kind_ == Kind::gaussian ? "gaussian" : "mixture", size_);
}

Table TestTarget::draw(std::int64_t rows, std::uint64_t seed, double wider) const {
  const Table xi = normal_table(rows, size_, seed, ProofStreams::position);
  Table result(rows, size_);
  for (std::int64_t r = 0; r < rows; ++r) {
    const RandomCoordinates at{seed, ProofStreams::side, 0, static_cast<std::uint32_t>(r)};
    const double side = uniform(at, 0) < heavy_side ? 1 : -1;
    for (std::int64_t i = 0; i < size_; ++i) {
      double x = 0;
      if (kind_ == Kind::gaussian)
        for (std::int64_t j = 0; j <= i; ++j) x += factor(i, j) * xi.row(r)[j];
      else
        x = side * half_distance(i, size_) + xi.row(r)[i];
      result.row(r)[i] = centre(i) + wider * x;
    }
  }
  return result;
}

Table normal_table(std::int64_t rows, std::int64_t columns, std::uint64_t seed,
                   std::uint32_t stream) {
  Table result(rows, columns);
  fill_normal<double>({.seed = seed, .stream = stream}, 0, result.values);
  return result;
}

}  // namespace whorl
