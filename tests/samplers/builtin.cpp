#include "samplers/builtin.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>

#include "errors.hpp"
#include "plain.hpp"
#include "samplers/chains.hpp"
#include "samplers/dynamics.hpp"
#include "samplers/optimisers.hpp"

namespace whorl {

using namespace testing;

namespace {

Tensor end_of(const Step& step) {
  Chains chains(step, {.chains = 2, .seed = 3});
  chains.start("position", {Start::Kind::uniform, -2, 2});
  for (int i = 0; i < 5; ++i) chains.advance([](std::int64_t) { return 0.1; });
  return chains.state("position").clone();
}

std::string step_error(std::string_view sampler, const BuiltinSettings& settings) {
  return error_text([&] { builtin_step(sampler, wavy(DType::f64, 3), settings); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(builtin)

BOOST_AUTO_TEST_CASE(names_give_the_samplers_with_their_settings) {
  const Energy energy = wavy(DType::f64, 3);
  BuiltinSettings settings;
  settings.temperature = 0.5;
  settings.friction = 2;
  settings.noise_estimate = 0.25;
  settings.integrator = Integrator::euler;
  settings.thermostat = Thermostat::coordinate;
  settings.decay = 0.75;
  settings.epsilon = 0.125;
  settings.data_size = 8;
  settings.leapfrog_steps = 3;
  settings.jitter = 0.5;
  settings.beta1 = 0.5;
  settings.beta2 = 0.75;
  settings.momentum_decay = 0.5;
  settings.beta_scale = 2;
  settings.beta_power = 0.25;
  settings.refine_from = 3;
  const GradientSource noisy{.injected_noise = 0.5};
  const RecipeOptions options{Integrator::euler, 0.5, 0.25, noisy};
  const auto recipe = [&](const Dynamics& dynamics) {
    return recipe_step(energy, complete_recipe(dynamics), options);
  };
  const std::map<std::string_view, Step> wanted{
      {"sgld", recipe(sgld_dynamics())},
      {"sghmc", recipe(sghmc_dynamics(2))},
      {"sgnht", recipe(sgnht_dynamics(2, true))},
      {"psgld", psgld_step(energy, {0.75, 0.125, 8, 0.5, 0.25, noisy})},
      {"santa", santa_step(energy, {2, 0.75, 0.125, 8, 2, 0.25, 3, noisy})},
      {"adam", adam_step(energy, {0.5, 0.75, 0.125}, noisy)},
      {"sgdm", sgdm_step(energy, 0.5, noisy)},
      {"hmc", hmc_step(energy, {3, 0.5, 0.5})}};
  BOOST_TEST(builtin_names().size() == wanted.size());
  for (std::string_view name : builtin_names()) {
    const Step step =
        builtin_step(name, energy, settings, name == "hmc" ? GradientSource{} : noisy);
    BOOST_TEST(end_of(step).same_bits(end_of(wanted.at(name))), name);
    BOOST_TEST(!end_of(step).same_bits(end_of(builtin_step(name, energy))), name);
  }
}

BOOST_AUTO_TEST_CASE(moments_may_be_those_of_the_likelihood) {
  const Energy energy = wavy_parts(DType::f64, 3);
  PsgldOptions psgld;
  SantaOptions santa;
  psgld.likelihood_only = santa.likelihood_only = true;
  const std::map<std::string_view, Step> wanted{{"psgld", psgld_step(energy, psgld)},
                                                {"santa", santa_step(energy, santa)}};
  for (const auto& [name, likelihood] : wanted) {
    const Step step = builtin_step(name, energy, {.moments = Moments::likelihood});
    BOOST_TEST(end_of(step).same_bits(end_of(likelihood)), name);
    BOOST_TEST(!end_of(step).same_bits(end_of(builtin_step(name, energy))), name);
    BOOST_TEST(step_error(name, {.moments = Moments::likelihood}) ==
               fmt::format("[{}] moments of the likelihood alone need an energy with the outputs "
                           "'prior' and 'likelihood'",
                           name));
  }
}

BOOST_AUTO_TEST_CASE(defaults_are_those_of_the_samplers_and_of_the_table) {
  const Energy energy = wavy(DType::f64, 3);
  BOOST_TEST(end_of(builtin_step("psgld", energy)).same_bits(end_of(psgld_step(energy))));
  BOOST_TEST(end_of(builtin_step("santa", energy)).same_bits(end_of(santa_step(energy))));
  BOOST_TEST(end_of(builtin_step("adam", energy)).same_bits(end_of(adam_step(energy))));
  BOOST_TEST(end_of(builtin_step("sghmc", energy))
                 .same_bits(end_of(builtin_step("sghmc", energy, {.friction = 1}))));
  BOOST_TEST(end_of(builtin_step("sgdm", energy)).same_bits(end_of(sgdm_step(energy))));
  BOOST_TEST(end_of(builtin_step("hmc", energy)).same_bits(end_of(hmc_step(energy))));

  const BuiltinSettings settings;
  const std::map<std::string_view, std::string> values{
      {"temperature", fmt::format("{}", settings.temperature)},
      {"friction", fmt::format("1 (sghmc, sgnht), {} (santa)", SantaOptions{}.friction)},
      {"friction_times_step_size", "none"},
      {"noise_estimate", fmt::format("{}", settings.noise_estimate)},
      {"integrator", "semi_implicit"},
      {"thermostat", "chain"},
      {"decay", fmt::format("{}", settings.decay)},
      {"epsilon",
       fmt::format("{} (psgld, santa), {} (adam)", PsgldOptions{}.epsilon, AdamOptions{}.epsilon)},
      {"data_size", fmt::format("{}", settings.data_size)},
      {"moments", "energy"},
      {"leapfrog_steps", fmt::format("{}", settings.leapfrog_steps)},
      {"jitter", fmt::format("{}", settings.jitter)},
      {"beta_scale", fmt::format("{}", settings.beta_scale)},
      {"beta_power", fmt::format("{}", settings.beta_power)},
      {"refine_from", "half of the run's steps"},
      {"beta1", fmt::format("{}", settings.beta1)},
      {"beta2", fmt::format("{}", settings.beta2)},
      {"momentum_decay", fmt::format("{}", settings.momentum_decay)}};
  BOOST_TEST(SantaOptions{}.epsilon == PsgldOptions{}.epsilon);
  BOOST_TEST(builtin_settings().size() == values.size());
  for (const Setting& setting : builtin_settings())
    BOOST_TEST(setting.value == values.at(setting.name), setting.name);
}

BOOST_AUTO_TEST_CASE(draws_do_not_depend_on_threads_nor_on_how_steps_are_grouped) {
  const Energy energy = wavy(DType::f32, 7);
  for (std::string_view name : builtin_names()) {
    const Step step = builtin_step(name, energy);
    const auto run = [&](int threads, std::int64_t group) {
      Chains chains(step, {.chains = 33, .steps_per_run = group, .seed = 5, .threads = threads});
      chains.start("position", {Start::Kind::uniform, -2, 2});
      while (chains.step() < 12) chains.advance([](std::int64_t) { return 0.1; });
      return chains.state("position").clone();
    };
    const Tensor base = run(1, 1);
    for (int threads : {1, 2, 8})
      for (std::int64_t group : {1, 6}) BOOST_TEST(run(threads, group).same_bits(base), name);
  }
}

BOOST_AUTO_TEST_CASE(a_sampler_has_its_own_settings_only) {
  using Names = std::vector<std::string_view>;
  const std::map<std::string_view, Names> wanted{
      {"sgld", {"temperature", "noise_estimate"}},
      {"psgld", {"temperature", "noise_estimate", "decay", "epsilon", "data_size", "moments"}},
      {"sghmc",
       {"temperature", "friction", "friction_times_step_size", "noise_estimate", "integrator"}},
      {"sgnht",
       {"temperature", "friction", "friction_times_step_size", "noise_estimate", "integrator",
        "thermostat"}},
      {"hmc", {"temperature", "leapfrog_steps", "jitter"}},
      {"santa",
       {"friction", "friction_times_step_size", "decay", "epsilon", "data_size", "moments",
        "beta_scale", "beta_power", "refine_from"}},
      {"adam", {"epsilon", "beta1", "beta2"}},
      {"sgdm", {"momentum_decay"}}};
  for (std::string_view name : builtin_names())
    BOOST_TEST(settings_of(name) == wanted.at(name), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_unknown_name_is_refused_with_the_nearest) {
  BOOST_TEST(
      step_error("sghmcc", {}) ==
      "[sampler] unknown sampler 'sghmcc', did you mean 'sghmc'?; expected sgld, psgld, sghmc, "
      "sgnht, hmc, santa, adam, sgdm or a sampler file");
  BOOST_TEST(
      error_text([] { settings_of("metropolis"); }) ==
      "[sampler] unknown sampler 'metropolis'; expected sgld, psgld, sghmc, sgnht, hmc, santa, "
      "adam, sgdm or a sampler file");
}

BOOST_AUTO_TEST_CASE(settings_out_of_range_are_refused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  BOOST_TEST(step_error("sghmc", {.friction = -1}) ==
             "[sampler] friction is -1, expected at least 0");
  BOOST_TEST(step_error("sghmc", {.temperature = nan}) ==
             "[sampler] the temperature must be in [0, 1e6]: nan");
  BOOST_TEST(step_error("psgld", {.decay = 1.5}) == "[psgld] the decay must be in [0, 1]: 1.5");
  BOOST_TEST(step_error("psgld", {.epsilon = 0}) == "[psgld] epsilon must be positive: 0");
  BOOST_TEST(step_error("psgld", {.data_size = 0}) == "[psgld] the data size must be positive: 0");
  BOOST_TEST(step_error("psgld", {.noise_estimate = -1}) ==
             "[sampler] the noise estimate must be finite and not negative: -1");
  BOOST_TEST(step_error("hmc", {.temperature = 0}) ==
             "[hmc] the temperature must be in (0, 1e6]: 0");
  BOOST_TEST(step_error("hmc", {.leapfrog_steps = 0}) ==
             "[hmc] the number of leapfrog steps must be in [1, 10000]: 0");
  BOOST_TEST(step_error("hmc", {.jitter = 1}) == "[hmc] the jitter must be in [0, 1): 1");
  BOOST_TEST(step_error("santa", {.friction = -1}) ==
             "[santa] the friction must be finite and not negative: -1");
  BOOST_TEST(step_error("santa", {.decay = -0.5}) == "[santa] the decay must be in [0, 1]: -0.5");
  BOOST_TEST(step_error("santa", {.epsilon = 0}) == "[santa] epsilon must be positive: 0");
  BOOST_TEST(step_error("santa", {.data_size = nan}) ==
             "[santa] the data size must be positive: nan");
  BOOST_TEST(step_error("santa", {.beta_scale = 0}) ==
             "[santa] the scale of beta must be positive: 0");
  BOOST_TEST(step_error("santa", {.beta_power = -0.5}) ==
             "[santa] the power of beta must be finite and not negative: -0.5");
  BOOST_TEST(step_error("santa", {.refine_from = -1}) ==
             "[santa] the first step of the refinement must not be negative: -1");
  BOOST_TEST(step_error("adam", {.beta1 = 1}) == "[adam] beta1 and beta2 must be in [0, 1): 1");
  BOOST_TEST(step_error("adam", {.epsilon = nan}) == "[adam] epsilon must be positive: nan");
  BOOST_TEST(step_error("sgdm", {.momentum_decay = 1}) ==
             "[sgdm] the momentum decay must be in [0, 1): 1");
  BOOST_TEST(error_text([] {
               builtin_step("hmc", wavy(DType::f64, 3), {}, {.injected_noise = 1});
             }) == "[sampler] hmc needs the exact gradient: no minibatches and no injected noise");
}

BOOST_AUTO_TEST_CASE(a_step_size_that_cannot_work_is_refused_before_the_run) {
  const auto error = [](std::string_view name, const BuiltinSettings& settings, double eta) {
    return error_text([&] { check_step_size(name, settings, eta); });
  };
  for (std::string_view name : {"sghmc", "sgnht"}) {
    BOOST_TEST(error(name, {.friction = 8}, 0.25) ==
               fmt::format("[sampler] step size 0.25 times friction 8 is not below 2, so the "
                           "momentum of {} would grow: the step size must be below 0.25",
                           name));
    BOOST_TEST(error(name, {.friction = 8}, 0.2499) == "");
    BOOST_TEST(error(name, {.temperature = 0.5, .friction = 2, .noise_estimate = 8}, 0.5) ==
               fmt::format("[sampler] step size 0.5 times noise estimate 8 is more than the 2 that "
                           "{} injects: the step size must not be above 0.25",
                           name));
    BOOST_TEST(error(name, {.temperature = 0.5, .friction = 2, .noise_estimate = 8}, 0.25) == "");
    BOOST_TEST(error(name, {.temperature = 0, .friction = 2, .noise_estimate = 8}, 0.5) == "");
  }
  BOOST_TEST(error("sgld", {.friction = 8, .noise_estimate = 100}, 0.25) ==
             "[sampler] step size 0.25 times noise estimate 100 is more than the 2 that sgld "
             "injects: the step size must not be above 0.02");
  BOOST_TEST(error("sgld", {.friction = 8}, 0.25) == "");
  BOOST_TEST(error("adam", {.friction = 8, .noise_estimate = 100}, 0.25) == "");
  BOOST_TEST(error("santa", {.friction = 4}, 0.25) ==
             "[sampler] the root of step size 0.25 times friction 4 is above 1, and santa's "
             "friction takes no more than all of the momentum: the step size must not be above "
             "0.0625");
  BOOST_TEST(error("santa", {.friction = 4}, 0.0625) == "");
  BOOST_TEST(error("santa", {.friction = -1}, 0.25) ==
             "[sampler] friction is -1, expected at least 0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
