#include "samplers/adam.hpp"

#include <cmath>

#include "engine/ops.hpp"

namespace whorl {

namespace {

// x / (1 - beta^t). In single precision 1 - .999^t has no good digits for the first t: expm1 has.
Value corrected(Value x, double beta, Value t) {
  return beta == 0 ? x : x / -expm1(t * std::log(beta));
}

}  // namespace

void check(const AdamOptions& options) {
  for (double beta : {options.beta1, options.beta2})
    if (!(beta >= 0 && beta < 1))
      fail(ErrorKind::usage, "adam", "beta1 and beta2 must be in [0, 1): {}", beta);
  if (!(options.epsilon > 0) || !std::isfinite(options.epsilon))
    fail(ErrorKind::usage, "adam", "epsilon must be positive: {}", options.epsilon);
}

AdamUpdate adam_update(Value parameter, Value gradient, Value m, Value v, Value t, Value rate,
                       const AdamOptions& options) {
  check(options);
  const Value count = t.dtype() == parameter.dtype() ? t : cast(t, parameter.dtype());
  const Value m_next = options.beta1 * m + (1 - options.beta1) * gradient;
  const Value v_next = options.beta2 * v + (1 - options.beta2) * square(gradient);
  const Value scale = sqrt(corrected(v_next, options.beta2, count)) + options.epsilon;
  return {parameter - rate * corrected(m_next, options.beta1, count) / scale, m_next, v_next};
}

}  // namespace whorl
