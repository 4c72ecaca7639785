#include "samplers/proof_equation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autodiff/tape.hpp"
#include "engine/ops.hpp"
#include "engine/passes.hpp"
#include "samplers/proof_target.hpp"

namespace whorl {

namespace {

// H at the state: the energy again, this time differentiable, and the kinetic part.
Value total_energy(StepBuilder& step, const Dynamics& dynamics, const State& state) {
  const Value u = step.energy_at(state.z[0]).first;
  if (dynamics.kinetic) {
    std::map<std::string, Value, std::less<>> z{{"position", state.z[0]}};
    for (std::size_t k = 1; k < state.z.size(); ++k) z[dynamics.variables[k - 1].name] = state.z[k];
    return u + dynamics.kinetic(z);
  }
  Value h = u;
  for (std::size_t k = 1; k < state.z.size(); ++k) h = h + 0.5 * sum(square(state.z[k]));
  return h;
}

// D and Q, straight from the dynamics.
Matrices matrices_at(StepBuilder& step, const Dynamics& dynamics, const State& state) {
  const Shape shape{step.size()};
  Point point;
  for (std::size_t k = 0; k < state.z.size(); ++k)
    point.variables[k == 0 ? "position" : dynamics.variables[k - 1].name] =
        broadcast(state.z[k], shape);
  point.energy = broadcast(state.energy, shape);
  point.gradient = state.gradient;
  if (step.prior()) {
    point.prior = broadcast(step.prior(), shape);
    point.prior_gradient = step.prior_gradient();
  }
  return dynamics.matrices(step, point);
}

}  // namespace

Feeds shared_feeds(const Step& step) {
  Feeds feeds{{"seed", Tensor({DType::i32, {2}})},
              {"step", Tensor({DType::i32, {}})},
              {"step_size", Tensor::scalar(0.0)}};
  for (const StepParameter& parameter : step.parameters)
    feeds.emplace(parameter.name, parameter.value);
  return feeds;
}

double QuadraticLaw::deviation(std::int64_t i) const {
  const auto n = static_cast<std::int64_t>(mean.size());
  double variance = 0;
  for (std::int64_t j = 0; j < n; ++j)
    variance += std::pow(factor[static_cast<std::size_t>(i * n + j)], 2);
  return std::sqrt(variance);
}

Equation::Equation(const Energy& energy, const Dynamics& dynamics, const Recipe& recipe) {
  StepBuilder step(energy, {});
  State state{{step.position()}, step.energy(), step.gradient()};
  blocks_.push_back({"position", false, 0, step.size()});
  for (const Variable& variable : recipe.variables) {
    state.z.push_back(
        step.state(variable.name, variable.per_chain ? step.scalar() : step.vector()));
    blocks_.push_back(
        {variable.name, variable.per_chain, width(), variable.per_chain ? 1 : step.size()});
  }

  std::vector<std::string> inputs, moving, all;
  const auto keep = [&](std::string name, Value value, std::vector<std::string>& list) {
    if (!value) return;
    list.push_back(name);
    step.statistic(std::move(name), value);
  };
  const Value h = total_energy(step, dynamics, state);
  for (std::size_t k = 0; k < blocks_.size(); ++k) {
    const Terms terms = recipe.terms(step, state, k);
    Value drift = terms.force;
    if (terms.correction) drift = drift ? drift + terms.correction : terms.correction;
    inputs.push_back(blocks_[k].name);
    keep(fmt::format("drift.{}", k), drift, moving);
    keep(fmt::format("diffusion.{}", k), terms.diffusion, moving);
    keep(fmt::format("force.{}", k), terms.force, all);
    keep(fmt::format("correction.{}", k), terms.correction, all);
    keep(fmt::format("slope.{}", k), gradient(h, state.z[k], {.allow_unused = true}), all);
  }
  keep("total", h, all);

  const auto number_of = [&](std::string_view name) {
    return static_cast<std::size_t>(
        std::find_if(blocks_.begin(), blocks_.end(),
                     [&](const Block& block) { return block.name == name; }) -
        blocks_.begin());
  };
  const auto add_entry = [&](std::string_view row, std::string_view column, Value value) {
    const std::string name = fmt::format("entry.{}", entries_.size());
    entries_.push_back({number_of(row), number_of(column), 1, name});
    keep(name, value, all);
  };
  const Matrices matrices = matrices_at(step, dynamics, state);
  for (const DiffusionEntry& entry : matrices.diffusion)
    add_entry(entry.variable, entry.variable, entry.value);
  for (const CurlEntry& entry : matrices.curl) {
    add_entry(entry.row, entry.column, entry.value);
    const EntryPlace& there = entries_.back();
    entries_.push_back({there.column, there.row, -1, there.output});
  }

  // The terms are wanted, not a step: every variable stays where it is.
  for (std::size_t k = 0; k < blocks_.size(); ++k) step.update(blocks_[k].name, state.z[k]);
  const Step built = step.finish();
  const Feeds shared = shared_feeds(built);
  motion_.emplace(built.graph, inputs, shared, moving);
  all.insert(all.end(), moving.begin(), moving.end());
  everything_.emplace(built.graph, inputs, shared, all);

  Graph costed = built.graph;
  costed.clear_outputs();
  for (const Graph::Output& output : built.graph.outputs())
    if (std::find(moving.begin(), moving.end(), output.name) != moving.end())
      costed.add_output(output.name, output.node);
  cost_ = evaluation_cost(simplify(costed));
}

Tables Equation::split(const Table& z) const {
  Tables tables;
  for (const Block& block : blocks_) {
    Table& table = tables.emplace(block.name, Table(z.rows(), block.size)).first->second;
    for (std::int64_t r = 0; r < z.rows(); ++r)
      std::copy_n(z.row(r) + block.first, block.size, table.row(r));
  }
  return tables;
}

namespace {

// L with L L' = a, in place; false when a is not positive.
bool cholesky(std::vector<double>& a, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      if (i == j && !(sum > 0)) return false;
      a[i * n + j] = i == j ? std::sqrt(sum) : sum / a[j * n + j];
      if (j < i) a[j * n + i] = 0;
    }
  return true;
}

// The inverse of the transpose of a lower triangular matrix.
std::vector<double> inverse_transpose(const std::vector<double>& l, std::size_t n) {
  std::vector<double> result(n * n, 0);  // row by row: result = (L^-1)'
  for (std::size_t c = 0; c < n; ++c)
    for (std::size_t i = c; i < n; ++i) {
      double sum = i == c ? 1 : 0;
      for (std::size_t k = c; k < i; ++k) sum -= l[i * n + k] * result[c * n + k];
      result[c * n + i] = sum / l[i * n + i];
    }
  return result;
}

}  // namespace

