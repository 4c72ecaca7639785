#include "samplers/proof_batch.hpp"

#include <algorithm>

#include "engine/algorithms.hpp"
#include "engine/passes.hpp"

namespace whorl {

namespace {

// Rows that are evaluated at once: enough to share what a run costs, few enough for the caches.
constexpr std::int64_t rows_at_once = 512;

}  // namespace

BatchedGraph::BatchedGraph(const Graph& graph, const std::vector<std::string>& inputs,
                           const Feeds& shared, const std::vector<std::string>& outputs)
    : outputs_(outputs),
      executor_(compile(batch(graph, inputs, rows_at_once), {outputs, {}, 0, nullptr})) {
  for (const std::string& name : inputs) {
    Type type = graph.type(*graph.find(name));
    type.shape = type.shape.with_front(rows_at_once);
    executor_.bind(name, inputs_.emplace(name, Tensor(type)).first->second);
  }
  for (const auto& [name, value] : shared)
    if (graph.find(name)) executor_.bind(name, value);
}

Tables BatchedGraph::operator()(const Tables& inputs) {
  const std::int64_t rows = inputs.at(inputs_.begin()->first).rows();
  Tables results;
  for (const std::string& name : outputs_)
    results.emplace(name, Table(rows, executor_.output(name).elements() / rows_at_once));
  for (std::int64_t first = 0; first < rows; first += rows_at_once) {
    const std::int64_t count = std::min(rows_at_once, rows - first);
    for (auto& [name, tensor] : inputs_) {
      const Table& table = inputs.at(name);
      double* to = tensor.data<double>();
      std::copy_n(table.row(first), count * table.columns, to);
      // The last rows are repeated, so that no old numbers are in the way.
      for (std::int64_t r = count; r < rows_at_once; ++r)
        std::copy_n(table.row(rows - 1), table.columns, to + r * table.columns);
    }
    executor_.run();
    for (auto& [name, table] : results)
      std::copy_n(executor_.output(name).data<double>(), count * table.columns, table.row(first));
  }
  return results;
}

double evaluation_cost(const Graph& graph) {
  const std::vector<char> needed = needed_for(graph, output_nodes(graph));
  double cost = 0;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const OpDef& op = graph.op(id);
    if (!needed[id] || op.is_composition()) continue;
    std::vector<Type> types;
    for (NodeId in : graph.inputs(id)) types.push_back(graph.type(in));
    cost += op.flops({&op, types, graph.attributes(id), graph.type(id)});
  }
  return cost;
}

}  // namespace whorl
