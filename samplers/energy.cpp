#include "samplers/energy.hpp"

#include <algorithm>

#include "engine/ops.hpp"
#include "engine/role.hpp"

namespace whorl {

namespace {

// "U", or "prior" and "likelihood".
void check_outputs(const Graph& graph, double likelihood_scale) {
  const auto& outputs = graph.outputs();
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

Value Energy::operator()(Value theta, const std::map<std::string, Value, std::less<>>& data,
                         std::string_view prefix) const {
  std::map<std::string, Value, std::less<>> inputs = data;
  for (const Parameter& parameter : parameters_) {
    const Value part =
        parameters_.size() == 1
            ? theta
            : slice(theta, 0, parameter.offset, parameter.offset + parameter.shape.elements());
    inputs[parameter.name] = reshape(part, parameter.shape);
  }
  const auto outputs = append_graph(*theta.graph, graph_, inputs, prefix);
  if (outputs.size() == 1) return outputs.begin()->second;
  const Value likelihood = outputs.at("likelihood");
  return outputs.at("prior") +
         (likelihood_scale_ == 1 ? likelihood : likelihood * likelihood_scale_);
}

}  // namespace whorl
