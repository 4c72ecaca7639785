// compile: from a graph to a plan that runs without thinking.
//
// Passes simplify the graph; then elementwise nodes are grouped into loops, nodes get an order that
// keeps memory low, values get places in one arena, and steps are put into stages. A plan is
// immutable; many executors, in many threads, may share one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/graph.hpp"
#include "engine/passes.hpp"

namespace whorl {

class Plan;

struct CompileOptions {
  // The outputs to compute; empty: all of the graph's.
  std::vector<std::string> outputs;
  // Passes to leave out, by name; "fuse" leaves out the grouping of elementwise nodes.
  std::vector<std::string> skip;
  // The most bytes that arena, scratch and outputs may take together; 0: no limit.
  // A plan that needs more is refused with a memory Error before anything is allocated.
  std::int64_t memory_budget = 0;
  // Filled with what each pass did, when given.
  std::vector<PassReport>* report = nullptr;
};

std::shared_ptr<const Plan> compile(const Graph& graph, const CompileOptions& options = {});

}  // namespace whorl
