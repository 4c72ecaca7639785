#include "samplers/second_moment.hpp"

#include "engine/ops.hpp"

namespace whorl {

Value second_moment(StepBuilder& step, std::string_view sampler,
                    const SecondMomentOptions& options) {
  const Value before = step.state("second_moment", step.vector(), {Start::Kind::constant, -1, 0});
  const Value g = step.gradient();
  if (options.likelihood_only && !step.prior())
    fail(ErrorKind::usage, sampler,
         "moments of the likelihood alone need an energy with the outputs 'prior' and "
         "'likelihood'");
  const Value measured = options.likelihood_only ? g - step.prior_gradient() : g;
  const Value now = square(options.data_size == 1 ? measured : measured / options.data_size);
  const Value v = select(less(before, fill_like(before, 0)), now,
                         options.decay * before + (1 - options.decay) * now);
  step.update("second_moment", v);
  return v;
}

}  // namespace whorl
