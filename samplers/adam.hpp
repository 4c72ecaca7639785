// Adam (Kingma and Ba 2015) as graph nodes:
//
//   m' = b1 m + (1 - b1) g,   v' = b2 v + (1 - b2) g^2
//   x' = x - rate * (m' / (1 - b1^t)) / (sqrt(v' / (1 - b2^t)) + epsilon)
//
// Thread safety: as for Graph::append.
#pragma once

#include "engine/graph.hpp"

namespace whorl {

struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};

struct AdamStep {
  Value parameter, m, v;
};

// Throws a usage Error for a beta outside [0, 1) or an epsilon that is not positive.
void check(const AdamOptions& options);

// `count` is t, the number of this update, from 1; `count` and `rate` are scalars of x's dtype.
AdamStep adam_update(Value parameter, Value gradient, Value m, Value v, Value count, Value rate,
                     const AdamOptions& options = {});

}  // namespace whorl
