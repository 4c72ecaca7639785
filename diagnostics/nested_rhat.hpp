// Nested R-hat: do many chains agree that are too short to be split, or have but one draw?
//
// Chains that start at one point and go separate ways form a superchain. With K superchains of M
// chains of N draws (Margossian, Hoffman, Sountsov, Riou-Durand, Vehtari and Gelman 2024),
//
//   B     = variance of the means of the superchains, divisor K - 1
//   W     = mean over superchains of (variance of the means of their chains, divisor M - 1)
//                                  + (mean over their chains of the variance of draws, divisor N -
//                                  1)
//   nrhat = sqrt(1 + B / W)
//
// where a variance of one number (M = 1 or N = 1) is 0. Of chains that have converged it is about
// sqrt(1 + 1/S) with S the effective draws of a superchain: sqrt(1 + 1/M) for N = 1, so that 1.01
// asks for M of about 50.
//
// Superchains are what the caller says they are: chains 0 to M - 1 are the first, and so on. B sees
// what a superchain still knows of its start. Chains that start independently share no start, so
// each is a superchain of its own (K = chains, which needs N of 2 or more). Were they put together
// at will, what they have not forgotten would count in W, B would be an M-th of it at most, and
// nrhat would stay near sqrt(1 + 1/M) however far apart they are: it must not be read as agreement.
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <span>

namespace whorl {

// Of draws [chains, length]. NaN when they never move, are not finite, or M = N = 1; infinite when
// superchains stay in different places. Throws a usage Error when the draws do not fit, or the
// chains do not make so many superchains of equal size, two or more.
double nested_rhat(std::span<const double> draws, std::int64_t chains, std::int64_t length,
                   std::int64_t superchains);

}  // namespace whorl
