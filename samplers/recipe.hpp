// The complete recipe of Ma, Chen and Fox (2015): from H, D and Q to a sampler.
//
// The state is z = (position theta, momentum p, other variables such as thermostats), its
// stationary law is exp(-H(z)/T) with H(z) = U(theta) + kinetic(p, ...), and
//
//   dz = [-(D(z) + Q(z)) dH/dz + T Gamma(z)] dt + sqrt(2 T D(z)) dW,
//   Gamma_a(z) = sum_b d/dz_b (D_ab(z) + Q_ab(z)),
//
// with D positive semidefinite and Q antisymmetric. Whoever writes D and Q gets the right Gamma: it
// is derived by coordinate_derivative from the very nodes that the step uses, clamps included.
//
// D and Q act coordinate by coordinate: D is diagonal, and Q couples coordinate i of one variable
// with coordinate i of another, or with a variable that the chain has only once (per_chain). They
// may look at the variables, the energy U and the stochastic gradient g, and where the energy tells
// it apart at the prior's part of both. U depends on theta, with derivative g. The derivative of g
// would be a Hessian: an entry whose Gamma needs d/dtheta must not depend on g, and is refused with
// the formula named.
//
// What D and Q look at is inside stop_gradient: a meta-gradient flows through their parameters and
// through the places where the step itself uses the state, not through their inputs.
// Thread safety: free functions; a Graph is changed by one thread at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "samplers/step.hpp"

namespace whorl {

// A variable beside the position.
struct Variable {
  std::string name;
  bool per_chain = false;  // one number for a chain, instead of one for each coordinate
  Start start = {};
};

// What D and Q may look at: nodes of shape [n] inside stop_gradient, also where the value is one
// number for the chain.
struct Point {
  std::map<std::string, Value, std::less<>> variables;  // "position" and the others
  Value energy;                                         // U
  Value gradient;                                       // g, the stochastic gradient of U
  // -log p(theta) and its gradient; empty where the energy does not tell the prior apart.
  Value prior = {}, prior_gradient = {};
};

struct CurlEntry {
  std::string row, column;  // names of variables
  Value value;              // Q[row][column]; Q[column][row] is its negative
};
struct DiffusionEntry {
  std::string variable;
  Value value;  // D[variable][variable]; [n], or [] for a per_chain variable
};
struct Matrices {
  std::vector<CurlEntry> curl;
  std::vector<DiffusionEntry> diffusion;
};

struct Dynamics {
  std::vector<Variable> variables;  // the momentum first, when there is one
  // Appends the entries that are not zero. `step` gives access to the sampler's parameters.
  std::function<Matrices(StepBuilder& step, const Point&)> matrices;
  // H - U as a scalar of all variables, by name; empty: half the squares of all but the position.
  std::function<Value(const std::map<std::string, Value, std::less<>>&)> kinetic = {};
};

// Where the terms of the equation are wanted.
struct State {
  std::vector<Value> z;  // the position, then the variables, in their order
  Value energy;          // a scalar
  Value gradient;        // [n], stochastic
};

// The terms of one variable's equation; an empty Value is zero.
struct Terms {
  Value force;        // -sum_b (D + Q)_ab dH/dz_b
  Value correction;   // Gamma_a
  Value diffusion;    // D_aa
  Value by_gradient;  // (D + Q)_a,theta: how strongly the gradient's noise enters
};

// What an integrator needs of a sampler: the terms of variable k (0 is the position) at a state.
struct Recipe {
  std::vector<Variable> variables;
  std::function<Terms(StepBuilder& step, const State& state, std::size_t k)> terms;
};

// Derives the terms from D and Q. Throws a graph Error, when the terms are made, that names the
// entry and the formula that it breaks.
Recipe complete_recipe(Dynamics dynamics);

enum class Integrator {
  // The first variable moves first, then the position with its new value, then the others with all
  // new values; U and g stay those of the old position.
  semi_implicit,
  // All terms at the old state.
  euler
};

struct RecipeOptions {
  Integrator integrator = Integrator::semi_implicit;
  double temperature = 1;  // T
  // An estimate V of the variance of the gradient's noise. It already heats variable a by
  // eta^2 B with B = (D + Q)_a,theta^2 V, so only 2 eta T D - eta^2 B is added. Where that is
  // negative, a run throws a numeric Error that names the node VARIABLE/noise_scale.
  double noise_estimate = 0;
  GradientSource gradient = {};
};

// Throws a usage Error that names the number which is out of range.
void check(const RecipeOptions& options);

// The new value of variable k (0 is the position), whose value is z:
//   z' = z + eta (force + T Gamma) + sqrt(2 eta T D - eta^2 B) N(0, 1).
Value moved(StepBuilder& step, const RecipeOptions& options, const Terms& terms, Value z,
            std::size_t k, std::string_view name);

// Moves every variable so, in the order of the integrator.
Step recipe_step(const Energy& energy, const Recipe& recipe, const RecipeOptions& options = {});

// True when the value cannot be negative, judged by its ops alone: squares, exponentials, clamps at
// zero, their sums, products and quotients, ...
bool proven_non_negative(Value value);

}  // namespace whorl
