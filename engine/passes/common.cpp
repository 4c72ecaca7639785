// common: equal ops with equal attributes on equal inputs become one node.
//
// The first of them stays, so the result does not depend on hash values. Random nodes are functions
// of their inputs and attributes like any other. Only `input` nodes are never merged: two of them
// are bound to different memory.
#include <algorithm>
#include <unordered_map>

#include "engine/passes.hpp"
#include "engine/rewrite.hpp"

namespace whorl {

namespace {

std::size_t mix(std::size_t seed, std::size_t value) {
  return (seed ^ (value + 0x9E3779B97F4A7C15ull + (seed << 6) + (seed >> 2))) *
         0xFF51AFD7ED558CCDull;
}

// What a node computes, in terms of the new graph. Types need no look: they follow from the rest.
struct Expression {
  const OpDef* op;
  std::span<const NodeId> inputs;
  const Attributes* attributes;

  bool commutes() const { return op->is(Traits::commutative) && inputs.size() == 2; }
  std::size_t hash() const {
    std::size_t seed = std::hash<const OpDef*>{}(op);
    if (commutes()) {
      const auto [low, high] = std::minmax(inputs[0], inputs[1]);
      seed = mix(mix(seed, low), high);
    } else {
      for (NodeId input : inputs) seed = mix(seed, input);
    }
    return mix(seed, attributes->hash());
  }
  friend bool operator==(const Expression& a, const Expression& b) {
    if (a.op != b.op) return false;
    const bool same =
        std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end());
    const bool swapped = !same && a.commutes() && b.commutes() && a.inputs[0] == b.inputs[1] &&
                         a.inputs[1] == b.inputs[0];
    return (same || swapped) && *a.attributes == *b.attributes;
  }
};

}  // namespace

Graph merge_common(const Graph& graph) {
  Rewrite rewrite(graph);
  const Graph& made = rewrite.graph();
  const OpDef* const input = find_op("input");
  std::unordered_multimap<std::size_t, NodeId> seen;
  seen.reserve(graph.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (&graph.op(id) == input) {
      rewrite.copy(id);
      continue;
    }
    const Expression wanted{&graph.op(id), rewrite.inputs(id), &graph.attributes(id)};
    const std::size_t hash = wanted.hash();
    const auto [first, last] = seen.equal_range(hash);
    const auto same = std::find_if(first, last, [&](const auto& entry) {
      const NodeId other = entry.second;
      return Expression{&made.op(other), made.inputs(other), &made.attributes(other)} == wanted;
    });
    if (same != last) {
      rewrite.place(id, same->second);
    } else {
      seen.emplace(hash, rewrite.copy(id));
    }
  }
  return rewrite.finish();
}

}  // namespace whorl
