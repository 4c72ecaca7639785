#include "samplers/energy.hpp"

#include <algorithm>

#include "engine/ops.hpp"
#include "engine/passes.hpp"
#include "engine/role.hpp"

namespace whorl {

namespace {

// Those that make the energy: "U", or "prior" and "likelihood".
std::vector<Graph::Output> energy_outputs(const Graph& graph) {
  std::vector<Graph::Output> outputs;
  for (const Graph::Output& output : graph.outputs())
    if (output.name != logits_output && output.name != losses_output) outputs.push_back(output);
  return outputs;
}

void check_outputs(const Graph& graph, double likelihood_scale) {
  const std::vector<Graph::Output> outputs = energy_outputs(graph);
  for (const Graph::Output& output : outputs)
    if (graph.type(output.node).shape.rank() != 0 || !is_float(graph.type(output.node).dtype))
      graph_error("energy", "output '{}' is {}; an energy is a scalar", output.name,
                  to_string(graph.type(output.node)));
  if (outputs.size() == 1) {
    if (likelihood_scale != 1)
      fail(ErrorKind::usage, "energy",
           "minibatches need the outputs 'prior' and 'likelihood', so that only the likelihood is "
           "scaled; the graph has the single output '{}'",
           outputs[0].name);
    return;
  }
  const auto has = [&](std::string_view name) {
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](const Graph::Output& output) { return output.name == name; });
  };
  if (outputs.size() != 2 || !has("prior") || !has("likelihood"))
    graph_error("energy",
                "expected one scalar output, or the two outputs 'prior' and 'likelihood'; the "
                "graph has {} outputs",
                outputs.size());
}

}  // namespace

Energy::Energy(Graph graph, double likelihood_scale)
    : graph_(std::move(graph)), likelihood_scale_(likelihood_scale) {
  for (NodeId id : graph_.input_nodes()) {
    if (!is_parameter(graph_, id)) continue;
    const Type& type = graph_.type(id);
    const std::string name(graph_.name(id));
    if (!is_float(type.dtype))
      graph_error("energy", "parameter '{}' is {}; parameters are f32 or f64", name,
                  to_string(type));
    if (parameters_.empty()) dtype_ = type.dtype;
    if (type.dtype != dtype_)
      graph_error("energy", "parameter '{}' is {} and parameter '{}' is {}; they must agree", name,
                  whorl::name(type.dtype), parameters_[0].name, whorl::name(dtype_));
    parameters_.push_back({name, type.shape, size_});
    size_ += type.elements();
  }
  if (size_ == 0)
    graph_error("energy", "no input has the role \"parameter\", so there is nothing to sample");
  check_outputs(graph_, likelihood_scale);
}

std::vector<std::string> Energy::data() const {
  std::vector<std::string> names;
  for (NodeId id : graph_.input_nodes())
    if (!is_parameter(graph_, id)) names.emplace_back(graph_.name(id));
  return names;
}

std::map<std::string, Value, std::less<>> Energy::inputs_of(
    Value theta, const std::map<std::string, Value, std::less<>>& data) const {
  std::map<std::string, Value, std::less<>> inputs = data;
  for (const Parameter& parameter : parameters_) {
    const Value part =
        parameters_.size() == 1
            ? theta
            : slice(theta, 0, parameter.offset, parameter.offset + parameter.shape.elements());
    inputs[parameter.name] = reshape(part, parameter.shape);
  }
  return inputs;
}

Energy::Parts Energy::parts(Value theta, const std::map<std::string, Value, std::less<>>& data,
                            std::string_view prefix, Value scale) const {
  const auto outputs = append_graph(*theta.graph, graph_, inputs_of(theta, data), prefix);
  const auto likelihood = outputs.find("likelihood");
  const auto prior = outputs.find("prior");
  if (likelihood == outputs.end() || prior == outputs.end())
    return {outputs.at(energy_outputs(graph_)[0].name), {}};
  const Value scaled = scale                    ? likelihood->second * scale
                       : likelihood_scale_ == 1 ? likelihood->second
                                                : likelihood->second * likelihood_scale_;
  return {prior->second + scaled, prior->second};
}

bool Energy::has_output(std::string_view name) const {
  const auto outputs = graph_.outputs();
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](const Graph::Output& each) { return each.name == name; });
}

Graph Energy::prediction(std::string_view output) const {
  Graph graph;
  const Value theta = input(graph, "theta", {dtype_, {size_}}, "parameter");
  const auto outputs = append_graph(graph, graph_, inputs_of(theta, {}));
  const auto found = outputs.find(output);
  if (found == outputs.end())
    fail(ErrorKind::usage, "predict",
         "the energy has no output '{}', from which predictions are made", output);
  graph.add_output(output, found->second.id);
  return remove_dead(graph);
}

}  // namespace whorl
