#include "samplers/psgld.hpp"

#include <cmath>

#include "engine/ops.hpp"

namespace whorl {

namespace {

void check(const PsgldOptions& options) {
  if (!(options.decay >= 0 && options.decay <= 1))
    fail(ErrorKind::usage, "psgld", "the decay must be in [0, 1]: {}", options.decay);
  if (!(options.epsilon > 0) || !std::isfinite(options.epsilon))
    fail(ErrorKind::usage, "psgld", "epsilon must be positive: {}", options.epsilon);
  if (!(options.data_size > 0) || !std::isfinite(options.data_size))
    fail(ErrorKind::usage, "psgld", "the data size must be positive: {}", options.data_size);
}

}  // namespace

Step psgld_step(const Energy& energy, const PsgldOptions& options) {
  check(options);
  RecipeOptions noise;
  noise.temperature = options.temperature;
  noise.noise_estimate = options.noise_estimate;
  check(noise);

  StepBuilder step(energy, options.gradient);
  const Value before = step.state("second_moment", step.vector(), {Start::Kind::constant, -1, 0});
  const Value g = step.gradient();
  if (options.likelihood_only && !step.prior())
    fail(ErrorKind::usage, "psgld",
         "moments of the likelihood alone need an energy with the outputs 'prior' and "
         "'likelihood'");
  const Value measured = options.likelihood_only ? g - step.prior_gradient() : g;
  const Value now = square(options.data_size == 1 ? measured : measured / options.data_size);
  const Value v = select(less(before, fill_like(before, 0)), now,
                         options.decay * before + (1 - options.decay) * now);
  const Value scale = 1 / (options.epsilon + sqrt(v));
  step.update("position",
              moved(step, noise, {-(scale * g), {}, scale, scale}, step.position(), 0, "position"));
  step.update("second_moment", v);
  return step.finish();
}

}  // namespace whorl
