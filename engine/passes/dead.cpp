// dead: nodes that no output needs are left out. Inputs stay, because a caller binds them by name.
#include "engine/algorithms.hpp"
#include "engine/passes.hpp"
#include "engine/rewrite.hpp"

namespace whorl {

Graph remove_dead(const Graph& graph) {
  auto wanted = output_nodes(graph);
  for (NodeId id : graph.input_nodes()) wanted.push_back(id);
  const auto needed = needed_for(graph, wanted);

  Rewrite rewrite(graph);
  for (NodeId id = 0; id < graph.size(); ++id)
    if (needed[id]) rewrite.copy(id);
  return rewrite.finish();
}

}  // namespace whorl
