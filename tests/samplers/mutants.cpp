// Thirteen wrong samplers, each with one fault that a sampler's author could make. The proof must
// reject all of them; a change to it that lets one live has lost something.
#include <boost/test/unit_test.hpp>

#include "autodiff/coordinate.hpp"
#include "engine/ops.hpp"
#include "samplers/proof.hpp"

namespace whorl {

namespace {

constexpr double alpha = 0.3;

// Q = 1 + 0.6 tanh(.) of momentum and energy, D = alpha Q^2 + softplus(.): every part of Gamma is
// there, Gamma_theta = -dQ/dp and Gamma_p = dQ/dU g + d softplus/dp + 2 alpha Q dQ/dp.
Value free_curl(const Point& point) {
  return 1 + 0.6 * tanh(0.8 * point.variables.at("momentum") + 0.5 * point.energy - 0.5);
}
Value curl(const Point& point, bool clamped) {
  return clamped ? clamp(free_curl(point), 0.75, 1.35) : free_curl(point);
}
Value extra_diffusion(const Point& point) {
  return softplus(0.9 * point.variables.at("momentum") + 0.3 * point.gradient - 0.3 * point.energy);
}
Dynamics toy(bool clamped) {
  return {{{"momentum"}}, [clamped](StepBuilder&, const Point& point) {
            const Value q = curl(point, clamped);
            return Matrices{{{"momentum", "position", q}},
                            {{"momentum", alpha * square(q) + extra_diffusion(point)}}};
          }};
}

// Factors on the parts of Gamma and on the variance of the noise; 1 is right.
struct Mutant {
  std::string name;
  double by_momentum = 1;   // Gamma_theta = -dQ/dp
  double by_position = 1;   // dQ/dtheta
  double of_diffusion = 1;  // d softplus / dp
  double of_alpha = 1;      // d alpha Q^2 / dp
  double noise = 1;
  bool clamped = false;          // Q
  bool unclamped_gamma = false;  // Gamma of the Q before its clamp
};

Recipe recipe_of(const Mutant& mutant) {
  Recipe recipe = complete_recipe(toy(mutant.clamped));
  const auto right = recipe.terms;
  recipe.terms = [=](StepBuilder& step, const State& state, std::size_t k) {
    Terms terms = right(step, state, k);
    const Shape shape{step.size()};
    const Point point{
        {{"position", stop_gradient(state.z[0])}, {"momentum", stop_gradient(state.z[1])}},
        stop_gradient(broadcast(state.energy, shape)),
        stop_gradient(state.gradient)};
    const Value q = curl(point, mutant.clamped && !mutant.unclamped_gamma);
    const Value p = point.variables.at("momentum");
    const Value dq_dp = coordinate_derivative(q, p);
    if (k == 0) {
      terms.correction = -mutant.by_momentum * dq_dp;
      return terms;
    }
    terms.correction =
        mutant.by_position * coordinate_derivative(q, point.energy) * state.gradient +
        mutant.of_diffusion * coordinate_derivative(extra_diffusion(point), p) +
        mutant.of_alpha * 2 * alpha * q * dq_dp;
    terms.diffusion = mutant.noise * terms.diffusion;
    return terms;
  };
  return recipe;
}

std::vector<Mutant> faults() {
  return {{"Gamma = 0", 0, 0, 0, 0},
          {"Gamma_theta has the other sign", -1},
          {"Gamma_theta = 0", 0},
          {"dD/dp missing", 1, 1, 0},
          {"dQ/dtheta missing", 1, 0},
          {"dQ/dtheta has the other sign", 1, -1},
          {"alpha term missing", 1, 1, 1, 0},
          {"alpha term doubled", 1, 1, 1, 2},
          {"Gamma x 0.9", 0.9, 0.9, 0.9, 0.9},
          {"Gamma x 0.99", 0.99, 0.99, 0.99, 0.99},
          {"noise variance x 0.5", 1, 1, 1, 1, 0.5},
          {"noise variance x 0.98", 1, 1, 1, 1, 0.98},
          {"Gamma of the Q before its clamp", 1, 1, 1, 1, 1, true, true}};
}

Proof prove_toy(const Mutant& mutant) {
  return prove(toy(mutant.clamped), recipe_of(mutant), {.sizes = {1, 2}, .points = 100});
}

std::string row(const Mutant& mutant, const Proof& proof) {
  std::string text = fmt::format("{:34}", mutant.name);
  for (const char* check : {"correction", "stationarity", "generator", "step"}) {
    const Check& found = proof.check(check);
    text += fmt::format(" {:>9.2g}{}", found.value,
                        found.verdict == Verdict::failed ? " KILLED" : "       ");
  }
  return text;
}

bool killed_by(const Proof& proof, std::string_view check) {
  return proof.check(check).verdict == Verdict::failed;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(mutants)

BOOST_AUTO_TEST_CASE(the_sampler_without_a_fault_is_proven) {
  for (bool clamped : {false, true}) {
    const Mutant none{.name = "none", .clamped = clamped};
    const Proof proof = prove_toy(none);
    BOOST_TEST(proof.holds(), row(none, proof));
  }
}

BOOST_AUTO_TEST_CASE(all_thirteen_faults_are_seen) {
  std::string table = fmt::format("{:34} {:>9} {:>16} {:>13} {:>11}", "fault", "correction",
                                  "stationarity", "generator", "step");
  int killed = 0;
  for (const Mutant& mutant : faults()) {
    const Proof proof = prove_toy(mutant);
    table += "\n" + row(mutant, proof);
    killed += !proof.holds();
    // The equation's residual sees every one of them; Gamma by differences all but wrong noise.
    BOOST_TEST(killed_by(proof, "stationarity"), mutant.name);
    BOOST_TEST(killed_by(proof, "correction") == (mutant.noise == 1), mutant.name);
    // A missing or wrong term is seen by statistics alone, too; errors of 2% are below their power.
    const bool small = mutant.name == "Gamma x 0.99" || mutant.name == "noise variance x 0.98";
    for (const char* check : {"generator", "step"})
      BOOST_TEST((small || killed_by(proof, check)), row(mutant, proof));
  }
  BOOST_TEST_MESSAGE(table);
  BOOST_TEST(killed == 13, table);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
