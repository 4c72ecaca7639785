#include "samplers/hmc.hpp"

#include <cmath>

#include "engine/ops.hpp"

namespace whorl {

namespace {

void check(const HmcOptions& options) {
  if (options.leapfrog_steps < 1 || options.leapfrog_steps > 10000)
    fail(ErrorKind::usage, "hmc", "the number of leapfrog steps must be in [1, 10000]: {}",
         options.leapfrog_steps);
  if (!(options.jitter >= 0 && options.jitter < 1))
    fail(ErrorKind::usage, "hmc", "the jitter must be in [0, 1): {}", options.jitter);
  if (!(options.temperature > 0 && options.temperature <= 1e6))
    fail(ErrorKind::usage, "hmc", "the temperature must be in (0, 1e6]: {}", options.temperature);
}

Value kinetic(Value momentum) { return 0.5 * sum(square(momentum)); }

}  // namespace

Step hmc_step(const Energy& energy, const HmcOptions& options) {
  check(options);
  StepBuilder step(energy, {});
  Value eta = step.step_size();
  if (options.jitter > 0)
    eta = eta * (1 + options.jitter * (2 * step.uniform(step.scalar(), Streams::jitter) - 1));
  const Value half = 0.5 * eta;

  Value momentum = step.normal(step.vector(), Streams::noise + 1);
  if (options.temperature != 1) momentum = std::sqrt(options.temperature) * momentum;
  const Value before = step.energy() + kinetic(momentum);

  Value position = step.position(), u = step.energy(), g = step.gradient();
  for (std::int64_t i = 0; i < options.leapfrog_steps; ++i) {
    momentum = momentum - half * g;
    position = position + eta * momentum;
    std::tie(u, g) = step.energy_at(position);
    momentum = momentum - half * g;
  }

  const Value gain = (before - (u + kinetic(momentum))) / options.temperature;
  // False for a gain that is not a number.
  const Value accepted = less(log(step.uniform(step.scalar(), Streams::accept)), gain);
  step.update("position",
              select(broadcast(accepted, step.vector().shape), position, step.position()));
  step.statistic("accepted", cast(accepted, step.dtype()));
  return step.finish();
}

}  // namespace whorl
