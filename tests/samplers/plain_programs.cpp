// Every sampler, step by step, against a plain program that uses the same random numbers.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <optional>

#include "engine/random.hpp"
#include "plain.hpp"
#include "samplers/chains.hpp"
#include "samplers/dynamics.hpp"
#include "samplers/finite_difference.hpp"
#include "samplers/optimisers.hpp"

namespace whorl {

using namespace testing;

namespace {

constexpr std::int64_t size = 5, chain_count = 3;
constexpr std::uint64_t seed = 11;

PlainState chain_state(const Chains& chains, const Step& step, std::int64_t chain) {
  PlainState result;
  for (const StateVariable& variable : step.state) {
    const Tensor& values = chains.state(variable.name);
    const std::int64_t n = values.elements() / chain_count;
    for (std::int64_t i = 0; i < n; ++i) result[variable.name].push_back(values.at(chain * n + i));
  }
  return result;
}

// The largest |engine - plain| / (1 + |plain|) of all variables, chains and coordinates, after any
// of the steps. The plain program goes its own way, or begins every step where the engine stands.
Real largest_error(const Step& step, const PlainSampler& plain, DType dtype, std::int64_t steps,
                   double eta, bool own_way) {
  Chains chains(step, {.chains = chain_count, .seed = seed});
  chains.start("position", {Start::Kind::uniform, -2, 2});
  if (step.state.size() > 1 && step.state[1].name == "momentum")
    chains.start("momentum", {Start::Kind::normal, 0, 1});
  std::vector<PlainState> states(chain_count);
  Real worst = 0;
  const Real rounded = dtype == DType::f32 ? Real{static_cast<float>(eta)} : Real{eta};
  for (std::int64_t t = 0; t < steps; ++t) {
    for (std::int64_t k = 0; k < chain_count; ++k) {
      PlainState& z = states[static_cast<std::size_t>(k)];
      if (t == 0 || !own_way) z = chain_state(chains, step, k);
      plain(z, {dtype, seed, t, k, rounded});
    }
    chains.advance([&](std::int64_t) { return eta; });
    for (std::int64_t k = 0; k < chain_count; ++k)
      for (const auto& [name, values] : chain_state(chains, step, k))
        for (std::size_t i = 0; i < values.size(); ++i) {
          const Real wanted = states[static_cast<std::size_t>(k)].at(name)[i];
          worst = std::max(worst, std::abs(values[i] - wanted) / (1 + std::abs(wanted)));
        }
  }
  return worst;
}

// In single precision round-off grows where a network bends, so every step is judged by itself.
void check(const std::function<Step(const Energy&)>& make, const PlainSampler& plain,
           double eta = 0.05, Energy (*energy)(DType, std::int64_t) = wavy) {
  const Real wide =
      largest_error(make(energy(DType::f64, size)), plain, DType::f64, 100, eta, true);
  BOOST_TEST(wide < 1e-12L);
  const Real narrow =
      largest_error(make(energy(DType::f32, size)), plain, DType::f32, 100, eta, false);
  BOOST_TEST(narrow < 1e-5L);
}

std::function<Step(const Energy&)> recipe_of(const Dynamics& dynamics,
                                             const RecipeOptions& options = {}) {
  return
      [=](const Energy& energy) { return recipe_step(energy, complete_recipe(dynamics), options); };
}

// Every constant differs from its default, and both clamps are met.
LearnedSampler relu_sampler() {
  LearnedSampler sampler;
  sampler.curl.hidden = {7};
  sampler.curl.inputs = {{0.5, 0.25}, {1.5, -0.5}};
  sampler.curl.scale = 2;
  sampler.curl.low = -0.75;
  sampler.curl.high = 0.75;
  sampler.diffusion.hidden = {5, 6};
  sampler.diffusion.inputs = {{0.25, 1}, {-1, 0.5}, {0.75, 0.25}};
  sampler.diffusion.transform = Transform::absolute;
  sampler.diffusion.scale = 3;
  sampler.diffusion.low = 0;
  sampler.diffusion.high = 3;
  sampler.alpha = 0.5;
  sampler.beta = 0.5;
  sampler.c = 0.25;
  sampler.energy_input = EnergyInput::asinh;
  sampler.scale_momentum = sampler.scale_gradient = true;
  draw_weights(sampler, 5);
  return sampler;
}

const TaskStatistics task{3, 2, 0.75, 2};

// The same with means for energy and gradient, trained on a model of another size.
LearnedSampler mean_sampler() {
  LearnedSampler sampler = relu_sampler();
  sampler.energy_input = EnergyInput::mean_log_joint;
  sampler.mean_gradient = true;
  sampler.scale_gradient = false;
  sampler.trained_size = 3;
  return sampler;
}
const TaskStatistics task_with_rows{.momentum_rms = 0.75, .rows = 4};

}  // namespace

BOOST_AUTO_TEST_SUITE(plain_programs)

BOOST_AUTO_TEST_CASE(sgld_agrees) { check(recipe_of(sgld_dynamics()), plain_sgld()); }

BOOST_AUTO_TEST_CASE(sghmc_agrees_with_both_integrators) {
  check(recipe_of(sghmc_dynamics(1.5)), plain_sghmc(1.5L));
  check(recipe_of(sghmc_dynamics(1.5), {.integrator = Integrator::euler}), plain_sghmc(1.5L, true));
}

BOOST_AUTO_TEST_CASE(sgnht_agrees_with_both_thermostats) {
  check(recipe_of(sgnht_dynamics(1.5)), plain_sgnht(1.5L, false));
  check(recipe_of(sgnht_dynamics(1.5, true)), plain_sgnht(1.5L, true));
}

BOOST_AUTO_TEST_CASE(psgld_agrees) {
  const PsgldOptions options{.decay = 0.9, .epsilon = 0.125, .data_size = 4, .temperature = 0.5};
  check([&](const Energy& energy) { return psgld_step(energy, options); }, plain_psgld(options));
}

BOOST_AUTO_TEST_CASE(psgld_agrees_with_moments_of_the_likelihood_alone) {
  PsgldOptions options{.decay = 0.9, .epsilon = 0.125, .data_size = 4, .temperature = 0.5};
  options.likelihood_only = true;
  check([&](const Energy& energy) { return psgld_step(energy, options); }, plain_psgld(options),
        0.05, wavy_parts);
}

BOOST_AUTO_TEST_CASE(the_learned_sampler_agrees) {
  const GradientSource noisy{.injected_noise = 0.5};
  check(recipe_of(learned_dynamics(relu_sampler(), task), {.gradient = noisy}),
        plain_learned(relu_sampler(), task, 0.5L));
}

BOOST_AUTO_TEST_CASE(finite_differences_agree) {
  // Quotients amplify round-off by 1 / (p' - p), so the numbers of f32 agree in law only.
  const auto make = [](const Energy& energy) {
    return finite_difference_step(energy, relu_sampler(), task);
  };
  const PlainSampler plain = plain_finite_difference(relu_sampler(), task);
  BOOST_TEST(largest_error(make(wavy(DType::f64, size)), plain, DType::f64, 1, 0.05, true) <
             1e-12L);
  BOOST_TEST(largest_error(make(wavy(DType::f64, size)), plain, DType::f64, 100, 0.05, true) <
             1e-9L);
}

BOOST_AUTO_TEST_CASE(the_learned_sampler_agrees_where_it_looks_at_means) {
  const GradientSource noisy{.injected_noise = 0.5};
  check(recipe_of(learned_dynamics(mean_sampler(), task_with_rows), {.gradient = noisy}),
        plain_learned(mean_sampler(), task_with_rows, 0.5L), 0.05, wavy_parts);
  // A prior that is not weighed need not be told apart.
  LearnedSampler unweighed = mean_sampler();
  for (std::int64_t trained : {std::int64_t{0}, size}) {
    unweighed.trained_size = trained;
    check(recipe_of(learned_dynamics(unweighed, task_with_rows)),
          plain_learned(unweighed, task_with_rows, 0));
  }
}

BOOST_AUTO_TEST_CASE(finite_differences_agree_where_the_sampler_looks_at_means) {
  const Step step =
      finite_difference_step(wavy_parts(DType::f64, size), mean_sampler(), task_with_rows);
  const PlainSampler plain = plain_finite_difference(mean_sampler(), task_with_rows);
  BOOST_TEST(largest_error(step, plain, DType::f64, 1, 0.05, true) < 1e-12L);
  BOOST_TEST(largest_error(step, plain, DType::f64, 100, 0.05, true) < 1e-9L);
}

BOOST_AUTO_TEST_CASE(santa_agrees_in_both_stages_and_across_the_border) {
  SantaOptions options{.friction = 1.5,
                       .decay = 0.9,
                       .epsilon = 0.125,
                       .data_size = 4,
                       .beta_scale = 2,
                       .beta_power = 0.75,
                       .refine_from = std::nullopt};
  // Frictions at their lower bound and, with a large step, at their upper one are met as well.
  for (const auto& border : {std::optional<std::int64_t>(), {60}, {0}})
    for (double eta : {0.0025, 0.04}) {
      options.refine_from = border;
      check([&](const Energy& energy) { return santa_step(energy, options); }, plain_santa(options),
            eta);
    }
  options.likelihood_only = true;
  check([&](const Energy& energy) { return santa_step(energy, options); }, plain_santa(options),
        0.0025, wavy_parts);
}

BOOST_AUTO_TEST_CASE(adam_agrees) {
  for (const AdamOptions& options : {AdamOptions{}, AdamOptions{0.5, 0.99, 0.001}})
    check([&](const Energy& energy) { return adam_step(energy, options); }, plain_adam(options));
}

BOOST_AUTO_TEST_CASE(sgd_with_momentum_agrees) {
  check([](const Energy& energy) { return sgdm_step(energy, 0.75); }, plain_sgdm(0.75L));
}

BOOST_AUTO_TEST_CASE(hmc_agrees) {
  const HmcOptions options{.leapfrog_steps = 4, .jitter = 0.25, .temperature = 1.5};
  check([&](const Energy& energy) { return hmc_step(energy, options); }, plain_hmc(options), 0.3);
}

BOOST_AUTO_TEST_CASE(the_noise_of_a_step_is_the_philox_normal) {
  const double eta = 0.05, friction = 1.5;
  for (bool with_momentum : {false, true}) {
    const Step step = recipe_of(with_momentum ? sghmc_dynamics(friction)
                                              : sgld_dynamics())(wavy(DType::f64, size));
    const std::string variable = with_momentum ? "momentum" : "position";
    Chains chains(step, {.chains = chain_count, .seed = seed, .statistics = {"gradient"}});
    chains.start("position", {Start::Kind::uniform, -2, 2});
    chains.set_step(41);
    const Tensor before = chains.state(variable).clone();
    chains.advance([=](std::int64_t) { return eta; });
    for (std::int64_t k = 0; k < chain_count; ++k)
      for (std::int64_t i = 0; i < size; ++i) {
        const std::int64_t at = k * size + i;
        const double drift =
            -chains.statistic("gradient").at(at) - (with_momentum ? friction * before.at(at) : 0);
        const double d = with_momentum ? friction : 1;
        const double noise =
            (chains.state(variable).at(at) - before.at(at) - eta * drift) / std::sqrt(2 * eta * d);
        const RandomCoordinates where{seed, with_momentum ? 17u : 16u, 41,
                                      static_cast<std::uint32_t>(k)};
        BOOST_TEST(std::abs(noise - normal<double>(where, i)) < 1e-12);
      }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
