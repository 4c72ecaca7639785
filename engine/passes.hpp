// Passes: pure functions from graph to graph that keep its meaning.
//
// Every pass keeps the inputs (all of them, even unused, in their order), the outputs' names and
// types, node names where the node survives, and the metadata. Results may differ in the last bits
// only where a pass says so (engine/passes/algebra.hpp has the list). One door runs them: it can
// skip by name, times them, verifies the graph after each, and names the culprit when one breaks
// it. Differentiate first: `algebra` drops stop_gradient, which has no meaning at run time. Thread
// safety: passes read their argument and make a new graph.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/graph.hpp"

namespace whorl {

struct Pass {
  std::string_view name;
  Graph (*run)(const Graph&);
};

struct PassReport {
  std::string name;
  double seconds = 0;  // with the verification
  std::size_t nodes_before = 0;
  std::size_t nodes_after = 0;
};

// The pipeline, in order. A pass may stand in it more than once.
const std::vector<Pass>& standard_passes();

// Runs the pipeline without the passes named in `skip` ("lower" cannot be skipped); an unknown name
// is a usage Error.
Graph simplify(const Graph& graph, const std::vector<std::string>& skip = {},
               std::vector<PassReport>* report = nullptr);
// The same with any other pipeline.
Graph run_passes(const Graph& graph, const std::vector<Pass>& passes,
                 const std::vector<std::string>& skip = {},
                 std::vector<PassReport>* report = nullptr);

Graph lower(const Graph& graph);             // compositions by their parts
Graph remove_dead(const Graph& graph);       // nodes that no output needs (inputs stay)
Graph fold_constants(const Graph& graph);    // nodes whose inputs are all known
Graph simplify_algebra(const Graph& graph);  // x*1, double negation, reshape of reshape, ...
Graph merge_common(const Graph& graph);      // equal ops on equal inputs become one
// coordinate_net nodes that differ in `wrt` only become one node with the union, narrow inputs are
// not repeated, and dead nodes go. It keeps every stop_gradient: run it on a step before that is
// differentiated by the weights, and the weights' gradient is one node for all derivatives, too.
Graph merge_nets(const Graph& graph);

// The graph for `size` chains at once: the named inputs get a leading axis of that size, and so
// does everything that depends on them; random nodes draw separately for each chain. Outputs that
// do not depend on them are broadcast, so that every output has the chain axis. Throws a usage
// Error for an unknown input or size < 1, and a graph Error that names the node for an op that
// cannot be batched.
Graph batch(const Graph& graph, const std::vector<std::string>& inputs, std::int64_t size);

// Throws an internal Error when the graph breaks an invariant: inputs before users, types as
// inferred again, names and outputs in place. Linear in nodes and edges.
void verify(const Graph& graph);

}  // namespace whorl
