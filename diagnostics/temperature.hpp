// Is a sampler as warm as it should be?
//
// Two numbers tell, each as the mean over the draws of a chain: the kinetic temperature p^2 / n of
// n momenta, and the configurational one, theta . grad U / n (the virial: E[theta . grad U] = n T
// at temperature T, wherever exp(-U/T) falls off fast enough). The first sees whether the momenta
// are heated by the noise of gradients or by too large a step; the second sees the same of the
// positions, and is wrong as long as the chains have not settled.
//
//   estimate = mean over chains,  error = sd over chains / sqrt(chains)
//
// The rule: with `off` the distance from what is expected, in parts of that,
//
//   off > 25 %                           too hot or too cold, whatever the error
//   off > 5 % and more than 5 errors     too hot or too cold
//   off <= 5 % and error <= 5 %          agrees
//   else                                 cannot tell
//
// Fewer than 4 chains have no error, because they do not tell how far chains scatter: they cannot
// tell unless they are far off.
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace whorl {

enum class TemperatureVerdict { agrees, too_hot, too_cold, cannot_tell };

struct Temperature {
  double estimate = 0;          // NaN without chains, or when one has no finite mean
  std::optional<double> error;  // of four chains or more
  double expected = 0;
  TemperatureVerdict verdict = TemperatureVerdict::cannot_tell;
};

Temperature temperature_of(std::span<const double> chain_means, double expected = 1);
TemperatureVerdict temperature_verdict(double estimate, std::optional<double> error,
                                       double expected);

// "agrees", "too hot", "too cold", "cannot tell"
std::string_view to_string(TemperatureVerdict verdict);
// What may help, as the end of a sentence; "" where nothing is known to be wrong.
std::string_view temperature_advice(TemperatureVerdict verdict);

}  // namespace whorl
