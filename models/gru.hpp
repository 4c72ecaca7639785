// Gru: a Bayesian recurrent network over sequences of frames of zeros and ones.
//
//   h_t = GRU(h_{t-1}, x_{t-1}),   x_0 = 0
//   p(x_t,k = 1 | x_1 .. x_{t-1}) = sigmoid(h_t W_o + b_o)_k,   t = 1 .. length
//
// with N(0, prior_sd^2) on every weight and bias and on the first state h_0. All frames count, the
// first one is predicted from h_0 alone. Parameters are w_x [keys,3 hidden], w_h [hidden,3 hidden],
// b_x and b_h [3 hidden], w_o [hidden,keys], b_o [keys], h_0 [hidden], in this order; the gates are
// r, z, n, as the op `gru` has them. Energies are for one chain, of x [frames,keys] and
// `length` i32[], behind which frames do not count, with all constants of the densities.
// Thread safety: plain values; builders append to the graph of their arguments and need that alone.
#pragma once

#include <span>
#include <vector>

#include "models/energy.hpp"

namespace whorl {

struct Gru {
  std::int64_t keys = 88, hidden = 200;
  double prior_sd = 1;

  // This and all below throw a usage Error unless there is a key and a hidden unit.
  std::int64_t parameter_count() const;
  // New inputs of the role "parameter".
  std::vector<Value> parameters(Graph& graph, DType dtype) const;
  // -log p of each frame, [frames], and 0 behind `length`.
  Value losses(std::span<const Value> parameters, Value x, Value length) const;
  EnergyTerms energy(std::span<const Value> parameters, Value x, Value length) const;
  // The energy as a graph of its own, with room for `frames` frames: inputs as above, outputs
  // `prior`, `likelihood` and `losses`.
  Graph energy_graph(DType dtype, std::int64_t frames) const;
};

}  // namespace whorl
