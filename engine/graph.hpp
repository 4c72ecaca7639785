// Graph: an append-only list of typed nodes, each with one output.
//
// Node ids count from 0 in the order of appending and inputs always have smaller ids, so ids are a
// topological order, a cycle cannot be written down, and the graph is its own tape.
//
// Invariants: every node's type was inferred by its op from its inputs' types; names are unique,
// match [A-Za-z0-9_./-]{1,512}, and every `input` node has one.
// A failed append leaves the graph as it was.
// Thread safety: const members may be called from many threads at once; append needs it alone.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/op.hpp"

namespace whorl {

class Graph {
 public:
  struct Output {
    std::string name;
    NodeId node;
  };

  // Checks the inputs' number and dtypes, the attributes' table and the name, infers the type.
  NodeId append(const OpDef& op, std::span<const NodeId> inputs, Attributes attributes = {},
                std::string_view name = {});

  std::size_t size() const { return nodes_.size(); }
  const OpDef& op(NodeId id) const { return *nodes_[id].op; }
  std::span<const NodeId> inputs(NodeId id) const {
    const Node& node = nodes_[id];
    return {edges_.data() + node.first_input, node.input_count};
  }
  const Attributes& attributes(NodeId id) const { return nodes_[id].attributes; }
  const Type& type(NodeId id) const { return nodes_[id].type; }
  std::string_view name(NodeId id) const;  // "" for a node without one
  std::string label(NodeId id) const;      // "node 31 'sampler/noise' (sqrt)", for messages
  std::size_t edge_count() const { return edges_.size(); }

  Value value(NodeId id) { return {this, id}; }

  // Gives a node a name; throws a graph Error when it is not well formed or taken.
  void set_name(NodeId id, std::string_view name);
  std::optional<NodeId> find(std::string_view name) const;
  std::vector<NodeId> input_nodes() const;

  // What a run computes. Output names are unique among themselves.
  void add_output(std::string_view name, NodeId id);
  const std::vector<Output>& outputs() const { return outputs_; }
  void clear_outputs();

  // Free text beside the graph: title, units, roles. Not part of what it computes.
  std::map<std::string, std::string>& metadata() { return metadata_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  struct Node {
    const OpDef* op;
    Attributes attributes;
    Type type;
    std::uint32_t first_input;
    std::uint32_t input_count;
  };

  // A deque: a reference to a node's type or attributes stays good while others are appended, as
  // happens inside every builder and gradient rule.
  std::deque<Node> nodes_;
  std::vector<NodeId> edges_;
  std::unordered_map<NodeId, std::string> names_;
  std::unordered_map<std::string, NodeId> by_name_;
  std::vector<Output> outputs_;
  std::unordered_map<std::string, NodeId> output_names_;
  std::map<std::string, std::string> metadata_;
};

// Appends a copy of `part` to `into` and returns the values of its outputs, by name. Inputs of
// `part` that are listed become the given values, which must have their types; the others become
// inputs of `into`, shared with one of the same name and type that is there already. Other nodes'
// names get `prefix` in front, or are dropped when it is empty. Throws a graph Error that names the
// input.
std::map<std::string, Value, std::less<>> append_graph(
    Graph& into, const Graph& part, const std::map<std::string, Value, std::less<>>& inputs,
    std::string_view prefix = {});

// Throws a graph Error when a name does not match [A-Za-z0-9_./-]{1,512}.
void check_name(std::string_view where, std::string_view name);

// One line a node: "%3 = add(%1, %2) : f32[4]  # name", then the outputs.
std::string to_text(const Graph& graph);

// An Error that happened while a node ran, with the node named.
Error run_error(const Graph& graph, NodeId id, const Error& error);

// Appends op(inputs) to the inputs' graph. For elementwise ops, inputs of different shapes are
// broadcast against each other first (shapes aligned at the last axis, as in NumPy).
Value call(const OpDef& op, std::initializer_list<Value> inputs, Attributes attributes = {});
Value call(const OpDef& op, std::span<const Value> inputs, Attributes attributes = {});
Value call(Graph& graph, const OpDef& op, Attributes attributes = {});  // without inputs

// What call() broadcasts inputs to; throws a graph Error when they do not fit.
Shape broadcast_shape(std::string_view where, std::span<const Shape> shapes);

}  // namespace whorl
