// Aliases: which values are other values' bytes.
//
// A reshape or a leading slice makes no new bytes: it is its root's storage from an offset on.
// Thread safety: immutable after construction.
#pragma once

#include <vector>

#include "engine/graph.hpp"

namespace whorl {

// The Site of a node, which borrows `types` for the inputs' types.
Site site_of(const Graph& graph, NodeId id, std::vector<Type>& types);

class Aliases {
 public:
  explicit Aliases(const Graph& graph);

  bool is_alias(NodeId id) const { return root_[id] != id; }
  NodeId root(NodeId id) const { return root_[id]; }
  std::int64_t offset(NodeId id) const { return offset_[id]; }  // in bytes, from the root's first
  // For values that a loop can make plane by plane, the number of planes; else 0.
  std::int64_t planes(NodeId id) const { return planes_[id]; }

 private:
  std::vector<NodeId> root_;
  std::vector<std::int64_t> offset_;
  std::vector<std::int64_t> planes_;
};

}  // namespace whorl
