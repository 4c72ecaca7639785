// The role of an input: what a driver is to do with it.
//
// Thread safety: free functions.
#pragma once

#include <string>

#include "engine/graph.hpp"

namespace whorl {

// "data" or "parameter"; "" for a node that is no input.
std::string role(const Graph& graph, NodeId input);
inline bool is_parameter(const Graph& graph, NodeId input) {
  return role(graph, input) == "parameter";
}

}  // namespace whorl
