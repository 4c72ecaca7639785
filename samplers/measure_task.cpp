#include "samplers/measure_task.hpp"

#include <cmath>
#include <optional>
#include <string>

#include "samplers/dynamics.hpp"

namespace whorl {

namespace {

// Keeps the pilot's noise apart from that of the run that it is for.
constexpr std::uint64_t pilot_seed = 0x70696c6f74;  // "pilot"
// Of the step size, where the target is too stiff for it.
constexpr int halvings = 6;

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
          std::sqrt(gradient.mean_square() + injected_noise * injected_noise)};
}

// Nothing when the chains diverge; `why` then says where.
std::optional<TaskStatistics> attempt(const Energy& energy, const GradientSource& gradient,
                                      const Pilot& pilot, const Start& start, std::uint64_t seed,
                                      const TaskData& data, int threads, std::string& why) {
  RecipeOptions options;
  options.gradient = gradient;
  Chains chains(recipe_step(energy, complete_recipe(sghmc_dynamics(pilot.friction)), options),
                {.chains = pilot.chains,
                 .steps_per_run = steps_per_run(pilot.chains * energy.size(), pilot.steps),
                 .seed = seed ^ pilot_seed,
                 .threads = threads,
                 .statistics = {"gradient"}});
  if (data.bind) data.bind(chains);
  chains.start("position", start);
  try {
    return run_pilot(chains, pilot, gradient.injected_noise, data);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numeric) throw;
    const std::string_view text = error.what();
    why = text.substr(text.find("] ") + 2);
    return std::nullopt;
  }
}

}  // namespace

TaskStatistics measure_task(const Energy& energy, const GradientSource& gradient,
                            const Pilot& pilot, const Start& start, std::uint64_t seed,
                            const TaskData& data, int threads) {
  check(pilot);
  Pilot now = pilot;
  std::string why;
  auto found = attempt(energy, gradient, now, start, seed, data, threads, why);
  for (int i = 0; i < halvings && !found; ++i) {
    now.step_size /= 2;
    found = attempt(energy, gradient, now, start, seed, data, threads, why);
  }
  if (!found)
    fail(ErrorKind::numeric, "pilot",
         "the short run of SGHMC that measures the task diverged with step size {}, and with all "
         "its halves down to {}: {}",
         pilot.step_size, now.step_size, why);
  if (!(found->energy_sd > 0) || !std::isfinite(found->energy_sd) ||
      !std::isfinite(found->gradient_rms) || !std::isfinite(found->momentum_rms))
    fail(ErrorKind::numeric, "pilot",
         "the short run that measures the task found an energy of {} with deviation {}, momentum "
         "{} and gradient {}; expected numbers, and an energy that varies",
         found->energy_mean, found->energy_sd, found->momentum_rms, found->gradient_rms);
  return *found;
}

}  // namespace whorl
