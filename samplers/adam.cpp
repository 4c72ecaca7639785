#include "samplers/adam.hpp"

#include "engine/ops.hpp"

namespace whorl {

AdamStep adam_update(Value parameter, Value gradient, Value m, Value v, Value count, Value rate,
                     const AdamOptions& options) {
  m = options.beta1 * m + (1 - options.beta1) * gradient;
  v = options.beta2 * v + (1 - options.beta2) * square(gradient);
  const auto unbiased = [&](Value moment, double beta) {
    return moment / (1 - pow(fill_like(count, beta), count));
  };
  const Value direction =
      unbiased(m, options.beta1) / (sqrt(unbiased(v, options.beta2)) + options.epsilon);
  return {parameter - rate * direction, m, v};
}

}  // namespace whorl
