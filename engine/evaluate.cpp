#include "engine/evaluate.hpp"

#include <cmath>

#include "engine/algorithms.hpp"
#include "engine/floating_point.hpp"
#include "engine/ops.hpp"

namespace whorl {

namespace {

// A composition has no kernel: its parts are evaluated in a graph of their own.
Tensor evaluate_composition(const OpDef& op, const std::vector<Tensor>& inputs,
                            const Attributes& attributes) {
  Graph parts;
  std::vector<Value> values;
  Feeds feeds;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = fmt::format("x{}", i);
    values.push_back(input(parts, name, inputs[i].type()));
    feeds.emplace(name, inputs[i]);
  }
  const Value result = op.compose({values, &attributes});
  return evaluate(parts, feeds, {result.id}).front();
}

}  // namespace

const Tensor& checked_feed(const Graph& graph, NodeId input, const Feeds& feeds) {
  const std::string_view name = graph.name(input);
  const auto found = feeds.find(name);
  if (found == feeds.end())
    graph_error("run", "input '{}' is not fed: expected {}", name, to_string(graph.type(input)));
  if (found->second.type() != graph.type(input))
    graph_error("run", "input '{}' is fed with {}; expected {}", name,
                to_string(found->second.type()), to_string(graph.type(input)));
  return found->second;
}

Tensor evaluate_op(const OpDef& op, const std::vector<Tensor>& inputs,
                   const Attributes& attributes) {
  if (op.is_composition()) return evaluate_composition(op, inputs, attributes);
  std::vector<Type> types;
  std::vector<const void*> pointers;
  for (const Tensor& tensor : inputs) {
    types.push_back(tensor.type());
    pointers.push_back(tensor.raw());
  }
  Site site{&op, types, attributes, {}};
  site.out = op.infer(site);
  Tensor result(site.out);
  const std::size_t kernel = op.kernel_index(site);
  const FlushDenormals guard;
  if (op.tile[kernel] != nullptr) {
    op.tile[kernel]({&site, pointers.data(), result.raw(), 0, result.elements()});
  } else {
    const auto scratch = allocate_storage(op.scratch(site));
    const Call call{&site, pointers.data(), result.raw(), scratch.get()};
    if (op.prepare[kernel] != nullptr) op.prepare[kernel](call);
    op.forward[kernel](call, 0, op.units(site));
    if (op.finish[kernel] != nullptr) op.finish[kernel](call);
  }
  return result;
}

std::vector<Tensor> evaluate(const Graph& graph, const Feeds& feeds,
                             const std::vector<NodeId>& wanted, const EvaluateOptions& options) {
  const auto needed = needed_for(graph, wanted);
  // A value is freed after its last use, so that large graphs do not need all of them at once.
  std::vector<NodeId> last_use(graph.size(), 0);
  for (NodeId id = 0; id < graph.size(); ++id)
    if (needed[id])
      for (NodeId in : graph.inputs(id)) last_use[in] = id;
  for (NodeId id : wanted) last_use[id] = static_cast<NodeId>(graph.size());
  std::unordered_map<NodeId, Tensor> values;
  const auto is_frozen = [&](NodeId id) { return options.frozen && options.frozen->contains(id); };
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!needed[id]) continue;
    const OpDef& op = graph.op(id);
    Tensor value;
    if (is_frozen(id)) {
      value = options.frozen->at(id);
    } else if (op.name == "input") {
      value = checked_feed(graph, id, feeds);
    } else if (op.name == "constant") {
      value = std::get<Tensor>(graph.attributes(id).value(0));
    } else {
      std::vector<Tensor> inputs;
      for (NodeId in : graph.inputs(id)) inputs.push_back(values.at(in));
      try {
        value = evaluate_op(op, inputs, graph.attributes(id));
      } catch (const Error& error) {
        throw run_error(graph, id, error);
      }
    }
    if (options.observe && !options.observe(id, value)) return {};
    values.emplace(id, std::move(value));
    for (NodeId in : graph.inputs(id))
      if (last_use[in] == id) values.erase(in);
  }
  std::vector<Tensor> results;
  for (NodeId id : wanted) results.push_back(values.at(id));
  return results;
}

std::map<std::string, Tensor, std::less<>> evaluate(const Graph& graph, const Feeds& feeds) {
  const auto wanted = output_nodes(graph);
  const auto values = evaluate(graph, feeds, wanted);
  std::map<std::string, Tensor, std::less<>> result;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    result.emplace(graph.outputs()[i].name, values[i]);
  return result;
}

std::optional<NonFinite> first_non_finite(const Graph& graph, const Feeds& feeds) {
  std::optional<NonFinite> found;
  EvaluateOptions options;
  options.observe = [&](NodeId id, const Tensor& value) {
    if (!is_float(value.dtype())) return true;
    NonFinite result{id, 0, value.elements(), -1};
    for (std::int64_t i = 0; i < value.elements(); ++i) {
      if (std::isfinite(value.at(i))) continue;
      if (result.count++ == 0) result.first = i;
    }
    if (result.count > 0) found = result;
    return result.count == 0;
  };
  evaluate(graph, feeds, output_nodes(graph), options);
  return found;
}

}  // namespace whorl
