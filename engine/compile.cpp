#include "engine/compile.hpp"

#include <algorithm>
#include <unordered_map>

#include "engine/planner.hpp"

namespace whorl {

namespace {

// The graph with only the wanted outputs.
Graph with_outputs(const Graph& graph, const std::vector<std::string>& wanted) {
  Graph result = graph;
  if (wanted.empty()) return result;
  std::vector<std::string_view> names;
  std::unordered_map<std::string_view, NodeId> nodes;
  for (const auto& output : graph.outputs()) {
    names.push_back(output.name);
    nodes.emplace(output.name, output.node);
  }
  result.clear_outputs();
  for (const std::string& name : wanted) {
    const auto found = nodes.find(name);
    if (found == nodes.end())
      graph_error("compile", "there is no output '{}'{}", name, did_you_mean(name, names));
    result.add_output(name, found->second);
  }
  return result;
}

}  // namespace

std::shared_ptr<const Plan> compile(const Graph& graph, const CompileOptions& options) {
  if (graph.size() == 0) graph_error("compile", "the graph has no nodes");
  if (graph.outputs().empty()) graph_error("compile", "the graph has no outputs");
  std::vector<std::string> skip = options.skip;
  const bool fuse = std::erase(skip, "fuse") == 0;
  auto plan = make_plan(simplify(with_outputs(graph, options.outputs), skip, options.report), fuse);
  const std::int64_t bytes = plan->memory_bytes(1);
  if (options.memory_budget > 0 && bytes > options.memory_budget)
    fail(ErrorKind::memory, "compile", "the plan needs {} bytes, the budget is {}", bytes,
         options.memory_budget);
  return plan;
}

}  // namespace whorl
