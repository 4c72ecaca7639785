// KL losses of samplers, as surrogates whose gradient is the meta-gradient.
//
// A cloud of K points x_j drawn by a sampler has the law q; the target is exp(-U). With the score
// of q estimated (losses/stein.hpp), the gradient of KL(q || target) by the points is
//
//   (1/K) (grad U(x_j) + G_j)        for each point j
//
// and kl_surrogate = (1/K) sum_j < stop(grad U(x_j) + G_j), x_j > has exactly this gradient. Its
// value has no meaning. Gradients of U must be exact ones,
// without the noise that a sampler may add, and no gradient flows through them.
//
// Thread safety: as for Graph::append.
#pragma once

#include <span>

#include "engine/graph.hpp"
#include "losses/stein.hpp"

namespace whorl {

// The positions of all chains at one time, with what the model says of them.
struct Snapshot {
  Value position;  // [K,n]
  Value gradient;  // [K,n], of U, exact
};

struct LossOptions {
  double ridge = 0.03;
  // For in_chain_loss: all points of the chosen chains form one cloud, instead of one for each.
  bool pooled = true;
};

// All throw a graph Error when there are no snapshots or their types do not fit.

// One cloud: position and gradient [K,n].
Value kl_surrogate(Value position, Value gradient, const SteinOptions& options = {});

// One cloud for each time, of all chains; the mean over times.
Value cross_chain_loss(std::span<const Snapshot> snapshots, const LossOptions& options = {});

// The points that chosen chains visit over time: one cloud of times * m points, or, when not
// pooled, one of `times` points for each chosen chain, and the mean over chains. `chains` is i32[m]
// with indices of 0 .. K-1.
Value in_chain_loss(std::span<const Snapshot> snapshots, Value chains,
                    const LossOptions& options = {});

}  // namespace whorl
