// The Stein estimate of a score: grad log q at points of which only the points are known.
//
// For K points x_j of R^n, the rows of x,
//
//   d2_ij = |x_i - x_j|^2          m = the lower median of all K*K of them, zeros included
//   K_ij  = exp(-d2_ij / m)        an RBF kernel whose bandwidth is h = m / 2
//   R_i   = sum_j K_ij (x_i - x_j) / h
//   G     = -(K + ridge I)^-1 R    G_i estimates grad log q(x_i)
//
// G is a constant for every gradient: the builders stop the gradient at x themselves.
//
// Points may lie far from the origin: distances are formed around the cloud's own centre. Where m
// is so small beside the mean of d2 that rounding has eaten it (most points are the same, or there
// are only two), the mean takes its place; where all points are the same, G is zero, so that a loss
// is left with its energy. A point that is not finite ends the run with a numeric Error.
//
// Thread safety: as for Graph::append.
#pragma once

#include "engine/graph.hpp"

namespace whorl {

struct SteinOptions {
  double ridge = 0.03;
};

// [K,K] of x [K,n]; never negative, and exactly zero on the diagonal.
Value squared_distances(Value x);

// G, of x's type. Time O(K^2 n + K^3), memory O(K n + K^2). Throws a graph Error when x is not a
// floating-point [K,n] with K >= 2, or the ridge is not a positive number.
Value stein_score(Value x, const SteinOptions& options = {});

}  // namespace whorl
