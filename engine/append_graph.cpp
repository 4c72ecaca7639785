#include "engine/graph.hpp"

namespace whorl {

namespace {

void check_input(std::string_view name, const Type& wanted, const Type& found) {
  if (wanted != found)
    graph_error("append_graph", "input '{}' is {}, the value given for it is {}", name,
                to_string(wanted), to_string(found));
}

}  // namespace

std::map<std::string, Value, std::less<>> append_graph(
    Graph& into, const Graph& part, const std::map<std::string, Value, std::less<>>& inputs,
    std::string_view prefix) {
  std::vector<NodeId> place(part.size());
  std::vector<char> is_input(part.size(), 0);
  for (NodeId id : part.input_nodes()) is_input[id] = 1;
  for (const auto& [name, value] : inputs) {
    const auto id = part.find(name);
    if (!id || !is_input[*id]) graph_error("append_graph", "the graph has no input '{}'", name);
    if (value.graph != &into)
      graph_error("append_graph", "the value for input '{}' is of another graph", name);
  }

  std::vector<NodeId> arguments;
  for (NodeId id = 0; id < part.size(); ++id) {
    const std::string_view name = part.name(id);
    if (is_input[id]) {
      const auto given = inputs.find(name);
      const auto there = into.find(name);
      if (given != inputs.end() || there) {
        place[id] = given != inputs.end() ? given->second.id : *there;
        check_input(name, part.type(id), into.type(place[id]));
        continue;
      }
      place[id] = into.append(part.op(id), {}, part.attributes(id), name);
      continue;
    }
    arguments.clear();
    for (NodeId in : part.inputs(id)) arguments.push_back(place[in]);
    const std::string new_name =
        prefix.empty() || name.empty() ? std::string() : fmt::format("{}{}", prefix, name);
    place[id] = into.append(part.op(id), arguments, part.attributes(id), new_name);
  }

  std::map<std::string, Value, std::less<>> outputs;
  for (const Graph::Output& output : part.outputs())
    outputs.emplace(output.name, into.value(place[output.node]));
  return outputs;
}

}  // namespace whorl
