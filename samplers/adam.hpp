// Adam (Kingma and Ba, 2015) as nodes of a graph, for meta-training and for the reference
// optimiser.
//
//   m' = beta1 m + (1 - beta1) g            x' = x - rate (m' / (1 - beta1^t))
//   v' = beta2 v + (1 - beta2) g^2                   / (sqrt(v' / (1 - beta2^t)) + epsilon)
//
// Thread safety: free functions; a Graph is changed by one thread at a time.
#pragma once

#include "engine/graph.hpp"

namespace whorl {

struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
};

struct AdamUpdate {
  Value parameter, m, v;
};

// Throws a usage Error for a beta outside [0, 1) or an epsilon that is not positive.
void check(const AdamOptions& options);

// `t` is the number of this update, a scalar that counts from 1, of any dtype; `rate` is a scalar
// of the parameter's dtype. m and v begin with zeros.
AdamUpdate adam_update(Value parameter, Value gradient, Value m, Value v, Value t, Value rate,
                       const AdamOptions& options = {});

}  // namespace whorl
