#include "samplers/adam.hpp"

#include <cmath>

#include "engine/ops.hpp"

namespace whorl {

void check(const AdamOptions& options) {
  for (double beta : {options.beta1, options.beta2})
    if (!(beta >= 0 && beta < 1))
      fail(ErrorKind::usage, "adam", "beta1 and beta2 must be in [0, 1): {}", beta);
  if (!(options.epsilon > 0) || !std::isfinite(options.epsilon))
    fail(ErrorKind::usage, "adam", "epsilon must be positive: {}", options.epsilon);
}

AdamStep adam_update(Value parameter, Value gradient, Value m, Value v, Value count, Value rate,
                     const AdamOptions& options) {
  check(options);
  m = options.beta1 * m + (1 - options.beta1) * gradient;
  v = options.beta2 * v + (1 - options.beta2) * square(gradient);
  // In single precision 1 - .999^t has no good digits for the first t; expm1 has them.
  const auto unbiased = [&](Value moment, double beta) {
    return beta == 0 ? moment : moment / -expm1(count * std::log(beta));
  };
  const Value direction =
      unbiased(m, options.beta1) / (sqrt(unbiased(v, options.beta2)) + options.epsilon);
  return {parameter - rate * direction, m, v};
}

}  // namespace whorl
