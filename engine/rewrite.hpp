// Rewrite: a new graph made from an old one, node by node.
//
// A pass walks the old graph in order of ids and gives every node it keeps a place in the new one:
// a copy, another node that is already there, or something built from the new graph's values. The
// rewrite remembers the places, carries names along, and at the end connects outputs and metadata.
//
// Invariants: a node's place is given once, has the node's type (batching aside), and comes after
// the places of its inputs. A place without a name takes the name of the first node that has one.
// Thread safety: one thread at a time; the old graph is only read and must outlive the rewrite.
#pragma once

#include <limits>
#include <vector>

#include "engine/graph.hpp"

namespace whorl {

class Rewrite {
 public:
  explicit Rewrite(const Graph& old) : old_(old), place_(old.size(), nowhere) {}
  Rewrite(const Rewrite&) = delete;
  Rewrite& operator=(const Rewrite&) = delete;

  const Graph& old() const { return old_; }
  Graph& graph() { return graph_; }

  bool has(NodeId old) const { return place_[old] != nowhere; }
  // Where an old node went; it must have a place.
  NodeId operator[](NodeId old) const { return place_[old]; }
  Value value(NodeId old) { return graph_.value(place_[old]); }
  // The places of an old node's inputs; valid until the next call.
  std::span<const NodeId> inputs(NodeId old);

  // Appends the same op with the same attributes to the inputs' places.
  NodeId copy(NodeId old);
  // The old node's value is that of `node` in the new graph.
  void place(NodeId old, NodeId node);
  // The new graph, with the old one's outputs and metadata. Every output must have a place.
  Graph finish();

 private:
  static constexpr NodeId nowhere = std::numeric_limits<NodeId>::max();

  const Graph& old_;
  Graph graph_;
  std::vector<NodeId> place_;
  std::vector<NodeId> inputs_;
};

}  // namespace whorl
