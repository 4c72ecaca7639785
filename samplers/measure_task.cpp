#include "samplers/measure_task.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "samplers/dynamics.hpp"

namespace whorl {

namespace {

// Keeps the pilot's noise apart from that of the run that it is for.
constexpr std::uint64_t pilot_seed = 0x70696c6f74;  // "pilot"

void check(const Pilot& pilot) {
  if (pilot.chains < 1 || pilot.steps < 2)
    fail(ErrorKind::usage, "pilot", "expected at least one chain and two steps: {} and {}",
         pilot.chains, pilot.steps);
  if (!(pilot.step_size > 0) || !(pilot.friction > 0) || !std::isfinite(pilot.step_size) ||
      !std::isfinite(pilot.friction))
    fail(ErrorKind::usage, "pilot", "step size and friction must be positive: {} and {}",
         pilot.step_size, pilot.friction);
}

// Mean and sum of squares about it, one number at a time (Welford).
struct Moments {
  std::int64_t count = 0;
  double mean = 0, scatter = 0;

  void add(double x) {
    ++count;
    const double before = x - mean;
    mean += before / static_cast<double>(count);
    scatter += before * (x - mean);
  }
  void add(const Tensor& values) {
    dispatch(values.dtype(), [&](auto zero) {
      for (auto x : values.values<decltype(zero)>()) add(static_cast<double>(x));
    });
  }
  double variance() const { return scatter / static_cast<double>(count); }
  double mean_square() const { return mean * mean + variance(); }
};

// Small models make several steps in a run; both halves must be whole runs.
std::int64_t steps_per_run(std::int64_t numbers, std::int64_t steps) {
  if (numbers > 20'000) return 1;
  for (std::int64_t group = 10; group > 1; --group)
    if (steps % group == 0 && (steps / 2) % group == 0) return group;
  return 1;
}

TaskStatistics run_pilot(Chains& chains, const Pilot& pilot, double injected_noise,
                         const TaskData& data) {
  Moments energy, momentum, gradient;
  const auto step_size = [&](std::int64_t) { return pilot.step_size; };
  while (chains.step() < pilot.steps) {
    chains.advance(step_size, data.batch);
    if (chains.step() <= pilot.steps / 2) continue;
    energy.add(chains.statistic("energy"));
    gradient.add(chains.statistic("gradient"));
    momentum.add(chains.state("momentum"));
  }
  return {energy.mean, std::sqrt(energy.variance()), std::sqrt(momentum.mean_square()),
          std::sqrt(gradient.mean_square() + injected_noise * injected_noise), pilot.step_size};
}

// A kinetic temperature that is farther from 1 tells of a step size that is too large.
constexpr double temperature_limit = 0.25;
constexpr int most_halvings = 10;
constexpr std::int64_t most_steps = 8;  // as a multiple of the pilot's own

double temperature_off(const TaskStatistics& task) {
  return std::abs(task.momentum_rms * task.momentum_rms - 1);
}

void check(const TaskStatistics& found) {
  if (found.energy_sd > 0 && std::isfinite(found.energy_sd) && std::isfinite(found.gradient_rms) &&
      std::isfinite(found.momentum_rms))
    return;
  fail(ErrorKind::numeric, "pilot",
       "the short run that measures the task found an energy of {} with deviation {}, momentum {} "
       "and gradient {}; expected numbers, and an energy that varies",
       found.energy_mean, found.energy_sd, found.momentum_rms, found.gradient_rms);
}

}  // namespace

TaskStatistics measure_task(const Energy& energy, const GradientSource& gradient,
                            const Pilot& pilot, const Start& start, std::uint64_t seed,
                            const TaskData& data, int threads, std::int64_t memory_budget) {
  const SizedEnergy one{energy, gradient};
  return measure_task(std::span(&one, 1), pilot, start, seed, data, threads, memory_budget);
}

TaskStatistics measure_task(std::span<const SizedEnergy> energies, const Pilot& pilot,
                            const Start& start, std::uint64_t seed, const TaskData& data,
                            int threads, std::int64_t memory_budget) {
  check(pilot);
  if (energies.empty()) fail(ErrorKind::usage, "pilot", "there is no energy to measure");
  std::vector<Step> steps;
  for (const SizedEnergy& each : energies) {
    RecipeOptions options;
    options.gradient = each.gradient;
    steps.push_back(
        recipe_step(each.energy, complete_recipe(sghmc_dynamics(pilot.friction)), options));
  }
  const std::int64_t size = energies.front().energy.size();
  const double injected_noise = energies.front().gradient.injected_noise;
  std::optional<TaskStatistics> best;
  std::string divergence;
  Pilot now = pilot;
  for (int halvings = 0; halvings <= most_halvings; ++halvings, now.step_size /= 2) {
    now.steps = pilot.steps * std::min(std::int64_t{1} << halvings, most_steps);
    const std::int64_t together =
        steps.size() > 1 ? 1 : steps_per_run(now.chains * size, now.steps);
    Chains chains(steps, {.chains = now.chains,
                          .steps_per_run = together,
                          .seed = seed ^ pilot_seed,
                          .threads = threads,
                          .statistics = {"gradient"},
                          .memory_budget = memory_budget});
    if (data.bind) data.bind(chains);
    chains.start("position", start);
    try {
      const TaskStatistics found = run_pilot(chains, now, injected_noise, data);
      check(found);
      // Halving that does not bring it nearer to 1 is no remedy: the chains are few or on their
      // way.
      if (best && temperature_off(found) >= temperature_off(*best)) return *best;
      best = found;
      if (temperature_off(found) <= temperature_limit) return found;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::numeric ||
          std::string_view(error.what()).starts_with("[pilot]"))
        throw;
      divergence = bare_text(error);
    }
  }
  if (best) return *best;
  fail(ErrorKind::numeric, "pilot",
       "the short run of SGHMC that measures the task failed with step sizes from {} down to {}: "
       "{}",
       pilot.step_size, 2 * now.step_size, divergence);
}

}  // namespace whorl
