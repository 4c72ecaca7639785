// Mlp: a Bayesian neural network that classifies, y_i ~ softmax(logits(x_i)).
//
//   h_0 = x,   h_l = activation(h_{l-1} W_l + b_l),   logits = h_{L-1} W_L + b_L
//
// with N(0, prior_sd^2) on every weight and bias. `layers` are the widths from the inputs to the
// classes, so 784, 40, 40, 10 has three weight matrices. The parameters are W_1, b_1, W_2, b_2, ...
// with W_l [in,out] and b_l [out], in this order, also where they are one flat vector. Energies are
// for one chain, of x [rows,in] and labels y i32[rows], with all constants of the densities.
// Thread safety: plain values; builders append to the graph of their arguments and need that alone.
#pragma once

#include <span>
#include <vector>

#include "models/energy.hpp"

namespace whorl {

enum class Activation { relu, sigmoid, tanh };

struct Mlp {
  std::vector<std::int64_t> layers;
  Activation activation = Activation::relu;
  double prior_sd = 1;

  // How many weights and biases there are. This and all below throw a usage Error unless there are
  // two layers or more, none of them empty.
  std::int64_t parameter_count() const;
  // New inputs W1, b1, ... of the role "parameter".
  std::vector<Value> parameters(Graph& graph, DType dtype) const;
  // [rows, classes]
  Value logits(std::span<const Value> parameters, Value x) const;
  EnergyTerms energy(std::span<const Value> parameters, Value x, Value y) const;
  // The energy as a graph of its own, to be sampled by minibatches of `rows` rows: inputs W1, b1,
  // ..., x and y, outputs `prior` and `likelihood`.
  Graph energy_graph(DType dtype, std::int64_t rows) const;
};

}  // namespace whorl
