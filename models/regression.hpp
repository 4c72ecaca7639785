// Bayesian linear and logistic regression: y_i depends on the row x_i and the weights w of [k].
//
//   linear      y_i ~ N(x_i . w, noise_sd^2)
//   logistic    y_i ~ Bernoulli(1 / (1 + exp(-x_i . w))),  y_i is 0 or 1
//
// with w_j ~ N(0, prior_sd^2). An intercept is a column of ones. Energies are for one chain, of
// x [rows,k], y [rows] and w [k] of one element type, with all constants of the densities.
// Thread safety: plain values; energy() appends to the graph of its arguments and needs that alone.
#pragma once

#include "engine/tensor.hpp"
#include "models/energy.hpp"
#include "models/gaussian.hpp"

namespace whorl {

struct LinearRegression {
  double prior_sd = 1;
  double noise_sd = 1;

  EnergyTerms energy(Value w, Value x, Value y) const;
  // The exact posterior given f64 x [rows,k] and y [rows]: precision X'X / noise_sd^2 +
  // I / prior_sd^2, mean covariance X'y / noise_sd^2. Throws a data Error for other types.
  Gaussian posterior(const Tensor& x, const Tensor& y) const;
};

struct LogisticRegression {
  double prior_sd = 1;

  EnergyTerms energy(Value w, Value x, Value y) const;
};

}  // namespace whorl
