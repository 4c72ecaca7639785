#include "models/mlp.hpp"

#include <algorithm>

#include "engine/ops.hpp"

namespace whorl {

namespace {

void check_layers(const Mlp& model) {
  if (model.layers.size() < 2)
    fail(ErrorKind::usage, "mlp", "there are {} layers; expected the inputs and the classes",
         model.layers.size());
  if (*std::min_element(model.layers.begin(), model.layers.end()) < 1)
    fail(ErrorKind::usage, "mlp", "a layer has no units");
}

Value activated(Activation activation, Value x) {
  switch (activation) {
    case Activation::relu:
      return relu(x);
    case Activation::sigmoid:
      return sigmoid(x);
    case Activation::tanh:
      break;
  }
  return tanh(x);
}

// The shape of parameter k: W_1, b_1, W_2, ...
Shape parameter_shape(const Mlp& model, std::size_t k) {
  const std::int64_t in = model.layers[k / 2], out = model.layers[k / 2 + 1];
  return k % 2 == 0 ? Shape{in, out} : Shape{out};
}

std::size_t parameters_of(const Mlp& model) { return 2 * (model.layers.size() - 1); }

void check_parameters(const Mlp& model, std::span<const Value> parameters) {
  check_layers(model);
  if (parameters.size() != parameters_of(model))
    fail(ErrorKind::usage, "mlp", "there are {} parameters; expected {}, W and b of each layer",
         parameters.size(), parameters_of(model));
  for (std::size_t k = 0; k < parameters.size(); ++k)
    if (parameters[k].shape() != parameter_shape(model, k))
      graph_error("mlp", "parameter {} is {}; expected the shape {}", k,
                  to_string(parameters[k].type()), to_string(parameter_shape(model, k)));
}

}  // namespace

std::int64_t Mlp::parameter_count() const {
  check_layers(*this);
  std::int64_t count = 0;
  for (std::size_t k = 0; k < parameters_of(*this); ++k)
    count += parameter_shape(*this, k).elements();
  return count;
}

std::vector<Value> Mlp::parameters(Graph& graph, DType dtype) const {
  check_layers(*this);
  std::vector<Value> result;
  for (std::size_t k = 0; k < parameters_of(*this); ++k)
    result.push_back(input(graph, fmt::format("{}{}", k % 2 == 0 ? 'W' : 'b', k / 2 + 1),
                           {dtype, parameter_shape(*this, k)}, "parameter"));
  return result;
}

Value Mlp::logits(std::span<const Value> parameters, Value x) const {
  check_parameters(*this, parameters);
  if (x.shape().rank() != 2 || x.shape()[1] != layers.front())
    graph_error("mlp", "x is {}; expected [rows,{}]", to_string(x.type()), layers.front());
  Value h = x;
  for (std::size_t k = 0; k < parameters.size(); k += 2) {
    h = matmul(h, parameters[k]) + parameters[k + 1];
    if (k + 2 < parameters.size()) h = activated(activation, h);
  }
  return h;
}

EnergyTerms Mlp::energy(std::span<const Value> parameters, Value x, Value y) const {
  const Value scores = logits(parameters, x);
  if (y.dtype() != DType::i32 || y.shape() != Shape{x.shape()[0]})
    graph_error("mlp", "y is {}; expected i32[{}], a label for each row of x", to_string(y.type()),
                x.shape()[0]);
  return {prior_of(parameters, prior_sd), sum(softmax_cross_entropy(scores, y))};
}

Graph Mlp::energy_graph(DType dtype, std::int64_t rows) const {
  Graph graph;
  const std::vector<Value> weights = parameters(graph, dtype);
  const Value x = input(graph, "x", {dtype, {rows, layers.front()}});
  const Value y = input(graph, "y", {DType::i32, {rows}});
  const EnergyTerms terms = energy(weights, x, y);
  graph.add_output("prior", terms.prior.id);
  graph.add_output("likelihood", terms.likelihood.id);
  return graph;
}

}  // namespace whorl
