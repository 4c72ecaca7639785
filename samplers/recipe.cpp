#include "samplers/recipe.hpp"

#include <algorithm>
#include <cmath>

#include "autodiff/coordinate.hpp"
#include "autodiff/tape.hpp"
#include "engine/algorithms.hpp"
#include "engine/ops.hpp"

namespace whorl {

namespace {

bool depends_on(Value f, Value x) { return needed_for(*f.graph, {f.id})[x.id]; }

// a + b, where an empty Value is zero.
Value plus(Value a, Value b) {
  if (!a || !b) return a ? a : b;
  return a + b;
}

// The entries of D + Q at one state, and what follows from them.
class Derivation {
 public:
  Derivation(StepBuilder& step, const Dynamics& dynamics, const State& state)
      : step_(step), dynamics_(dynamics), state_(state) {
    const Shape shape{step.size()};
    for (std::size_t k = 0; k < state.z.size(); ++k)
      point_.variables[name(k)] = stop_gradient(broadcast(state.z[k], shape));
    point_.energy = stop_gradient(broadcast(state.energy, shape));
    point_.gradient = stop_gradient(state.gradient);
    if (step.prior()) {
      point_.prior = stop_gradient(broadcast(step.prior(), shape));
      point_.prior_gradient = stop_gradient(step.prior_gradient());
    }
    collect(dynamics.matrices(step, point_));
  }

  Terms terms(std::size_t a) const {
    Terms terms;
    Value sum;  // sum_b (D + Q)_ab dH/dz_b
    for (const Entry& entry : entries_) {
      if (entry.row != a) continue;
      sum = plus(sum, reduced(a, entry.value * energy_gradient(entry.column)));
      terms.correction = plus(terms.correction, divergence(entry));
      if (entry.column == 0) terms.by_gradient = entry.value;
      if (entry.column == a) terms.diffusion = entry.value;
    }
    if (sum) terms.force = -sum;
    // A variable that the chain has once gets the noise of all coordinates.
    if (terms.by_gradient && per_chain(a))
      terms.by_gradient = sqrt(whorl::sum(square(terms.by_gradient)));
    return terms;
  }

 private:
  struct Entry {
    std::size_t row, column;
    Value value;
  };

  const std::string& name(std::size_t k) const {
    static const std::string position = "position";
    return k == 0 ? position : dynamics_.variables[k - 1].name;
  }
  bool per_chain(std::size_t k) const { return k > 0 && dynamics_.variables[k - 1].per_chain; }

  std::size_t variable(std::string_view wanted) const {
    for (std::size_t k = 0; k < state_.z.size(); ++k)
      if (name(k) == wanted) return k;
    graph_error("recipe", "D or Q has an entry for '{}', which is no variable of the sampler",
                wanted);
  }

  void collect(const Matrices& matrices) {
    for (const DiffusionEntry& entry : matrices.diffusion) {
      const std::size_t a = variable(entry.variable);
      const std::string label = fmt::format("D[{0}][{0}]", name(a));
      check_type(label, entry.value, per_chain(a) ? Shape{} : Shape{step_.size()});
      if (!proven_non_negative(entry.value))
        graph_error("recipe",
                    "{} must not be negative, and {} is not seen to be so; end it with softplus, "
                    "square, exp, abs, relu or a clamp from 0",
                    label, entry.value.graph->label(entry.value.id));
      add(label, {a, a, entry.value});
    }
    for (const CurlEntry& entry : matrices.curl) {
      const std::size_t a = variable(entry.row), b = variable(entry.column);
      const std::string label = fmt::format("Q[{}][{}]", name(a), name(b));
      if (a == b) graph_error("recipe", "{} must be zero: Q is antisymmetric", label);
      if (per_chain(a) && per_chain(b))
        graph_error("recipe", "{} couples two variables that a chain has once", label);
      check_type(label, entry.value, {step_.size()});
      add(label, {a, b, entry.value});
      entries_.push_back({b, a, -entry.value});
    }
  }

  void add(std::string_view label, const Entry& entry) {
    for (const Entry& other : entries_)
      if (other.row == entry.row && other.column == entry.column)
        graph_error("recipe", "{} is given twice", label);
    entries_.push_back(entry);
  }

  void check_type(std::string_view label, Value value, const Shape& shape) const {
    const Type wanted{step_.dtype(), shape};
    if (value.type() != wanted)
      graph_error("recipe", "{} is {}, expected {}", label, to_string(value.type()),
                  to_string(wanted));
  }

  // exp(-U - K) has the marginal exp(-U) only if exp(-K) integrates to the same everywhere.
  void check_kinetic(Value kinetic, const std::map<std::string, Value, std::less<>>& z) const {
    const Graph& graph = *kinetic.graph;
    if (depends_on(kinetic, z.at("position")))
      graph_error("recipe",
                  "the kinetic energy depends on the position: the law of the position would then "
                  "be exp(-U) times the integral of exp(-K)");
    NodeId first = kinetic.id;
    for (const auto& [variable, value] : z) first = std::min(first, value.id);
    const std::vector<char> needed = needed_for(graph, {kinetic.id});
    for (NodeId id = first; id <= kinetic.id; ++id)
      if (needed[id] && graph.op(id).is(Traits::stops_gradient))
        graph_error("recipe", "{} hides a part of the kinetic energy from dK/dp", graph.label(id));
  }

