// The quantile function of the standard normal law: the z with Phi(z) = p.
//
// Wichura's rational approximations (Applied Statistics 37, 1988, algorithm AS 241): in p - 1/2
// near the middle, in sqrt(-log p) in the tails, where p is the smaller of both sides. Right to
// about 1e-15 in parts of z, down to the smallest p that a double holds.
// Thread safety: pure function.
#pragma once

namespace whorl {

// -infinity at 0, infinity at 1, NaN outside [0, 1].
double normal_quantile(double p);

}  // namespace whorl
