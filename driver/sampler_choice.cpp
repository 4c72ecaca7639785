#include "driver/sampler_choice.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "engine/attributes.hpp"
#include "samplers/builtin.hpp"
#include "samplers/dynamics.hpp"
#include "samplers/finite_difference.hpp"

namespace whorl::driver {

namespace {

using Settings = std::vector<std::pair<std::string, double>>;

// Choices are words on the command line and their places here in a file.
constexpr std::string_view integrators[] = {"semi_implicit", "euler"};
constexpr std::string_view thermostats[] = {"chain", "coordinate"};
constexpr std::string_view corrections[] = {"exact", "finite_differences"};
constexpr std::string_view moments[] = {"energy", "likelihood"};
enum class Correction { exact, finite_differences };

std::span<const std::string_view> choices_of(std::string_view setting) {
  if (setting == "integrator") return integrators;
  if (setting == "thermostat") return thermostats;
  if (setting == "correction") return corrections;
  if (setting == "moments") return moments;
  return {};
}

template <class Choice>
Choice choice(const std::string& setting, double value) {
  const auto choices = choices_of(setting);
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (value == static_cast<double>(i)) return static_cast<Choice>(i);
  fail(ErrorKind::usage, "sample", "setting '{}' is {}; expected one of: {}", setting, value,
       fmt::join(choices, ", "));
}

void check_settings(std::string_view sampler, const Settings& settings,
                    const std::vector<std::string_view>& known) {
  for (const auto& [name, value] : settings)
    if (std::find(known.begin(), known.end(), name) == known.end())
      fail(ErrorKind::usage, "sample", "{} has no setting '{}'{}; it has: {}", sampler, name,
           did_you_mean(name, known), fmt::join(known, ", "));
}

std::int64_t whole(const std::string& setting, double value) {
  if (value != std::floor(value) || std::abs(value) > 1e9)
    fail(ErrorKind::usage, "sample", "setting '{}' is {}; expected a whole number", setting, value);
  return static_cast<std::int64_t>(value);
}

BuiltinSettings builtin_settings_of(const Settings& settings, const Target& target) {
  BuiltinSettings result;
  if (target.rows > 0) result.data_size = static_cast<double>(target.rows);
  const std::map<std::string_view, double*> numbers{{"temperature", &result.temperature},
                                                    {"noise_estimate", &result.noise_estimate},
                                                    {"decay", &result.decay},
                                                    {"data_size", &result.data_size},
                                                    {"jitter", &result.jitter},
                                                    {"beta1", &result.beta1},
                                                    {"beta2", &result.beta2},
                                                    {"momentum_decay", &result.momentum_decay},
                                                    {"beta_scale", &result.beta_scale},
                                                    {"beta_power", &result.beta_power}};
  for (const auto& [name, value] : settings) {
    if (const auto number = numbers.find(name); number != numbers.end()) *number->second = value;
    if (name == "friction") result.friction = value;
    if (name == "epsilon") result.epsilon = value;
    if (name == "leapfrog_steps") result.leapfrog_steps = whole(name, value);
    if (name == "refine_from") result.refine_from = whole(name, value);
    if (name == "integrator") result.integrator = choice<Integrator>(name, value);
    if (name == "friction_times_step_size") result.friction_times_step_size = value;
    if (name == "moments") result.moments = choice<Moments>(name, value);
    if (name == "thermostat") result.thermostat = choice<Thermostat>(name, value);
  }
  return result;
}

// A step for each of the target's energies.
template <class Make>
std::vector<Step> steps_for(const Target& target, const Make& make) {
  std::vector<Step> steps;
  for (const SizedEnergy& each : target.energies()) steps.push_back(make(each));
  return steps;
}

// What a friction is multiplied by in the first step: Santa's step size is the square of it.
double time_step(std::string_view sampler, const Schedule& step_size) {
  return sampler == "santa" ? std::sqrt(step_size.at(0)) : step_size.at(0);
}

Schedule given_step_size(const SamplerRequest& request) {
  if (!request.step_size)
    fail(ErrorKind::usage, "sample", "the step size is missing; as in --step-size 0.01");
  return *request.step_size;
}

ChosenSampler choose_builtin(const SamplerRequest& request, const Target& target) {
  check_settings(request.name, request.settings, settings_of(request.name));
  BuiltinSettings settings = builtin_settings_of(request.settings, target);
  const Schedule step_size = given_step_size(request);
  if (settings.friction_times_step_size)
    settings.friction = *settings.friction_times_step_size / time_step(request.name, step_size);
  if (!settings.refine_from && request.run_steps > 0) settings.refine_from = request.run_steps / 2;
  check_step_size(request.name, settings, step_size.largest());
  ChosenSampler sampler{steps_for(target,
                                  [&](const SizedEnergy& each) {
                                    return builtin_step(request.name, each.energy, settings,
                                                        each.gradient);
                                  }),
                        step_size,
                        {},
                        {},
                        {},
                        {},
                        {}};
  if (request.name == "sghmc" || request.name == "sgnht")
    sampler.temperature = settings.temperature;
  return sampler;
}

RecipeOptions recipe_options(const SamplerRequest& request, const Target& target) {
  const BuiltinSettings settings = builtin_settings_of(request.settings, target);
  return {settings.integrator, settings.temperature, settings.noise_estimate, target.gradient};
}

std::vector<Step> learned_steps(const SamplerRequest& request, const Target& target,
                                const LearnedSampler& learned, const TaskStatistics& task,
                                double first_step_size) {
  RecipeOptions options = recipe_options(request, target);
  Correction correction = Correction::exact;
  for (const auto& [name, value] : request.settings)
    if (name == "correction") correction = choice<Correction>(name, value);
  return steps_for(target, [&](const SizedEnergy& each) {
    options.gradient = each.gradient;
    if (correction == Correction::finite_differences)
      return finite_difference_step(each.energy, learned, task, first_step_size, options);
    return recipe_step(each.energy,
                       complete_recipe(learned_dynamics(learned, task, first_step_size)), options);
  });
}

// Friction D makes 1 - eta D of a momentum in a step. D is at its bound in few places, if anywhere,
// so this is no error. A sampler with a rule for its step size keeps eta D below 1 by itself.
std::optional<std::string> stability_note(const LearnedSampler& learned, double step_size) {
  const Network& diffusion = learned.diffusion;
  if (learned.step_size_times_gradient_rms > 0) return std::nullopt;
  if (diffusion.low >= diffusion.high || step_size * diffusion.high < 2) return std::nullopt;
  return fmt::format(
      "step size {:.4g} times the sampler's largest D, {:.4g}, is not below 2: the momentum would "
      "grow wherever D is that large",
      step_size, diffusion.high);
}

// Bounds and offset of a learned sampler may differ from task to task.
void take_settings(const SamplerRequest& request, LearnedSampler& learned) {
  for (const auto& [name, value] : request.settings) {
    if (name == "beta") learned.beta = value;
    const bool curl = name == "curl_limit";
    if (!curl && name != "diffusion_limit") continue;
    if (!(value > 0))
      fail(ErrorKind::usage, "sample", "setting '{}' is {}; expected a positive number", name,
           value);
    Network& network = curl ? learned.curl : learned.diffusion;
    network.low = curl ? -value : 0;
    network.high = value;
  }
}

ChosenSampler choose_learned(const SamplerRequest& request, const Target& target,
                             SamplerFile file) {
  check_settings(request.name, request.settings,
                 {"temperature", "noise_estimate", "integrator", "correction", "beta", "curl_limit",
                  "diffusion_limit"});
  LearnedSampler learned = *file.learned;
  take_settings(request, learned);
  std::optional<TaskStatistics> measured;
  if (learned.needs_statistics())
    measured = measure(target, learned.pilot, request.position, request.seed, request.threads,
                       request.memory_budget);
  TaskStatistics task = measured.value_or(TaskStatistics{});
  task.rows = static_cast<double>(target.rows);
  std::optional<double> own;
  if (request.own_step_size && learned.step_size(task) > 0) own = learned.step_size(task);
  const Schedule step_size = own ? Schedule::constant(*own) : given_step_size(request);
  ChosenSampler sampler{learned_steps(request, target, learned, task, step_size.at(0)),
                        step_size,
                        own,
                        {},
                        measured,
                        {},
                        {}};
  sampler.temperature = recipe_options(request, target).temperature;
  if (const auto note = stability_note(learned, step_size.largest()))
    sampler.notes.push_back(*note);
  sampler.file = std::move(file);
  return sampler;
}

ChosenSampler choose_written(const SamplerRequest& request, const Target& target,
                             SamplerFile file) {
  check_settings(request.name, request.settings, {"temperature", "noise_estimate", "integrator"});
  RecipeOptions options = recipe_options(request, target);
  const Schedule step_size = given_step_size(request);
  const Dynamics dynamics =
      graph_dynamics(file.variables, file.dynamics(target.energy.size(), target.energy.dtype()));
  ChosenSampler sampler{{}, step_size, {}, std::move(file), {}, {}, {}};
  // With a kinetic energy of its own, the momentum need not be N(0, T).
  if (!dynamics.kinetic) sampler.temperature = options.temperature;
  sampler.steps = steps_for(target, [&](const SizedEnergy& each) {
    options.gradient = each.gradient;
    return recipe_step(each.energy, complete_recipe(dynamics), options);
  });
  return sampler;
}

ChosenSampler choose_file(const SamplerRequest& request, const Target& target) {
  SamplerFile file = load_sampler(request.name);
  return file.learned ? choose_learned(request, target, std::move(file))
                      : choose_written(request, target, std::move(file));
}

}  // namespace

double step_size_of_rate(std::string_view sampler, double rate, std::int64_t rows) {
  if (rows == 0)
    fail(ErrorKind::usage, "sample",
         "a learning rate is one per row of data, and the target has none; expected a step size");
  if (sampler == "adam") return rate;
  const double each = rate / static_cast<double>(rows);
  constexpr std::string_view by_rate[] = {"sgld", "psgld", "santa", "sgdm"};
  return std::ranges::find(by_rate, sampler) != std::end(by_rate) ? each : std::sqrt(each);
}

bool is_sampler_file(std::string_view name) {
  const auto builtin = builtin_names();
  if (name.ends_with(".pbtxt")) return true;
  std::error_code fault;
  return std::find(builtin.begin(), builtin.end(), name) == builtin.end() &&
         std::filesystem::is_regular_file(name, fault);
}

std::optional<double> setting_choice(std::string_view setting, std::string_view word) {
  const auto choices = choices_of(setting);
  const auto found = std::find(choices.begin(), choices.end(), word);
  // Numbers are what stands for the words in files.
  const bool number = !word.empty() && word.find_first_not_of("+-.0123456789") == word.npos;
  if (found == choices.end() && !choices.empty() && !number)
    fail(ErrorKind::usage, "sample", "--set {}: '{}' is none of {}", setting, word,
         fmt::join(choices, ", "));
  if (found == choices.end()) return std::nullopt;
  return static_cast<double>(found - choices.begin());
}

ChosenSampler choose_sampler(const SamplerRequest& request, const Target& target) {
  ChosenSampler sampler = is_sampler_file(request.name) ? choose_file(request, target)
                                                        : choose_builtin(request, target);
  if (sampler.temperature == 0.0) sampler.temperature.reset();
  return sampler;
}

}  // namespace whorl::driver