  // dH/dz_b; of the position it is the stochastic gradient.
  Value energy_gradient(std::size_t b) const {
    if (b == 0) return state_.gradient;
    if (!dynamics_.kinetic) return state_.z[b];
    // Nodes of their own, because a variable that has moved may depend on another one, and the
    // derivative is a partial one.
    std::map<std::string, Value, std::less<>> z;
    for (std::size_t k = 0; k < state_.z.size(); ++k) z[name(k)] = state_.z[k] + 0.0;
    const Value kinetic = dynamics_.kinetic(z);
    check_kinetic(kinetic, z);
    return gradient(kinetic, z.at(name(b)), {.allow_unused = true});
  }

  // A variable that the chain has once feels all coordinates.
  Value reduced(std::size_t a, Value value) const {
    return per_chain(a) && value.shape().rank() > 0 ? sum(value) : value;
  }

  // d/dz_b of the entry (a, b): its part of Gamma_a.
  Value divergence(const Entry& entry) const {
    Value result;
    const auto by = [&](Value x, Value factor) {
      if (!depends_on(entry.value, x)) return;
      const Value slope = coordinate_derivative(entry.value, x);
      result = plus(result, factor ? slope * factor : slope);
    };
    if (entry.value.shape().rank() == 0) {
      if (depends_on(entry.value, point_.variables.at(name(entry.row))))
        graph_error("recipe", "D[{0}][{0}] depends on {0}, which a chain has once",
                    name(entry.row));
      return {};
    }
    by(point_.variables.at(name(entry.column)), {});
    if (entry.column == 0) {
      if (depends_on(entry.value, point_.gradient) ||
          (point_.prior && depends_on(entry.value, point_.prior_gradient)))
        graph_error("recipe",
                    "{0}[{1}][position] depends on the gradient: Gamma_{1} = d {0} / d position "
                    "would need the Hessian of the energy",
                    entry.row == 0 ? "D" : "Q", name(entry.row));
      by(point_.energy, point_.gradient);
      if (point_.prior) by(point_.prior, point_.prior_gradient);
    }
    return result ? reduced(entry.row, result) : result;
  }

  StepBuilder& step_;
  const Dynamics& dynamics_;
  const State& state_;
  Point point_;
  std::vector<Entry> entries_;
};

}  // namespace

Value moved(StepBuilder& step, const RecipeOptions& options, const Terms& terms, Value z,
            std::size_t k, std::string_view name) {
  const Value eta = step.step_size();
  Value drift = terms.force;
  if (terms.correction && options.temperature > 0)
    drift = plus(drift, options.temperature == 1 ? terms.correction
                                                 : options.temperature * terms.correction);
  Value next = drift ? z + eta * drift : z;
  if (!terms.diffusion || options.temperature == 0) return next;

  Value variance = 2 * options.temperature * eta * terms.diffusion;
  if (options.noise_estimate > 0 && terms.by_gradient)
    variance = variance - square(eta * terms.by_gradient) * options.noise_estimate;
  Value scale = sqrt(variance);
  if (options.noise_estimate > 0) scale = assert_finite(scale);
  step.graph().set_name(scale.id, fmt::format("{}/noise_scale", name));
  return next + scale * step.normal(z.type(), Streams::noise + static_cast<std::int64_t>(k));
}

void check(const RecipeOptions& options) {
  if (!(options.temperature >= 0) || options.temperature > 1e6)
    fail(ErrorKind::usage, "sampler", "the temperature must be in [0, 1e6]: {}",
         options.temperature);
  if (!(options.noise_estimate >= 0) || !std::isfinite(options.noise_estimate))
    fail(ErrorKind::usage, "sampler", "the noise estimate must be finite and not negative: {}",
         options.noise_estimate);
}

Recipe complete_recipe(Dynamics dynamics) {
  std::vector<Variable> variables = dynamics.variables;
  return {std::move(variables),
          [dynamics = std::move(dynamics)](StepBuilder& step, const State& state, std::size_t k) {
            return Derivation(step, dynamics, state).terms(k);
          }};
}

Step recipe_step(const Energy& energy, const Recipe& recipe, const RecipeOptions& options) {
  check(options);
  StepBuilder step(energy, options.gradient);
  State old{{step.position()}, step.energy(), step.gradient()};
  for (const Variable& variable : recipe.variables)
    old.z.push_back(step.state(variable.name, variable.per_chain ? step.scalar() : step.vector(),
                               variable.start));

  // Momentum, position, others; without a momentum the position alone.
  std::vector<std::size_t> order;
  if (old.z.size() > 1) order.push_back(1);
  order.push_back(0);
  for (std::size_t k = 2; k < old.z.size(); ++k) order.push_back(k);

  State current = old;
  std::vector<Value> next = old.z;
  for (std::size_t k : order) {
    const std::string name = k == 0 ? "position" : recipe.variables[k - 1].name;
    next[k] = moved(step, options, recipe.terms(step, current, k), old.z[k], k, name);
    if (options.integrator == Integrator::semi_implicit) current.z[k] = next[k];
  }
  for (std::size_t k = 0; k < next.size(); ++k)
    step.update(k == 0 ? "position" : recipe.variables[k - 1].name, next[k]);
  return step.finish();
}

}  // namespace whorl
