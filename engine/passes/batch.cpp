// batch: one graph for many chains at once, by the ops' own batching rules.
#include <algorithm>
#include <memory>

#include "engine/ops.hpp"
#include "engine/passes.hpp"
#include "engine/passes/lower.hpp"
#include "engine/rewrite.hpp"

namespace whorl {

namespace {

// Which nodes get the chain axis: the named inputs, random numbers, and all that depends on them.
std::vector<char> batched_nodes(const Graph& graph, const std::vector<std::string>& inputs) {
  std::vector<char> batched(graph.size(), 0);
  for (const std::string& name : inputs) batched[*graph.find(name)] = 1;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph.op(id).is(Traits::random)) batched[id] = 1;
    for (NodeId in : graph.inputs(id)) batched[id] |= batched[in];
  }
  return batched;
}

void check_arguments(const Graph& graph, const std::vector<std::string>& inputs,
                     std::int64_t size) {
  if (size < 1)
    fail(ErrorKind::usage, "batch", "the number of chains must be at least 1: {}", size);
  std::vector<std::string_view> names;
  for (NodeId id : graph.input_nodes()) names.push_back(graph.name(id));
  for (const std::string& name : inputs)
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail(ErrorKind::usage, "batch", "the graph has no input '{}'{}", name,
           did_you_mean(name, names));
}

class Batching {
 public:
  Batching(const Graph& graph, const std::vector<std::string>& inputs, std::int64_t size)
      : old_(graph), rewrite_(graph), batched_(batched_nodes(graph, inputs)), size_(size) {}

  Graph run() {
    for (NodeId id = 0; id < old_.size(); ++id) {
      if (!batched_[id]) {
        rewrite_.copy(id);
        continue;
      }
      try {
        rewrite_.place(id, old_.inputs(id).empty() && !old_.op(id).is(Traits::random)
                               ? batch_input(id)
                               : batch_node(id));
      } catch (const Error& error) {
        throw Error(error.kind(), "batch", fmt::format("{}: {}", old_.label(id), error.what()));
      }
    }
    return finish();
  }

 private:
  NodeId batch_input(NodeId id) {
    AttrList attributes = old_.attributes(id).list();
    const Shape shape = old_.type(id).shape.with_front(size_);
    for (auto& [key, value] : attributes)
      if (key == "shape") value = std::vector<std::int64_t>(shape.begin(), shape.end());
    const OpDef& op = old_.op(id);
    return rewrite_.graph().append(op, {}, make_attributes(op.name, op.attrs(), attributes));
  }

  NodeId batch_node(NodeId id) {
    const OpDef& op = old_.op(id);
    if (op.batch == nullptr)
      graph_error(op.name, "the op cannot be batched: it has no rule for it");
    std::vector<Value> values;
    // Not a vector<bool>: the rule reads it as an array.
    const auto flags = std::make_unique<bool[]>(old_.inputs(id).size() + 1);
    for (NodeId in : old_.inputs(id)) {
      flags[values.size()] = batched_[in];
      values.push_back(rewrite_.value(in));
    }
    const Value result = op.batch({&rewrite_.graph(),
                                   &op,
                                   values,
                                   {flags.get(), values.size()},
                                   size_,
                                   &old_.attributes(id)});
    const Type wanted{old_.type(id).dtype, old_.type(id).shape.with_front(size_)};
    if (result.type() != wanted)
      fail(ErrorKind::internal, op.name, "batching gives {}; expected {}", to_string(result.type()),
           to_string(wanted));
    return result.id;
  }

  // Outputs that no chain has a part in are repeated.
  Graph finish() {
    std::vector<Graph::Output> outputs;
    for (const Graph::Output& output : old_.outputs()) {
      Value value = rewrite_.value(output.node);
      if (!batched_[output.node]) {
        Axes axes;
        for (int axis = 0; axis < value.shape().rank(); ++axis) axes.push_back(axis + 1);
        value = broadcast(value, value.shape().with_front(size_), axes);
      }
      outputs.push_back({output.name, value.id});
    }
    Graph result = rewrite_.finish();
    result.clear_outputs();
    for (const Graph::Output& output : outputs) result.add_output(output.name, output.node);
    return result;
  }

  const Graph& old_;
  Rewrite rewrite_;
  std::vector<char> batched_;
  std::int64_t size_;
};

}  // namespace

Graph batch(const Graph& graph, const std::vector<std::string>& inputs, std::int64_t size) {
  check_arguments(graph, inputs, size);
  // A fused op without a batching rule is batched as its composition.
  const Graph lowered = expand(graph, [&](const Graph& g) {
    std::vector<char> chosen = batched_nodes(g, inputs);
    for (NodeId id = 0; id < g.size(); ++id) {
      const OpDef& op = g.op(id);
      chosen[id] =
          op.is_composition() || (chosen[id] && op.batch == nullptr && op.compose != nullptr);
    }
    return chosen;
  });
  return Batching(lowered, inputs, size).run();
}

}  // namespace whorl
