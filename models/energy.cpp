#include "models/energy.hpp"

#include <cmath>
#include <numbers>

#include "engine/ops.hpp"

namespace whorl {

Value minibatch_energy(const EnergyTerms& terms, std::int64_t rows, std::int64_t total) {
  if (rows < 1 || rows > total)
    fail(ErrorKind::usage, "minibatch_energy",
         "the minibatch has {} rows; expected 1 to {}, the rows of the data set", rows, total);
  return terms.prior + static_cast<double>(total) / static_cast<double>(rows) * terms.likelihood;
}

Value normal_prior(Value theta, double sd) {
  if (!(sd > 0) || !std::isfinite(sd))
    fail(ErrorKind::usage, "normal_prior",
         "the standard deviation is {}; expected a positive number", sd);
  const double constant = static_cast<double>(theta.type().elements()) *
                          (std::log(sd) + 0.5 * std::log(2 * std::numbers::pi));
  return 0.5 / (sd * sd) * sum(square(theta)) + constant;
}

Value prior_of(std::span<const Value> parameters, double sd) {
  Value prior;
  for (Value parameter : parameters) {
    const Value own = normal_prior(parameter, sd);
    prior = prior ? prior + own : own;
  }
  return prior;
}

}  // namespace whorl
