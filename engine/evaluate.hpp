// evaluate: the plain meaning of a graph, node by node, every value in memory of its own
// until its last use.
//
// No fusion, no sharing, no threads. It is what optimised runs are compared with, what folds
// constants, what numeric differences step through, and what finds the first non-finite node.
// Thread safety: reads the graph only.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/graph.hpp"

namespace whorl {

using Feeds = std::map<std::string, Tensor, std::less<>>;

struct EvaluateOptions {
  // Values to take instead of computing them.
  const std::unordered_map<NodeId, Tensor>* frozen = nullptr;
  // Sees every value as it is made, in order of ids; false ends the evaluation.
  std::function<bool(NodeId, const Tensor&)> observe = {};
};

// The values of `wanted`; only their ancestors are computed. Throws as a run would.
std::vector<Tensor> evaluate(const Graph& graph, const Feeds& feeds,
                             const std::vector<NodeId>& wanted,
                             const EvaluateOptions& options = {});
// The graph's outputs, by name.
std::map<std::string, Tensor, std::less<>> evaluate(const Graph& graph, const Feeds& feeds);

// One op on given inputs.
Tensor evaluate_op(const OpDef& op, const std::vector<Tensor>& inputs,
                   const Attributes& attributes);

struct NonFinite {
  NodeId node;
  std::int64_t count, elements, first;  // how many, of how many, and where the first is
};
// The first node in id order with a non-finite value, among the outputs' ancestors.
std::optional<NonFinite> first_non_finite(const Graph& graph, const Feeds& feeds);

// The feed for an input node, checked: throws a graph Error when it is missing or has another type.
const Tensor& checked_feed(const Graph& graph, NodeId input, const Feeds& feeds);

}  // namespace whorl
