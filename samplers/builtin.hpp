// The samplers and optimisers that are known by name, and their settings.
//
//   sgld  psgld  sghmc  sgnht  hmc  santa  adam  sgdm
//
// Thread safety: free functions.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "samplers/recipe.hpp"

namespace whorl {

enum class Thermostat { chain, coordinate };
// Whose gradient PSGLD and Santa measure.
enum class Moments { energy, likelihood };

// See builtin_settings() for what each of them means.
struct BuiltinSettings {
  double temperature = 1;
  std::optional<double> friction = {};                  // the sampler's own
  std::optional<double> friction_times_step_size = {};  // whoever knows eta makes it the friction
  double noise_estimate = 0;
  Integrator integrator = Integrator::semi_implicit;
  Thermostat thermostat = Thermostat::chain;
  double decay = 0.99;
  std::optional<double> epsilon = {};  // the sampler's own
  double data_size = 1;
  Moments moments = Moments::energy;
  std::int64_t leapfrog_steps = 10;
  double jitter = 0.2;
  double beta1 = 0.9, beta2 = 0.999;
  double momentum_decay = 0.9;
  double beta_scale = 1, beta_power = 0.5;
  std::optional<std::int64_t> refine_from = {};  // whoever knows the number of steps halves it
};

// One line of help.
struct Setting {
  std::string_view name;
  std::string_view value;  // when it is not given
  std::string_view meaning;
  std::vector<std::string_view> samplers;  // those that have it
};

std::span<const std::string_view> builtin_names();
std::span<const Setting> builtin_settings();
// The settings that a sampler has; all others are to be refused. Throws a usage Error for a name
// that is unknown.
std::vector<std::string_view> settings_of(std::string_view sampler);

// Throws a usage Error when the name is unknown or a setting of that sampler is out of range.
Step builtin_step(std::string_view sampler, const Energy& energy,
                  const BuiltinSettings& settings = {}, const GradientSource& gradient = {});

// What can be known of the largest step size eta before a run. Throws a usage Error when a momentum
// would grow by its friction, which multiplies it by 1 - eta D, when Santa's first friction is more
// than it can have, sqrt(eta) C > 1, or when the noise estimate V leaves nothing to inject,
// eta V > 2 T D.
void check_step_size(std::string_view sampler, const BuiltinSettings& settings, double largest);

}  // namespace whorl
