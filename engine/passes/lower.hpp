// Replacing nodes by their ops' compositions, for `lower` and for `batch`.
#pragma once

#include <functional>
#include <vector>

#include "engine/graph.hpp"

namespace whorl {

// Replaces the nodes that `choose` marks by the compositions of their ops, and asks again, until it
// marks none; a marked op must have a composition. Throws a graph Error after `expansion_limit`
// rounds: an op that is composed of itself never ends.
inline constexpr int expansion_limit = 16;
Graph expand(const Graph& graph, const std::function<std::vector<char>(const Graph&)>& choose);

}  // namespace whorl
