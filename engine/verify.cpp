// verify: a graph's invariants, looked at once more from outside.
#include <unordered_set>

#include "engine/passes.hpp"

namespace whorl {

namespace {

template <class... Args>
[[noreturn]] void broken(fmt::format_string<Args...> format, Args&&... args) {
  fail(ErrorKind::internal, "verify", format, std::forward<Args>(args)...);
}

void verify_inputs(const Graph& graph, NodeId id) {
  const OpDef& op = graph.op(id);
  const std::size_t count = graph.inputs(id).size(), wanted = op.input_names.size();
  if (op.variadic ? count < wanted : count != wanted)
    broken("{} has {} inputs, its op takes {}", graph.label(id), count, wanted);
  for (NodeId in : graph.inputs(id))
    if (in >= id) broken("{} comes before its input {}", graph.label(id), in);
}

// `types` is only a buffer.
void verify_type(const Graph& graph, NodeId id, std::vector<Type>& types) {
  types.clear();
  for (NodeId in : graph.inputs(id)) types.push_back(graph.type(in));
  Type inferred;
  try {
    inferred = graph.op(id).infer({&graph.op(id), types, graph.attributes(id), {}});
  } catch (const Error& error) {
    broken("{} is refused by its own op: {}", graph.label(id), error.what());
  }
  if (inferred != graph.type(id))
    broken("{} says {}, its op infers {}", graph.label(id), to_string(graph.type(id)),
           to_string(inferred));
}

void verify_names(const Graph& graph) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    const std::string_view name = graph.name(id);
    if (!name.empty() && graph.find(name) != id)
      broken("the name of {} does not lead back to it", graph.label(id));
  }
  for (NodeId id : graph.input_nodes())
    if (graph.name(id).empty()) broken("{} has no name", graph.label(id));
}

void verify_outputs(const Graph& graph) {
  std::unordered_set<std::string_view> names;
  for (const Graph::Output& output : graph.outputs()) {
    if (output.node >= graph.size())
      broken("output '{}' is node {} of {}", output.name, output.node, graph.size());
    if (!names.insert(output.name).second) broken("output '{}' is there twice", output.name);
  }
}

}  // namespace

void verify(const Graph& graph) {
  std::vector<Type> types;
  for (NodeId id = 0; id < graph.size(); ++id) {
    verify_inputs(graph, id);
    verify_type(graph, id, types);
  }
  verify_names(graph);
  verify_outputs(graph);
}

}  // namespace whorl
