// Questions about the form of a graph: what is on its longest path, which edges a drawing can leave
// out, what a picture of it looks like; and for plain lists of edges, whether there is a cycle.
//
// Nothing here recurses, so depth is bounded by memory only.
// Thread safety: pure functions of their arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph.hpp"

namespace whorl {

// The nodes that the graph's outputs name.
std::vector<NodeId> output_nodes(const Graph& graph);
// Per node: whether one of `wanted` is it or needs it.
std::vector<char> needed_for(const Graph& graph, const std::vector<NodeId>& wanted);

// The most expensive path, when a path costs the sum of its nodes' costs (which must not be
// negative): no schedule, on any number of threads, is quicker.
struct CriticalPath {
  double cost = 0;
  std::vector<NodeId> nodes;  // from a source to the last node
};
CriticalPath critical_path(const Graph& graph, const std::function<double(NodeId)>& cost);

// A node's level is the length of the longest path that ends at it: 0 for sources.
struct Levels {
  std::vector<std::uint32_t> of;    // by node
  std::vector<std::size_t> widths;  // by level: how many nodes it has
  std::size_t depth() const { return widths.size(); }
  std::size_t widest() const;  // the largest width; 0 for an empty graph
};
Levels levels(const Graph& graph);

// For every node, which of its inputs are not reached through another of them as well, each once,
// ascending. In time nodes * edges / 64: for drawing, not for every run.
std::vector<std::vector<NodeId>> transitive_reduction(const Graph& graph);

struct DotOptions {
  bool clusters = true;  // a box around the nodes whose names share a prefix "layer1/..."
  bool reduced = false;  // leave out the edges that other paths imply
};
// The graph in Graphviz's language.
std::string to_dot(const Graph& graph, const DotOptions& options = {});

// Directed graphs that are only a list of edges (from, to) between the vertices 0..n-1, such as a
// file before it has become a Graph.
using EdgeList = std::vector<std::pair<std::size_t, std::size_t>>;

// Some cycle, as v0 -> v1 -> ... -> v0 with v0 named once, beginning at its smallest vertex.
std::optional<std::vector<std::size_t>> find_cycle(std::size_t n, const EdgeList& edges);
// An order in which every edge leads forward, among those the one that takes the smallest vertex
// first; nothing when there is a cycle.
std::optional<std::vector<std::size_t>> topological_order(std::size_t n, const EdgeList& edges);

}  // namespace whorl
