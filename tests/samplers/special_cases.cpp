// Where samplers must coincide, and what is known exactly of their steps.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "engine/ops.hpp"
#include "errors.hpp"
#include "plain.hpp"
#include "samplers/chains.hpp"
#include "samplers/dynamics.hpp"

namespace whorl {

using namespace testing;

namespace {

Chains after(const Step& step, std::int64_t chains, std::int64_t steps, double eta) {
  Chains result(step, {.chains = chains, .seed = 7});
  result.start("position", {Start::Kind::uniform, -2, 2});
  for (std::int64_t t = 0; t < steps; ++t) result.advance([=](std::int64_t) { return eta; });
  return result;
}

// U = a x^2 / 2.
Energy quadratic(DType dtype, double a, std::int64_t n) {
  Graph graph;
  const Value x = input(graph, "x", {dtype, {n}}, "parameter");
  graph.add_output("U", (0.5 * a * sum(square(x))).id);
  return Energy(std::move(graph));
}

// Networks that are constant: f_Q = 1 and f_D = friction.
LearnedSampler constant_sampler(double friction) {
  LearnedSampler sampler;
  sampler.curl.inputs.resize(2);
  sampler.diffusion.inputs.resize(3);
  sampler.diffusion.transform = Transform::absolute;
  sampler.curl.weights.assign(static_cast<std::size_t>(sampler.curl.weight_count()), 0);
  sampler.diffusion.weights.assign(static_cast<std::size_t>(sampler.diffusion.weight_count()), 0);
  sampler.curl.weights.back() = 1;
  sampler.diffusion.weights.back() = friction;
  return sampler;
}

// The slope of log error against log eta.
double slope(const std::vector<double>& etas, const std::vector<double>& errors) {
  double x = 0, y = 0, xx = 0, xy = 0;
  const auto n = static_cast<double>(etas.size());
  for (std::size_t i = 0; i < etas.size(); ++i) {
    const double a = std::log(etas[i]), b = std::log(errors[i]);
    x += a, y += b, xx += a * a, xy += a * b;
  }
  return (xy - x * y / n) / (xx - x * x / n);
}

// |H - H_0| of an oscillator without friction: at time `time`, and the largest on the way there.
struct Drift {
  double end, largest;
};
Drift energy_drift(Integrator integrator, double eta, double time) {
  const Step step = recipe_step(quadratic(DType::f64, 1, 1), complete_recipe(sghmc_dynamics(0)),
                                {.integrator = integrator});
  Chains chains(step, {});
  chains.start("position", {Start::Kind::constant, 1, 0});
  chains.start("momentum", {Start::Kind::constant, 0.5, 0});
  const auto h = [&] {
    const double x = chains.state("position").at(0), p = chains.state("momentum").at(0);
    return (x * x + p * p) / 2;
  };
  const double start = h();
  Drift drift{0, 0};
  for (std::int64_t t = 0; t < std::llround(time / eta); ++t) {
    chains.advance([=](std::int64_t) { return eta; });
    drift.end = std::abs(h() - start);
    drift.largest = std::max(drift.largest, drift.end);
  }
  return drift;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(special_cases)

BOOST_AUTO_TEST_CASE(constant_networks_are_sghmc_to_the_bit) {
  for (DType dtype : {DType::f32, DType::f64})
    for (Integrator integrator : {Integrator::semi_implicit, Integrator::euler}) {
      const RecipeOptions options{.integrator = integrator, .gradient = {.injected_noise = 1}};
      const Energy energy = wavy(dtype, 7);
      const Chains learned = after(
          recipe_step(energy, complete_recipe(learned_dynamics(constant_sampler(1.25))), options),
          9, 50, 0.1);
      const Chains plain =
          after(recipe_step(energy, complete_recipe(sghmc_dynamics(1.25)), options), 9, 50, 0.1);
      for (std::string_view name : {"position", "momentum"})
        BOOST_TEST(learned.state(name).same_bits(plain.state(name)));
    }
}

BOOST_AUTO_TEST_CASE(psgld_with_a_preconditioner_of_one_is_sgld_to_the_bit) {
  for (DType dtype : {DType::f32, DType::f64}) {
    const Energy energy = wavy(dtype, 7);
    // sqrt(V) + epsilon = 1 without round-off, and a decay of 1 keeps V.
    const double epsilon = 0x1p-10, v = (1 - epsilon) * (1 - epsilon);
    Chains frozen = after(psgld_step(energy, {.decay = 1, .epsilon = epsilon}), 9, 0, 0.1);
    frozen.start("second_moment", {Start::Kind::constant, v, 0});
    for (int t = 0; t < 50; ++t) frozen.advance([](std::int64_t) { return 0.1; });
    const Chains plain = after(recipe_step(energy, complete_recipe(sgld_dynamics())), 9, 50, 0.1);
    BOOST_TEST(frozen.state("position").same_bits(plain.state("position")));
    BOOST_TEST(frozen.state("second_moment").at(0) == v);
  }
}

BOOST_AUTO_TEST_CASE(without_friction_the_energy_error_of_euler_is_of_first_order_and_grows) {
  std::vector<double> etas{0.004, 0.002, 0.001, 0.0005}, errors;
  for (double eta : etas) errors.push_back(energy_drift(Integrator::euler, eta, 4).end);
  BOOST_TEST(std::abs(slope(etas, errors) - 1) < 0.05);
  // H grows by 1 + eta^2 in every step.
  BOOST_TEST(std::abs(errors[0] / (0.625 * (std::pow(1 + 16e-6, 1000) - 1)) - 1) < 1e-9);
}

BOOST_AUTO_TEST_CASE(
    without_friction_the_semi_implicit_energy_error_is_of_first_order_and_bounded) {
  std::vector<double> etas{0.04, 0.02, 0.01, 0.005}, errors;
  for (double eta : etas) errors.push_back(energy_drift(Integrator::semi_implicit, eta, 8).largest);
  BOOST_TEST(std::abs(slope(etas, errors) - 1) < 0.05);
  BOOST_TEST(energy_drift(Integrator::semi_implicit, 0.04, 400).largest < 1.01 * errors[0]);
}

BOOST_AUTO_TEST_CASE(the_semi_implicit_oscillator_conserves_its_own_energy) {
  const double eta = 0.25;
  const Step step = recipe_step(quadratic(DType::f64, 1, 1), complete_recipe(sghmc_dynamics(0)));
  Chains chains(step, {});
  chains.start("position", {Start::Kind::constant, 1, 0});
  chains.start("momentum", {Start::Kind::constant, 0.5, 0});
  // x^2 + p^2 - eta x p does not change in exact arithmetic.
  for (int t = 0; t < 2000; ++t) {
    chains.advance([=](std::int64_t) { return eta; });
    const double x = chains.state("position").at(0), p = chains.state("momentum").at(0);
    if (t % 100 == 0) BOOST_TEST(std::abs(x * x + p * p - eta * x * p - 1.125) < 1e-12);
  }
}

BOOST_AUTO_TEST_CASE(at_temperature_zero_there_is_no_noise) {
  const Energy energy = wavy(DType::f64, 5);
  for (const Dynamics& dynamics : {sgld_dynamics(), sghmc_dynamics(1)}) {
    const Step step = recipe_step(energy, complete_recipe(dynamics), {.temperature = 0});
    const auto draw = [&](std::uint64_t seed) {
      Chains chains(step, {.chains = 2, .seed = seed});
      chains.start("position", {Start::Kind::constant, 1, 0});
      for (int t = 0; t < 400; ++t) chains.advance([](std::int64_t) { return 0.1; });
      return chains.state("position").clone();
    };
    BOOST_TEST(draw(1).same_bits(draw(2)));
    // It ends in the minimum, which is at zero.
    BOOST_TEST(std::abs(draw(1).at(0)) < 1e-6);
  }
}

BOOST_AUTO_TEST_CASE(temperature_two_doubles_the_variance) {
  // Linear steps from zero: every path is sqrt(2) times the path at temperature 1.
  const Energy energy = quadratic(DType::f64, 1.7, 4);
  for (const Dynamics& dynamics : {sgld_dynamics(), sghmc_dynamics(1.5)}) {
    const auto draw = [&](double temperature) {
      Chains chains(recipe_step(energy, complete_recipe(dynamics), {.temperature = temperature}),
                    {.chains = 3, .seed = 4});
      for (int t = 0; t < 60; ++t) chains.advance([](std::int64_t) { return 0.1; });
      return chains.state("position").clone();
    };
    const Tensor one = draw(1), two = draw(2);
    for (std::int64_t i = 0; i < one.elements(); ++i)
      BOOST_TEST(std::abs(two.at(i) - std::sqrt(2.0) * one.at(i)) < 1e-13);
  }
}

BOOST_AUTO_TEST_CASE(the_discrete_law_of_sgld_is_exact_with_temperature_and_noise_estimate) {
  // x' = (1 - eta a) x + noise of variance 2 eta T; gradient noise of sd s adds eta^2 s^2, and an
  // estimate V = s^2 takes it off again. So the law is N(0, 2 eta T / (1 - (1 - eta a)^2)).
  const double a = 1.7, eta = 0.2, temperature = 2, s = 1.5;
  const double variance = 2 * eta * temperature / (1 - (1 - eta * a) * (1 - eta * a));
  const std::int64_t chain_count = 2000, size = 100;
  const Step step = recipe_step(
      quadratic(DType::f64, a, size), complete_recipe(sgld_dynamics()),
      {.temperature = temperature, .noise_estimate = s * s, .gradient = {.injected_noise = s}});
  Chains chains(step, {.chains = chain_count, .seed = 12});
  chains.start("position", {Start::Kind::normal, 0, std::sqrt(variance)});
  for (int t = 1; t <= 20; ++t) {
    chains.advance([=](std::int64_t) { return eta; });
    if (t != 1 && t != 20) continue;
    double sum = 0, squares = 0;
    for (double x : chains.state("position").values<double>()) sum += x, squares += x * x;
    const auto count = static_cast<double>(chain_count * size);
    BOOST_TEST(std::abs(sum / count) < 5.85 * std::sqrt(variance / count));
    BOOST_TEST(std::abs(squares / count / variance - 1) < 5.85 * std::sqrt(2 / count));
  }
}

BOOST_AUTO_TEST_CASE(a_noise_estimate_above_the_injected_noise_stops_the_run) {
  const Step step =
      recipe_step(wavy(DType::f64, 3), complete_recipe(sghmc_dynamics(1)), {.noise_estimate = 100});
  Chains chains(step, {.chains = 2, .steps_per_run = 4});
  chains.set_step(12);
  ErrorKind kind{};
  std::string text;
  try {
    chains.advance([](std::int64_t t) { return t < 14 ? 0.01 : 0.1; });
  } catch (const Error& error) {
    kind = error.kind();
    text = error.what();
  }
  BOOST_TEST((kind == ErrorKind::numeric));
  BOOST_TEST(text.starts_with("[sample] in the 4 steps from step 12 on: node "), text);
  BOOST_TEST(
      text.find("'t2/momentum/noise_scale' (assert_finite): element 0 is ") != std::string::npos,
      text);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
