// lower: compositions are replaced by their parts, so that later passes and the plan meet only ops
// with kernels.
#include "engine/passes/lower.hpp"

#include <algorithm>

#include "engine/passes.hpp"
#include "engine/rewrite.hpp"

namespace whorl {

namespace {

// One round: the parts may hold compositions themselves, which are left to the next round.
Graph expand_once(const Graph& graph, const std::vector<char>& chosen) {
  Rewrite rewrite(graph);
  std::vector<Value> inputs;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!chosen[id]) {
      rewrite.copy(id);
      continue;
    }
    inputs.clear();
    for (NodeId in : graph.inputs(id)) inputs.push_back(rewrite.value(in));
    Value result;
    try {
      result = graph.op(id).compose({inputs, &graph.attributes(id)});
    } catch (const Error& error) {
      throw Error(error.kind(), "lower", fmt::format("{}: {}", graph.label(id), error.what()));
    }
    if (result.type() != graph.type(id))
      fail(ErrorKind::internal, "lower", "{} is {}, but its composition is {}", graph.label(id),
           to_string(graph.type(id)), to_string(result.type()));
    rewrite.place(id, result.id);
  }
  return rewrite.finish();
}

std::vector<char> compositions(const Graph& graph) {
  std::vector<char> chosen(graph.size());
  for (NodeId id = 0; id < graph.size(); ++id) chosen[id] = graph.op(id).is_composition();
  return chosen;
}

}  // namespace

Graph expand(const Graph& graph, const std::function<std::vector<char>(const Graph&)>& choose) {
  Graph result = graph;
  for (int round = 0;; ++round) {
    const std::vector<char> chosen = choose(result);
    const auto first = std::find(chosen.begin(), chosen.end(), 1);
    if (first == chosen.end()) return result;
    if (round == expansion_limit)
      graph_error("lower", "{} is composed of itself, or of parts nested deeper than {}",
                  result.label(static_cast<NodeId>(first - chosen.begin())), expansion_limit);
    result = expand_once(result, chosen);
  }
}

Graph lower(const Graph& graph) { return expand(graph, compositions); }

}  // namespace whorl
