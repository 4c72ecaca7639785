#include "diagnostics/temperature.hpp"

#include <cmath>
#include <limits>

namespace whorl {

namespace {

// How far a temperature may be off, in parts of what is expected and in standard errors.
constexpr double near = 0.05, errors = 5;
constexpr double far = 0.25;  // whatever the standard error
constexpr std::size_t enough_chains = 4;

}  // namespace

Temperature temperature_of(std::span<const double> chain_means, double expected) {
  Temperature result;
  result.estimate = std::numeric_limits<double>::quiet_NaN();
  result.expected = expected;
  if (chain_means.empty()) return result;
  const double chains = static_cast<double>(chain_means.size());
  double sum = 0, squares = 0;
  for (double mean : chain_means) sum += mean;
  if (!std::isfinite(sum)) return result;
  result.estimate = sum / chains;
  for (double mean : chain_means) squares += (mean - result.estimate) * (mean - result.estimate);
  if (chain_means.size() >= enough_chains)
    result.error = std::sqrt(squares / (chains - 1) / chains);
  result.verdict = temperature_verdict(result.estimate, result.error, expected);
  return result;
}

TemperatureVerdict temperature_verdict(double estimate, std::optional<double> error,
                                       double expected) {
  const double off = std::abs(estimate - expected);
  const bool certain = error && off > errors * *error;
  if (off > far * expected || (off > near * expected && certain))
    return estimate > expected ? TemperatureVerdict::too_hot : TemperatureVerdict::too_cold;
  return off <= near * expected && error && *error <= near * expected
             ? TemperatureVerdict::agrees
             : TemperatureVerdict::cannot_tell;
}

std::string_view to_string(TemperatureVerdict verdict) {
  switch (verdict) {
    case TemperatureVerdict::agrees:
      return "agrees";
    case TemperatureVerdict::too_hot:
      return "too hot";
    case TemperatureVerdict::too_cold:
      return "too cold";
    case TemperatureVerdict::cannot_tell:
      return "cannot tell";
  }
  return "";
}

std::string_view temperature_advice(TemperatureVerdict verdict) {
  switch (verdict) {
    case TemperatureVerdict::too_hot:
      return "a smaller step size or more friction may help";
    case TemperatureVerdict::too_cold:
      return "the chains may not have settled; more burn-in may help";
    default:
      return "";
  }
}

}  // namespace whorl
