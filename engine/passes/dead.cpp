// dead: nodes that no output needs are left out. Inputs stay, because a caller binds them by name.
#include "engine/passes.hpp"
#include "engine/rewrite.hpp"

namespace whorl {

Graph remove_dead(const Graph& graph) {
  std::vector<char> needed(graph.size(), 0);
  for (const Graph::Output& output : graph.outputs()) needed[output.node] = 1;
  for (NodeId id : graph.input_nodes()) needed[id] = 1;
  // Inputs have smaller ids than their users, so one walk backwards sees every user first.
  for (auto id = static_cast<NodeId>(graph.size()); id-- > 0;)
    if (needed[id])
      for (NodeId in : graph.inputs(id)) needed[in] = 1;

  Rewrite rewrite(graph);
  for (NodeId id = 0; id < graph.size(); ++id)
    if (needed[id]) rewrite.copy(id);
  return rewrite.finish();
}

}  // namespace whorl
