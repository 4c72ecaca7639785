// Fusion: which nodes run together as one loop over elements.
//
// A group is a set of elementwise nodes with the same number of elements, with the generators they
// read (broadcasts, fills, random numbers) made on the fly, and with row sums of their values as
// sinks. It runs tile by tile with the ops' own kernels, so that values which nobody else reads
// never leave the first-level cache. Fusing does not change bits. Networks per coordinate, whose
// output is several planes of coordinates, count as elementwise nodes of a plane's size.
//
// Which nodes may share a group: give every node a level that never falls along an edge and rises
// by one on every edge that is not a plain element-to-element read inside one iteration space. A
// path that leaves a group and comes back would have to rise, so nodes of one level and size never
// depend on each other through a node outside; they can be one step. Nodes and whole loops move to
// later levels where fewer values then wait in memory, and totals that are mere outputs follow the
// loops that read the same values. Thread safety: immutable after construction.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/aliases.hpp"
#include "engine/graph.hpp"

namespace whorl {

struct Group {
  std::vector<NodeId> nodes;  // in order of execution: ascending ids
  std::vector<NodeId> sinks;  // row sums of values of the group
  std::int64_t elements = 0;
  std::int64_t row = 0;  // the length of the sinks' rows; `elements` when there are none
};

struct Grouping {
  static constexpr std::int32_t none = -1;
  std::vector<Group> groups;
  // The group that makes a node's value for everybody: none for nodes that are no part of a loop.
  // A generator may be made again inside other groups, and so may a value that is cheaper to make
  // of what the group reads anyway than to bring through memory.
  std::vector<std::int32_t> home;
};

// `needed` marks the nodes that are to be computed. With fuse == false every node is alone.
Grouping group_elementwise(const Graph& graph, const Aliases& aliases,
                           const std::vector<char>& needed, bool fuse);

// Whether node `id` reads input `k` element by element, from a value whose bytes start at the
// root's first, or at one of its planes: such a read can come from a loop's temporary.
bool reads_elementwise(const Graph& graph, const Aliases& aliases, NodeId id, std::size_t k);
// The elements of a value, or of one of its planes.
std::int64_t loop_elements(const Graph& graph, const Aliases& aliases, NodeId id);
// Which plane of its root a value is, where the root has planes; else 0.
std::int64_t plane_of(const Graph& graph, const Aliases& aliases, NodeId id);

}  // namespace whorl
