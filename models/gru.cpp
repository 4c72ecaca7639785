#include "models/gru.hpp"

#include <utility>

#include "engine/ops.hpp"

namespace whorl {

namespace {

std::vector<std::pair<const char*, Shape>> parameter_shapes(const Gru& model) {
  if (model.keys < 1 || model.hidden < 1)
    fail(ErrorKind::usage, "gru", "there are {} keys and {} hidden units; expected at least 1",
         model.keys, model.hidden);
  const std::int64_t gates = 3 * model.hidden;
  return {{"w_x", {model.keys, gates}},
          {"w_h", {model.hidden, gates}},
          {"b_x", {gates}},
          {"b_h", {gates}},
          {"w_o", {model.hidden, model.keys}},
          {"b_o", {model.keys}},
          {"h_0", {model.hidden}}};
}

void check(const Gru& model, std::span<const Value> parameters, Value x, Value length) {
  const auto shapes = parameter_shapes(model);
  if (parameters.size() != shapes.size())
    fail(ErrorKind::usage, "gru", "there are {} parameters; expected {}", parameters.size(),
         shapes.size());
  for (std::size_t k = 0; k < shapes.size(); ++k)
    if (parameters[k].shape() != shapes[k].second)
      graph_error("gru", "parameter '{}' is {}; expected the shape {}", shapes[k].first,
                  to_string(parameters[k].type()), to_string(shapes[k].second));
  if (x.shape().rank() != 2 || x.shape()[1] != model.keys)
    graph_error("gru", "x is {}; expected [frames,{}]", to_string(x.type()), model.keys);
  if (length.type() != Type{DType::i32, {}})
    graph_error("gru", "length is {}; expected i32[]", to_string(length.type()));
}

}  // namespace

std::int64_t Gru::parameter_count() const {
  std::int64_t count = 0;
  for (const auto& [name, shape] : parameter_shapes(*this)) count += shape.elements();
  return count;
}

std::vector<Value> Gru::parameters(Graph& graph, DType dtype) const {
  std::vector<Value> result;
  for (const auto& [name, shape] : parameter_shapes(*this))
    result.push_back(input(graph, name, {dtype, shape}, "parameter"));
  return result;
}

Value Gru::losses(std::span<const Value> parameters, Value x, Value length) const {
  check(*this, parameters, x, length);
  const std::int64_t frames = x.shape()[0];
  const Value past = pad(slice(x, 0, 0, frames - 1), 0, 1, 0);
  const Value h =
      gru(past, length, parameters[0], parameters[1], parameters[2], parameters[3], parameters[6]);
  const Value logits = matmul(h, parameters[4]) + parameters[5];
  const Value each = sum(bernoulli_cross_entropy(logits, x), {1});
  const Value time = iota(*x.graph, {DType::i32, {frames}}, 0);
  return select(less(time, length), each, fill_like(each, 0));
}

EnergyTerms Gru::energy(std::span<const Value> parameters, Value x, Value length) const {
  return {prior_of(parameters, prior_sd), sum(losses(parameters, x, length))};
}

Graph Gru::energy_graph(DType dtype, std::int64_t frames) const {
  Graph graph;
  const std::vector<Value> weights = parameters(graph, dtype);
  const Value x = input(graph, "x", {dtype, {frames, keys}});
  const Value length = input(graph, "length", {DType::i32, {}});
  const Value each = losses(weights, x, length);
  graph.add_output("prior", prior_of(weights, prior_sd).id);
  graph.add_output("likelihood", sum(each).id);
  graph.add_output("losses", each.id);
  return graph;
}

}  // namespace whorl
