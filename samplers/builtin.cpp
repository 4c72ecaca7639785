#include "samplers/builtin.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/attributes.hpp"
#include "samplers/dynamics.hpp"
#include "samplers/hmc.hpp"
#include "samplers/optimisers.hpp"
#include "samplers/psgld.hpp"
#include "samplers/santa.hpp"

namespace whorl {

namespace {

constexpr std::array<std::string_view, 8> names{"sgld", "psgld", "sghmc", "sgnht",
                                                "hmc",  "santa", "adam",  "sgdm"};
// Of SGHMC and SGNHT, where none is given.
constexpr double usual_friction = 1;

void check_name(std::string_view sampler) {
  if (std::find(names.begin(), names.end(), sampler) == names.end())
    fail(ErrorKind::usage, "sampler", "unknown sampler '{}'{}; expected {} or a sampler file",
         sampler, did_you_mean(sampler, {names.begin(), names.end()}), fmt::join(names, ", "));
}

void check_not_negative(std::string_view setting, double value) {
  if (!(value >= 0) || !std::isfinite(value))
    fail(ErrorKind::usage, "sampler", "{} is {}, expected at least 0", setting, value);
}

Step named_dynamics(std::string_view sampler, const Energy& energy, const BuiltinSettings& settings,
                    const GradientSource& gradient) {
  const double friction = settings.friction.value_or(usual_friction);
  check_not_negative("friction", friction);
  const Dynamics dynamics =
      sampler == "sgld" ? sgld_dynamics()
      : sampler == "sghmc"
          ? sghmc_dynamics(friction)
          : sgnht_dynamics(friction, settings.thermostat == Thermostat::coordinate);
  return recipe_step(
      energy, complete_recipe(dynamics),
      {settings.integrator, settings.temperature, settings.noise_estimate, gradient});
}

void check_santa(double friction, double step_size) {
  check_not_negative("friction", friction);
  if (std::sqrt(step_size) * friction > 1)
    fail(
        ErrorKind::usage, "sampler",
        "the root of step size {} times friction {} is above 1, and santa's friction takes no more "
        "than all of the momentum: the step size must not be above {}",
        step_size, friction, 1 / (friction * friction));
}

}  // namespace

std::span<const std::string_view> builtin_names() { return names; }

std::span<const Setting> builtin_settings() {
  static const std::vector<Setting> settings{
      {"temperature",
       "1",
       "T: the chain draws from exp(-U/T); 0 injects no noise (not hmc)",
       {"sgld", "psgld", "sghmc", "sgnht", "hmc"}},
      {"friction",
       "1 (sghmc, sgnht), 5 (santa)",
       "D of the momentum: how fast it forgets; santa's C, where it begins",
       {"sghmc", "sgnht", "santa"}},
      {"friction_times_step_size",
       "none",
       "a: the friction is a over the first step size (santa: over its root)",
       {"sghmc", "sgnht", "santa"}},
      {"noise_estimate",
       "0",
       "variance of the gradient's noise, taken off the injected noise",
       {"sgld", "psgld", "sghmc", "sgnht"}},
      {"integrator",
       "semi_implicit",
       "semi_implicit (momentum first) or euler (all at once)",
       {"sghmc", "sgnht"}},
      {"thermostat",
       "chain",
       "one friction that adapts for each chain or for each coordinate",
       {"sgnht"}},
      {"decay",
       "0.99",
       "how much of the mean square gradient is kept in a step",
       {"psgld", "santa"}},
      {"epsilon",
       "1e-05 (psgld, santa), 1e-08 (adam)",
       "added to the root of the mean square gradient",
       {"psgld", "santa", "adam"}},
      {"data_size",
       "1",
       "N: the gradient is divided by it before it is squared",
       {"psgld", "santa"}},
      {"moments",
       "energy",
       "of which gradient: of the energy or of the likelihood",
       {"psgld", "santa"}},
      {"leapfrog_steps", "10", "leapfrog steps between two Metropolis tests", {"hmc"}},
      {"jitter", "0.2", "the step size is drawn from eta (1 +- jitter)", {"hmc"}},
      {"beta_scale", "1", "A: the temperature of step t, from 1, is 1 / (A t^gamma)", {"santa"}},
      {"beta_power", "0.5", "gamma of that temperature", {"santa"}},
      {"refine_from",
       "half of the run's steps",
       "how many steps have noise, before it ends for good",
       {"santa"}},
      {"beta1", "0.9", "how much of the mean gradient is kept in a step", {"adam"}},
      {"beta2", "0.999", "how much of the mean square gradient is kept in a step", {"adam"}},
      {"momentum_decay", "0.9", "how much of the velocity is kept in a step", {"sgdm"}},
  };
  return settings;
}

std::vector<std::string_view> settings_of(std::string_view sampler) {
  check_name(sampler);
  std::vector<std::string_view> result;
  for (const Setting& setting : builtin_settings())
    if (std::find(setting.samplers.begin(), setting.samplers.end(), sampler) !=
        setting.samplers.end())
      result.push_back(setting.name);
  return result;
}

Step builtin_step(std::string_view sampler, const Energy& energy, const BuiltinSettings& settings,
                  const GradientSource& gradient) {
  check_name(sampler);
  if (sampler == "psgld")
    return psgld_step(energy, {settings.decay, settings.epsilon.value_or(PsgldOptions{}.epsilon),
                               settings.data_size, settings.temperature, settings.noise_estimate,
                               gradient, settings.moments == Moments::likelihood});
  if (sampler == "santa")
    return santa_step(energy,
                      {settings.friction.value_or(SantaOptions{}.friction), settings.decay,
                       settings.epsilon.value_or(SantaOptions{}.epsilon), settings.data_size,
                       settings.beta_scale, settings.beta_power, settings.refine_from, gradient,
                       settings.moments == Moments::likelihood});
  if (sampler == "hmc") {
    if (gradient.minibatch.rows > 0 || gradient.injected_noise > 0)
      fail(ErrorKind::usage, "sampler",
           "hmc needs the exact gradient: no minibatches and no injected noise");
    return hmc_step(energy, {settings.leapfrog_steps, settings.jitter, settings.temperature});
  }
  if (sampler == "adam")
    return adam_step(
        energy, {settings.beta1, settings.beta2, settings.epsilon.value_or(AdamOptions{}.epsilon)},
        gradient);
  if (sampler == "sgdm") return sgdm_step(energy, settings.momentum_decay, gradient);
  return named_dynamics(sampler, energy, settings, gradient);
}

void check_step_size(std::string_view sampler, const BuiltinSettings& settings, double largest) {
  check_name(sampler);
  if (sampler == "santa") check_santa(settings.friction.value_or(SantaOptions{}.friction), largest);
  const bool has_momentum = sampler == "sghmc" || sampler == "sgnht";
  if (!has_momentum && sampler != "sgld") return;
  const double friction = settings.friction.value_or(usual_friction);
  if (has_momentum) check_not_negative("friction", friction);
  check_not_negative("temperature", settings.temperature);
  check_not_negative("noise_estimate", settings.noise_estimate);
  const double diffusion = has_momentum ? friction : 1;
  if (has_momentum && largest * diffusion >= 2)
    fail(ErrorKind::usage, "sampler",
         "step size {} times friction {} is not below 2, so the momentum of {} would grow: the "
         "step size must be below {}",
         largest, diffusion, sampler, 2 / diffusion);
  const double heat = 2 * settings.temperature * diffusion;
  if (settings.temperature > 0 && largest * settings.noise_estimate > heat)
    fail(ErrorKind::usage, "sampler",
         "step size {} times noise estimate {} is more than the {} that {} injects: the step size "
         "must not be above {}",
         largest, settings.noise_estimate, heat, sampler, heat / settings.noise_estimate);
}

}  // namespace whorl
