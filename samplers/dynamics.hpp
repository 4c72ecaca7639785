// The samplers that are known by name, as instances of the recipe.
//
//   sgld    D[position] = 1                              Welling and Teh (2011)
//   sghmc   D[momentum] = C, Q[momentum][position] = 1   Chen, Fox and Guestrin (2014)
//   sgnht   as sghmc, with the friction as a variable    Ding et al. (2014)
//
// Thread safety: plain values.
#pragma once

#include "samplers/recipe.hpp"

namespace whorl {

Dynamics sgld_dynamics();
Dynamics sghmc_dynamics(double friction);

// The friction xi adapts until the momentum has its temperature, whatever noise the gradient
// brings. With one thermostat for a chain,
//   H = U + |p|^2/2 + n (xi - A)^2/2,  D[p] = A,  Q[p][theta] = 1,  Q[p][xi] = p/n,
//   so dp = -g - xi p, dxi = |p|^2/n - 1.
// With one for each coordinate the same holds with n = 1 for each of them.
Dynamics sgnht_dynamics(double friction, bool per_coordinate = false);

// A sampler whose D and Q are a graph. Its inputs are any of `position`, `momentum`, the other
// variables, `energy`, `gradient` and `size` (the number n), all of shape [n]; its outputs are
//   D or D.VARIABLE         D[momentum][momentum] (of the position, when there is no momentum)
//   Q or Q.ROW.COLUMN       Q[momentum][position]
//   K                       H - U, a scalar; |momentum|^2 / 2 when it is left out
// Throws a graph Error for any other name.
Dynamics graph_dynamics(std::vector<Variable> variables, const Graph& graph);

}  // namespace whorl
