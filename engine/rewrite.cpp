#include "engine/rewrite.hpp"

#include <cassert>

namespace whorl {

std::span<const NodeId> Rewrite::inputs(NodeId old) {
  inputs_.clear();
  for (NodeId in : old_.inputs(old)) {
    assert(has(in));
    inputs_.push_back(place_[in]);
  }
  return inputs_;
}

NodeId Rewrite::copy(NodeId old) {
  const NodeId node =
      graph_.append(old_.op(old), inputs(old), old_.attributes(old), old_.name(old));
  place_[old] = node;
  return node;
}

void Rewrite::place(NodeId old, NodeId node) {
  assert(!has(old));
  place_[old] = node;
  const std::string_view name = old_.name(old);
  if (!name.empty() && graph_.name(node).empty()) graph_.set_name(node, name);
}

Graph Rewrite::finish() {
  for (const Graph::Output& output : old_.outputs())
    graph_.add_output(output.name, place_[output.node]);
  graph_.metadata() = old_.metadata();
  return std::move(graph_);
}

}  // namespace whorl
