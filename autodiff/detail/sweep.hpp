// Sweep: one backward walk over a window of a graph. The inside of gradient().
//
// A window is a range of ids, and, for the parts of a composition, the few nodes before the range
// that they start from. Everything is indexed by the place in the window, so a sweep costs nothing
// for the rest of the graph.
//
// Life: want() and target() name the two ends, mark() finds the nodes between them, check_rules()
// makes sure that each has a gradient, seed() and run() append the adjoints, adjoint() gives them.
// Thread safety: none; run() appends to the graph.
#pragma once

#include <limits>
#include <vector>

#include "engine/graph.hpp"

namespace whorl::detail {

// Whether a gradient flows from a node back to one of its inputs.
bool gradient_flows(const Graph& graph, NodeId input, NodeId node);

class Sweep {
 public:
  // The window: `before` (ascending, all smaller than `first`), then [first, last).
  Sweep(Graph& graph, NodeId first, NodeId last, std::vector<NodeId> before = {});

  void want(NodeId id);    // a variable; outside the window it is left unused
  void target(NodeId id);  // a value that is differentiated
  void mark();
  // Whether the node lies between a variable and a target.
  bool is_active(NodeId id) const;
  // Throws a graph Error that names the first active node whose op has no gradient.
  void check_rules() const;

  void seed(NodeId target, Value adjoint);
  void run();
  // Empty where nothing arrived.
  Value adjoint(NodeId id) const;

 private:
  static constexpr std::uint32_t nothing = std::numeric_limits<std::uint32_t>::max();
  struct Contribution {
    NodeId value;
    std::uint32_t next;
  };

  // The place in the window, or the window's size.
  std::size_t place(NodeId id) const;
  bool has_active_input(NodeId id) const;
  void contribute(NodeId to, Value value);
  Value collect(std::size_t place);
  void apply_rule(NodeId id, Value dy);
  void apply_composition(NodeId id, Value dy, std::span<const NodeId> inputs);

  Graph& graph_;
  NodeId first_;
  std::vector<NodeId> before_;
  std::vector<char> active_;
  std::vector<char> target_;
  // Per place, a list of contributions; the one that was added last comes first. Consumers are
  // visited in descending order, so the list is in ascending order of their ids.
  std::vector<std::uint32_t> head_;
  std::vector<Contribution> contributions_;
};

}  // namespace whorl::detail