// With K = H - U: grad K is affine exactly when K is quadratic. It is read off at 0 and at the unit
// vectors, and must then hold at other points, whatever the position.
std::optional<QuadraticLaw> Equation::quadratic_law() {
  const std::int64_t first = blocks_[0].size, n = width() - first;
  const auto count = static_cast<std::size_t>(n);
  QuadraticLaw law{std::vector<double>(count), std::vector<double>(count * count)};
  if (n == 0) return law;

  constexpr std::int64_t probes = 30;
  Table z = normal_table(1 + n + probes, width(), 0, ProofStreams::others);
  for (std::int64_t r = 0; r <= n; ++r) {
    std::fill_n(z.row(r) + first, n, 0.0);
    if (r > 0) z.row(r)[first + r - 1] = 1;
  }
  const Tables values = everything(z);
  Table slopes(z.rows(), n);
  for (std::size_t k = 1; k < blocks_.size(); ++k)
    for (std::int64_t r = 0; r < z.rows(); ++r)
      std::copy_n(values.at(fmt::format("slope.{}", k)).row(r), blocks_[k].size,
                  slopes.row(r) + blocks_[k].first - first);

  std::vector<double> curvature(count * count);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      curvature[static_cast<std::size_t>(i * n + j)] = slopes.row(1 + j)[i] - slopes.row(0)[i];
  for (std::int64_t r = 1 + n; r < z.rows(); ++r)
    for (std::int64_t i = 0; i < n; ++i) {
      double affine = slopes.row(0)[i], size = 1 + std::abs(affine);
      for (std::int64_t j = 0; j < n; ++j) {
        const double part = curvature[static_cast<std::size_t>(i * n + j)] * z.row(r)[first + j];
        affine += part;
        size += std::abs(part);
      }
      if (!(std::abs(slopes.row(r)[i] - affine) <= 1e-10 * size)) return {};
    }

  // Covariance C^-1 = F F' with F = L^-T for C = L L'; mean -C^-1 grad K(0).
  if (!cholesky(curvature, count)) return {};
  law.factor = inverse_transpose(curvature, count);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t j = 0; j < count; ++j)
        law.mean[i] -= law.factor[i * count + k] * law.factor[j * count + k] * slopes.row(0)[j];
  return law;
}

double Equation::least_growth() {
  const std::int64_t first = blocks_[0].size, n = width() - first;
  Table z(1 + 2 * n, width());
  for (std::int64_t i = 0; i < n; ++i) {
    z.row(1 + 2 * i)[first + i] = 50;
    z.row(2 + 2 * i)[first + i] = -50;
  }
  const Tables values = everything(z);
  const Table& total = values.at("total");
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t r = 1; r < z.rows(); ++r)
    least = std::min(least, total.row(r)[0] - total.row(0)[0]);
  return least;
}

}  // namespace whorl
