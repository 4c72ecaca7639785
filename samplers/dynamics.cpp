#include "samplers/dynamics.hpp"

#include "engine/algorithms.hpp"
#include "engine/ops.hpp"

namespace whorl {

namespace {

Value everywhere(StepBuilder& step, double value) {
  return fill(step.graph(), step.vector(), value);
}

}  // namespace

Dynamics sgld_dynamics() {
  return {{}, [](StepBuilder& step, const Point&) {
            return Matrices{{}, {{"position", everywhere(step, 1)}}};
          }};
}

Dynamics sghmc_dynamics(double friction) {
  return {{{"momentum"}}, [friction](StepBuilder& step, const Point&) {
            return Matrices{{{"momentum", "position", everywhere(step, 1)}},
                            {{"momentum", everywhere(step, friction)}}};
          }};
}

Dynamics sgnht_dynamics(double friction, bool per_coordinate) {
  const Variable thermostat{"thermostat", !per_coordinate, {Start::Kind::constant, friction, 0}};
  Dynamics dynamics;
  dynamics.variables = {{"momentum"}, thermostat};
  dynamics.matrices = [=](StepBuilder& step, const Point& point) {
    const double share = per_coordinate ? 1 : 1 / static_cast<double>(step.size());
    return Matrices{{{"momentum", "position", everywhere(step, 1)},
                     {"momentum", "thermostat", point.variables.at("momentum") * share}},
                    {{"momentum", everywhere(step, friction)}}};
  };
  dynamics.kinetic = [=](const std::map<std::string, Value, std::less<>>& z) {
    const Value momentum = z.at("momentum"), distance = z.at("thermostat") - friction;
    const double weight = per_coordinate ? 1 : static_cast<double>(momentum.shape().elements());
    return 0.5 * sum(square(momentum)) + 0.5 * weight * sum(square(distance));
  };
  return dynamics;
}

namespace {

std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts(1);
  for (char c : name) {
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

}  // namespace

Dynamics graph_dynamics(std::vector<Variable> variables, const Graph& graph) {
  const bool has_momentum = !variables.empty() && variables[0].name == "momentum";
  const auto evaluate_at = [graph](Graph& into,
                                   const std::map<std::string, Value, std::less<>>& values) {
    std::map<std::string, Value, std::less<>> inputs;
    for (NodeId id : graph.input_nodes()) {
      const auto value = values.find(graph.name(id));
      if (value == values.end())
        graph_error("sampler", "input '{}' is not a variable, 'energy', 'gradient' or 'size'",
                    graph.name(id));
      inputs[std::string(graph.name(id))] = value->second;
    }
    return append_graph(into, graph, inputs);
  };

  Dynamics dynamics;
  dynamics.variables = std::move(variables);
  dynamics.matrices = [=](StepBuilder& step, const Point& point) {
    auto values = point.variables;
    values["energy"] = point.energy;
    values["gradient"] = point.gradient;
    values["size"] = everywhere(step, static_cast<double>(step.size()));
    Matrices matrices;
    for (const auto& [name, value] : evaluate_at(step.graph(), values)) {
      const std::vector<std::string> parts = parts_of(name);
      if (parts[0] == "D" && parts.size() <= 2)
        matrices.diffusion.push_back({parts.size() == 2 ? parts[1]
                                      : has_momentum    ? "momentum"
                                                        : "position",
                                      value});
      else if (parts[0] == "Q" && (parts.size() == 3 || (parts.size() == 1 && has_momentum)))
        matrices.curl.push_back({parts.size() == 3 ? parts[1] : "momentum",
                                 parts.size() == 3 ? parts[2] : "position", value});
      else if (name != "K")
        graph_error("sampler",
                    "output '{}' is unknown; expected D, D.VARIABLE, Q, Q.ROW.COLUMN or K", name);
    }
    return matrices;
  };
  for (const Graph::Output& output : graph.outputs()) {
    if (output.name != "K") continue;
    const std::vector<char> needed = needed_for(graph, {output.node});
    for (const char* name : {"energy", "gradient"})
      if (const auto node = graph.find(name); node && needed[*node])
        graph_error("sampler", "K depends on '{}'; it is a function of the variables alone", name);
    dynamics.kinetic = [=](const std::map<std::string, Value, std::less<>>& z) {
      auto values = z;
      Graph& into = *z.begin()->second.graph;
      for (auto& [name, value] : values) value = broadcast(value, z.at("position").shape());
      // What D and Q look at is not needed for K.
      values["energy"] = values["gradient"] = fill_like(z.at("position"), 0);
      values["size"] =
          fill_like(z.at("position"), static_cast<double>(z.at("position").shape().elements()));
      return evaluate_at(into, values).at("K");
    };
  }
  return dynamics;
}

}  // namespace whorl
