#include "samplers/psgld.hpp"

#include <cmath>

#include "engine/ops.hpp"
#include "samplers/second_moment.hpp"

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
  const Value v =
      second_moment(step, "psgld", {options.decay, options.data_size, options.likelihood_only});
  const Value g = step.gradient();
  const Value scale = 1 / (options.epsilon + sqrt(v));
  step.update("position",
              moved(step, noise, {-(scale * g), {}, scale, scale}, step.position(), 0, "position"));
  return step.finish();
}

}  // namespace whorl
