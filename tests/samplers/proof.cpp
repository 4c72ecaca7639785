#include "samplers/proof.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "engine/ops.hpp"
#include "errors.hpp"
#include "samplers/dynamics.hpp"
#include "samplers/learned.hpp"

namespace whorl {

namespace {

std::string text(const Proof& proof) {
  std::string result;
  for (const Check& check : proof.checks)
    result += fmt::format("\n  {:13} {:10.3g} {:8.3g}  {:9} {}", check.name, check.value,
                          check.limit, name(check.verdict), check.explanation);
  return result;
}

// All six checks apply and pass. Two of them are statistical, so this is two statistical asserts.
void require_proven(std::string_view sampler, const auto& dynamics,
                    const ProofOptions& options = {}) {
  const Proof proof = prove(dynamics, options);
  BOOST_TEST_MESSAGE(sampler << text(proof));
  for (const Check& check : proof.checks)
    BOOST_TEST((check.verdict == Verdict::passed), sampler << text(proof));
  BOOST_TEST(proof.checks.size() == 6u);
  BOOST_TEST(proof.false_alarm == 1e-8);
}

// alpha, beta and c all in play.
LearnedSampler networks(std::string activation, std::vector<std::int64_t> hidden) {
  LearnedSampler sampler;
  sampler.curl.inputs.resize(2);
  sampler.diffusion.inputs.resize(3);
  sampler.curl.activation = sampler.diffusion.activation = activation;
  sampler.curl.hidden = sampler.diffusion.hidden = hidden;
  sampler.diffusion.transform = Transform::softplus;
  sampler.alpha = 0.3;
  sampler.beta = 0.5;
  sampler.c = 0.2;
  draw_weights(sampler, 1);
  return sampler;
}

// D[position] = 0.3 + sigmoid(theta): a preconditioner that follows the position.
Dynamics moving_preconditioner() {
  return {{}, [](StepBuilder&, const Point& point) {
            return Matrices{{}, {{"position", 0.3 + sigmoid(point.variables.at("position"))}}};
          }};
}

// A curl and a diffusion that look at everything that they may look at.
Dynamics energy_dependent() {
  return {{{"momentum"}}, [](StepBuilder&, const Point& point) {
            const Value p = point.variables.at("momentum"), x = point.variables.at("position");
            const Value q = 1 + 0.5 * tanh(0.4 * point.energy - 0.6 * p + 0.3 * x);
            const Value d = softplus(0.5 * p + 0.3 * point.gradient - 0.2 * point.energy);
            return Matrices{{{"momentum", "position", q}}, {{"momentum", d}}};
          }};
}

Dynamics with_kinetic(
    std::function<Value(const std::map<std::string, Value, std::less<>>&)> kinetic) {
  Dynamics dynamics = energy_dependent();
  dynamics.kinetic = std::move(kinetic);
  return dynamics;
}

// The right recipe with one variable's terms changed.
Recipe changed(const Dynamics& dynamics, std::size_t variable, std::function<void(Terms&)> change) {
  Recipe recipe = complete_recipe(dynamics);
  const auto right = recipe.terms;
  recipe.terms = [=](StepBuilder& step, const State& state, std::size_t k) {
    Terms terms = right(step, state, k);
    if (k == variable) change(terms);
    return terms;
  };
  return recipe;
}

// A sampler that looks at means, trained on 3 weights: the prior weighs 3, 1.5 and 0.3 in 1, 2 and
// 10 dimensions.
Dynamics looking_at_means(std::string activation) {
  LearnedSampler sampler = networks(std::move(activation), {10});
  sampler.energy_input = EnergyInput::mean_log_joint;
  sampler.mean_gradient = true;
  sampler.trained_size = 3;
  sampler.curl.inputs[0].scale = 2;
  return learned_dynamics(sampler, {.rows = 1.5});
}

// The right recipe with a multiple of the prior's part of Gamma, dQ/dP dP/dtheta: of a prior that
// comes from elsewhere than the point, the derivation does not know that it depends on theta.
Recipe with_prior_part(const Dynamics& dynamics, double multiple) {
  Dynamics blind = dynamics;
  blind.matrices = [matrices = dynamics.matrices](StepBuilder& step, Point point) {
    point.prior = broadcast(step.prior(), Shape{step.size()});
    return matrices(step, point);
  };
  Recipe recipe = complete_recipe(dynamics);
  recipe.terms = [right = recipe.terms, wrong = complete_recipe(blind).terms, multiple](
                     StepBuilder& step, const State& state, std::size_t k) {
    Terms terms = right(step, state, k);
    const Value without = wrong(step, state, k).correction;
    terms.correction = without + multiple * (terms.correction - without);
    return terms;
  };
  return recipe;
}

const ProofOptions quick{.sizes = {1, 2}, .points = 50, .draws = 5000};

}  // namespace

BOOST_AUTO_TEST_SUITE(proof)

BOOST_AUTO_TEST_CASE(samplers_known_by_name_are_proven) {
  require_proven("sgld", sgld_dynamics());
  require_proven("sghmc", sghmc_dynamics(1));
  require_proven("sghmc, euler", sghmc_dynamics(3), {.integrator = Integrator::euler});
  require_proven("sgnht", sgnht_dynamics(1));
  require_proven("sgnht, each coordinate", sgnht_dynamics(0.5, true));
}

BOOST_AUTO_TEST_CASE(learned_samplers_are_proven) {
  require_proven("tanh", learned_dynamics(networks("tanh", {10})));
  require_proven("softplus", learned_dynamics(networks("softplus", {10})));
  require_proven("relu", learned_dynamics(networks("relu", {10, 10})));
}

BOOST_AUTO_TEST_CASE(inputs_at_the_scale_of_a_task_are_part_of_what_is_proven) {
  LearnedSampler sampler = networks("tanh", {6});
  sampler.energy_input = EnergyInput::asinh;
  sampler.scale_momentum = sampler.scale_gradient = true;
  require_proven(
      "asinh",
      learned_dynamics(
          sampler, {.energy_mean = 2, .energy_sd = 1.5, .momentum_rms = 0.8, .gradient_rms = 1.7}));
}

BOOST_AUTO_TEST_CASE(clamped_inputs_are_part_of_what_is_proven) {
  LearnedSampler sampler = networks("tanh", {6});
  for (Network* network : {&sampler.curl, &sampler.diffusion})
    for (NetworkInput& input : network->inputs) input.low = -0.7, input.high = 0.6;
  const Dynamics clamped = learned_dynamics(sampler);
  require_proven("clamped inputs", clamped);

  // They do act: terms of the same networks without them are wrong.
  for (Network* network : {&sampler.curl, &sampler.diffusion})
    for (NetworkInput& input : network->inputs) input.low = input.high = 0;
  const Proof other = prove(clamped, complete_recipe(learned_dynamics(sampler)), quick);
  BOOST_TEST((other.check("correction").verdict == Verdict::failed), text(other));
}

BOOST_AUTO_TEST_CASE(a_prior_that_is_weighed_by_itself_is_part_of_what_is_proven) {
  require_proven("means, tanh", looking_at_means("tanh"));
  require_proven("means, relu", looking_at_means("relu"));
}

BOOST_AUTO_TEST_CASE(a_wrong_part_of_gamma_for_the_prior_is_seen) {
  const Dynamics dynamics = looking_at_means("tanh");
  // Right; left out, with the other sign, twice, and 1% off.
  for (double multiple : {1.0, 0.0, -1.0, 2.0, 0.99}) {
    const Proof proof = prove(dynamics, with_prior_part(dynamics, multiple), quick);
    const Verdict wanted = multiple == 1 ? Verdict::passed : Verdict::failed;
    for (const char* name : {"correction", "stationarity"})
      BOOST_TEST((proof.check(name).verdict == wanted), multiple << text(proof));
  }
}

BOOST_AUTO_TEST_CASE(clamps_and_kinks_are_proven_by_the_differences_that_avoid_them) {
  LearnedSampler sampler = networks("relu", {40, 40});
  sampler.diffusion.transform = Transform::absolute;
  sampler.curl.scale = sampler.diffusion.scale = 5;
  sampler.alpha = sampler.beta = sampler.c = 0;
  sampler.curl.low = -0.5, sampler.curl.high = 0.5;
  sampler.diffusion.low = 0, sampler.diffusion.high = 1;
  const Dynamics clamped = learned_dynamics(sampler);
  require_proven("clamped", clamped);

  // The clamps do act: terms that do not know of them are wrong.
  sampler.curl.low = sampler.curl.high = sampler.diffusion.low = sampler.diffusion.high = 0;
  const Proof other = prove(clamped, complete_recipe(learned_dynamics(sampler)), quick);
  BOOST_TEST((other.check("correction").verdict == Verdict::failed), text(other));
}

BOOST_AUTO_TEST_CASE(dynamics_written_by_hand_are_proven) {
  require_proven("moving preconditioner", moving_preconditioner());
  require_proven("energy dependent", energy_dependent());
}

BOOST_AUTO_TEST_CASE(a_graph_that_is_written_for_one_size_is_proven_size_by_size) {
  const DynamicsOfSize sampler = [](std::int64_t n) {
    Graph graph;
    const Type vector{DType::f64, {n}};
    const Value p = input(graph, "momentum", vector), u = input(graph, "energy", vector);
    graph.add_output("Q", (1 + 0.5 * tanh(p - 0.3 * u)).id);
    graph.add_output("D", softplus(p).id);
    return graph_dynamics({{"momentum"}}, graph);
  };
  require_proven("graph", sampler);
}

BOOST_AUTO_TEST_CASE(a_mass_is_part_of_the_law_that_momenta_are_drawn_from) {
  require_proven("mass", with_kinetic([](const auto& z) {
                   return 0.1 * sum(square(z.at("momentum") - 0.7));
                 }));
}

BOOST_AUTO_TEST_CASE(without_exact_draws_the_statistical_checks_are_skipped_with_the_reason) {
  const Proof proof = prove(
      with_kinetic([](const auto& z) { return sum(sqrt(1 + square(z.at("momentum")))); }), quick);
  BOOST_TEST(proof.holds(), text(proof));
  BOOST_TEST(proof.false_alarm == 0);
  for (const char* name : {"correction", "stationarity", "diffusion", "curl"})
    BOOST_TEST((proof.check(name).verdict == Verdict::passed), text(proof));
  for (const char* name : {"generator", "step"}) {
    BOOST_TEST((proof.check(name).verdict == Verdict::skipped));
    BOOST_TEST(proof.check(name).explanation ==
               "no exact draws: H - U is not a positive quadratic function of the variables alone");
  }
}

BOOST_AUTO_TEST_CASE(a_law_that_cannot_be_normalised_is_no_law) {
  const Proof proof =
      prove(with_kinetic([](const auto& z) { return sum(0 * z.at("momentum")); }), quick);
  BOOST_TEST(!proof.holds());
  BOOST_TEST((proof.check("law").verdict == Verdict::failed));
  BOOST_TEST(proof.check("law").value == 0);
}

BOOST_AUTO_TEST_CASE(without_noise_nothing_is_proven) {
  const Dynamics dynamics{
      {{"momentum"}}, [](StepBuilder& step, const Point&) {
        return Matrices{{{"momentum", "position", fill(step.graph(), step.vector(), 1)}}, {}};
      }};
  const Proof proof = prove(dynamics, quick);
  BOOST_TEST(!proof.holds());
  BOOST_TEST((proof.check("diffusion").verdict == Verdict::failed));
  BOOST_TEST(proof.check("diffusion").explanation ==
             "there is no D, so no noise: chains would not forget where they began");
}

BOOST_AUTO_TEST_CASE(where_kinks_are_everywhere_nothing_is_concluded) {
  const Dynamics rough{
      {}, [](StepBuilder&, const Point& point) {
        return Matrices{{}, {{"position", abs(sin(9e3 * point.variables.at("position")))}}};
      }};
  const Proof proof = prove(rough, quick);
  BOOST_TEST((proof.check("correction").verdict == Verdict::undecided), text(proof));
  BOOST_TEST(!proof.holds());
}

BOOST_AUTO_TEST_CASE(a_negative_diffusion_is_seen) {
  const Dynamics dynamics = sghmc_dynamics(1);
  const Proof proof =
      prove(dynamics, changed(dynamics, 1, [](Terms& t) { t.diffusion = -t.diffusion; }), quick);
  BOOST_TEST((proof.check("diffusion").verdict == Verdict::failed), text(proof));
  BOOST_TEST(proof.check("diffusion").value == -1);
  // The step takes the root of a negative number: not a number is a failure, too.
  BOOST_TEST((proof.check("step").verdict == Verdict::failed), text(proof));
}

BOOST_AUTO_TEST_CASE(a_curl_that_is_not_antisymmetric_is_seen) {
  const Dynamics dynamics = sghmc_dynamics(1);
  const Proof proof =
      prove(dynamics, changed(dynamics, 0, [](Terms& t) { t.force = 1.01 * t.force; }), quick);
  for (const char* name : {"curl", "stationarity"})
    BOOST_TEST((proof.check(name).verdict == Verdict::failed), text(proof));
  // D and Q themselves are right.
  BOOST_TEST((proof.check("correction").verdict == Verdict::passed), text(proof));
}

BOOST_AUTO_TEST_CASE(a_number_that_is_not_finite_is_a_failure) {
  const Dynamics dynamics = energy_dependent();
  const Proof proof =
      prove(dynamics,
            changed(dynamics, 1, [](Terms& t) { t.correction = log(-abs(t.correction)); }), quick);
  for (const char* name : {"correction", "generator", "step"})
    BOOST_TEST((proof.check(name).verdict == Verdict::failed), text(proof));
}

BOOST_AUTO_TEST_CASE(options_without_sense_are_refused) {
  BOOST_TEST(testing::error_text([] { prove(sgld_dynamics(), {.sizes = {}}); }) ==
             "[proof] expected at least one size, one point and 1000 draws: 0, 200 and 100000");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
