#include "samplers/santa.hpp"

#include <cmath>

#include "engine/ops.hpp"
#include "samplers/second_moment.hpp"

namespace whorl {

namespace {

void check(const SantaOptions& options) {
  if (!(options.friction >= 0) || !std::isfinite(options.friction))
    fail(ErrorKind::usage, "santa", "the friction must be finite and not negative: {}",
         options.friction);
  if (!(options.decay >= 0 && options.decay <= 1))
    fail(ErrorKind::usage, "santa", "the decay must be in [0, 1]: {}", options.decay);
  if (!(options.epsilon > 0) || !std::isfinite(options.epsilon))
    fail(ErrorKind::usage, "santa", "epsilon must be positive: {}", options.epsilon);
  if (!(options.data_size > 0) || !std::isfinite(options.data_size))
    fail(ErrorKind::usage, "santa", "the data size must be positive: {}", options.data_size);
  if (!(options.beta_scale > 0) || !std::isfinite(options.beta_scale))
    fail(ErrorKind::usage, "santa", "the scale of beta must be positive: {}", options.beta_scale);
  if (!(options.beta_power >= 0) || !std::isfinite(options.beta_power))
    fail(ErrorKind::usage, "santa", "the power of beta must be finite and not negative: {}",
         options.beta_power);
  if (options.refine_from.value_or(0) < 0)
    fail(ErrorKind::usage, "santa", "the first step of the refinement must not be negative: {}",
         *options.refine_from);
  // Steps are counted in the energy's type, and floats hold no more of them.
  if (options.refine_from.value_or(0) > 1 << 24)
    fail(ErrorKind::usage, "santa", "the refinement must begin by step {}: {}", 1 << 24,
         *options.refine_from);
}

// 1 while a chain explores, 0 when it refines; a scalar.
Value exploring(Value count, const SantaOptions& options) {
  const Value yes = fill_like(count, 1);
  if (!options.refine_from) return yes;
  const Value border = fill_like(count, static_cast<double>(*options.refine_from));
  return select(less(count, border), yes, fill_like(count, 0));
}

}  // namespace

Step santa_step(const Energy& energy, const SantaOptions& options) {
  check(options);
  StepBuilder step(energy, options.gradient);
  const Value p = step.state("momentum", step.vector(), {Start::Kind::normal, 0, 1});
  const Value xi =
      step.state("thermostat", step.vector(), {Start::Kind::constant, options.friction, 0});
  const Value v =
      second_moment(step, "santa", {options.decay, options.data_size, options.likelihood_only});
  const Value count = step.state("count", step.scalar());
  const Value f = step.gradient(), h = sqrt(step.step_size());

  const Value g = 1 / sqrt(options.epsilon + sqrt(v));

  const Value explores = exploring(count, options);
  const Value t = count + 1;
  const Value beta = options.beta_scale * pow(t, fill_like(t, options.beta_power));
  const Value temperature = explores / beta;
  const Value bound = broadcast(1 / h, Shape{step.size()});
  const Value thermostat =
      minimum(maximum(xi + explores * h * (square(p) - temperature), -bound), bound);
  // max(thermostat, g), but in refinement only.
  const Value friction = thermostat + (1 - explores) * relu(g - thermostat);
  const Value alpha = minimum(h * friction, fill_like(friction, 1));

  const Value noise = sqrt(2 * h * temperature * g) * step.normal(p.type(), Streams::noise + 1);
  const Value next = (1 - alpha) * p - h * g * f + noise;
  step.update("position", step.position() + h * g * next);
  step.update("momentum", next);
  step.update("thermostat", thermostat);
  step.update("count", t);
  return step.finish();
}

}  // namespace whorl
