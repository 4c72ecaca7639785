#include "samplers/optimisers.hpp"

#include "engine/ops.hpp"

namespace whorl {

Step adam_step(const Energy& energy, const AdamOptions& options, const GradientSource& gradient) {
  check(options);
  StepBuilder step(energy, gradient);
  const Value m = step.state("first_moment", step.vector());
  const Value v = step.state("second_moment", step.vector());
  const Value t = step.state("count", step.scalar()) + 1;
  const AdamStep next =
      adam_update(step.position(), step.gradient(), m, v, t, step.step_size(), options);
  step.update("position", next.parameter);
  step.update("first_moment", next.m);
  step.update("second_moment", next.v);
  step.update("count", t);
  return step.finish();
}

Step sgdm_step(const Energy& energy, double decay, const GradientSource& gradient) {
  if (!(decay >= 0 && decay < 1))
    fail(ErrorKind::usage, "sgdm", "the momentum decay must be in [0, 1): {}", decay);
  StepBuilder step(energy, gradient);
  const Value velocity = decay * step.state("velocity", step.vector()) + step.gradient();
  step.update("position", step.position() - step.step_size() * velocity);
  step.update("velocity", velocity);
  return step.finish();
}

}  // namespace whorl
