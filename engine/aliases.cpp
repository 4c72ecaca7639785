#include "engine/aliases.hpp"

namespace whorl {

Site site_of(const Graph& graph, NodeId id, std::vector<Type>& types) {
  types.clear();
  for (NodeId in : graph.inputs(id)) types.push_back(graph.type(in));
  return {&graph.op(id), types, graph.attributes(id), graph.type(id)};
}

Aliases::Aliases(const Graph& graph)
    : root_(graph.size()), offset_(graph.size(), 0), planes_(graph.size(), 0) {
  std::vector<Type> types;
  for (NodeId id = 0; id < graph.size(); ++id) {
    root_[id] = id;
    if (graph.inputs(id).empty()) continue;
    const Site site = site_of(graph, id, types);
    planes_[id] = graph.op(id).planes(site);
    const auto at = graph.op(id).alias(site);
    if (!at) continue;
    const NodeId in = graph.inputs(id)[0];
    root_[id] = root_[in];
    offset_[id] = offset_[in] + *at * static_cast<std::int64_t>(size_of(graph.type(in).dtype));
  }
}

}  // namespace whorl
