#include "engine/graph.hpp"

#include <fmt/ranges.h>

#include <cassert>

#include "engine/ops.hpp"

namespace whorl {

namespace {

// "a=f32[20,785] b=f32[784,10]"
std::string describe_inputs(const OpDef& op, std::span<const Type> types) {
  std::string text;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::size_t last = op.input_names.size() - 1;
    const std::string_view input = op.input_names[std::min(i, last)];
    text += fmt::format("{}{}={}", i ? " " : "", input, to_string(types[i]));
  }
  return text;
}

std::string dtype_names(DTypeSet set) {
  std::vector<std::string_view> names;
  for (int d = 0; d < dtype_count; ++d)
    if (set & only(static_cast<DType>(d))) names.push_back(name(static_cast<DType>(d)));
  return fmt::format("{}", fmt::join(names, " or "));
}

void check_arity(const OpDef& op, std::size_t count) {
  const std::size_t wanted = op.input_names.size();
  if (op.variadic ? count >= wanted : count == wanted) return;
  graph_error(op.name, "takes {}{} input{} ({}), got {}", op.variadic ? "at least " : "", wanted,
              wanted == 1 ? "" : "s", fmt::join(op.input_names, ", "), count);
}

void check_dtype(const OpDef& op, std::span<const Type> types) {
  if (op.key < 0 || types.empty()) return;
  const auto key = static_cast<std::size_t>(op.key);
  const DType found = types[key].dtype;
  if (op.dtypes & only(found)) return;
  graph_error(op.name, "input '{}' is {}; expected {} (use cast); inputs {}", op.input_names[key],
              name(found), dtype_names(op.dtypes), describe_inputs(op, types));
}

}  // namespace

const Type& Value::type() const { return graph->type(id); }

void check_name(std::string_view where, std::string_view name) {
  if (name.empty()) graph_error(where, "a name is empty");
  if (name.size() > 512)
    graph_error(where, "a name has {} characters, more than the limit of 512: '{}...'", name.size(),
                name.substr(0, 40));
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '.' || c == '/' || c == '-';
    if (!good)
      graph_error(where,
                  "name '{}' has the character 0x{:02x} at position {}; allowed are "
                  "letters, digits and _ . / -",
                  name.substr(0, i), static_cast<unsigned char>(c), i);
  }
  if (name.find("..") != std::string_view::npos)
    graph_error(where, "name '{}' contains '..'", name);
}

NodeId Graph::append(const OpDef& op, std::span<const NodeId> inputs, Attributes attributes,
                     std::string_view name) {
  if (nodes_.size() >= std::numeric_limits<NodeId>::max())
    graph_error("graph", "more than 2^32 nodes");
  std::vector<Type> types;
  types.reserve(inputs.size());
  for (NodeId id : inputs) {
    if (id >= nodes_.size())
      graph_error(op.name, "input {} does not exist: the graph has {} nodes", id, nodes_.size());
    types.push_back(nodes_[id].type);
  }
  if (!name.empty()) {
    check_name(op.name, name);
    if (by_name_.contains(std::string(name)))
      graph_error(op.name, "name '{}' is taken by {}", name, label(by_name_.at(std::string(name))));
  }
  check_arity(op, inputs.size());
  check_dtype(op, types);
  if (attributes.size() == 0 && !op.attrs()->specs.empty())
    attributes = make_attributes(op.name, op.attrs(), {});
  Site site{&op, types, attributes, {}};
  Type type;
  try {
    type = op.infer(site);
  } catch (const Error& error) {
    // An op's message says what is wrong; the types around it are the same for all ops.
    const std::string_view what = error.what();
    if (types.empty() || what.find("; inputs ") != std::string_view::npos) throw;
    throw Error(error.kind(), op.name,
                fmt::format("{}; inputs {}", bare_text(error), describe_inputs(op, types)));
  }
  const auto id = static_cast<NodeId>(nodes_.size());
  edges_.reserve(edges_.size() + inputs.size() > edges_.capacity()
                     ? 2 * (edges_.size() + inputs.size())
                     : edges_.capacity());
  nodes_.push_back({&op, std::move(attributes), type, static_cast<std::uint32_t>(edges_.size()),
                    static_cast<std::uint32_t>(inputs.size())});
  edges_.insert(edges_.end(), inputs.begin(), inputs.end());
  if (!name.empty()) {
    names_.emplace(id, name);
    by_name_.emplace(name, id);
  }
  return id;
}

std::string_view Graph::name(NodeId id) const {
  const auto found = names_.find(id);
  return found == names_.end() ? std::string_view{} : found->second;
}

std::string Graph::label(NodeId id) const {
  const std::string_view given = name(id);
  return given.empty() ? fmt::format("node {} ({})", id, op(id).name)
                       : fmt::format("node {} '{}' ({})", id, given, op(id).name);
}

void Graph::set_name(NodeId id, std::string_view name) {
  check_name("graph", name);
  const auto taken = by_name_.find(std::string(name));
  if (taken != by_name_.end()) {
    if (taken->second == id) return;
    graph_error("graph", "name '{}' is taken by {}", name, label(taken->second));
  }
  if (const auto old = names_.find(id); old != names_.end()) by_name_.erase(old->second);
  names_[id] = name;
  by_name_.emplace(name, id);
}

std::optional<NodeId> Graph::find(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

std::vector<NodeId> Graph::input_nodes() const {
  std::vector<NodeId> ids;
  for (NodeId id = 0; id < size(); ++id)
    if (op(id).name == "input") ids.push_back(id);
  return ids;
}

void Graph::add_output(std::string_view name, NodeId id) {
  check_name("graph", name);
  if (id >= size()) graph_error("graph", "output '{}': node {} does not exist", name, id);
  const auto [known, fresh] = output_names_.try_emplace(std::string(name), id);
  if (!fresh)
    graph_error("graph", "output name '{}' is given twice: {} and {}", name, label(known->second),
                label(id));
  outputs_.push_back({std::string(name), id});
}

void Graph::clear_outputs() {
  outputs_.clear();
  output_names_.clear();
}

std::string to_text(const Graph& graph) {
  std::string text;
  for (NodeId id = 0; id < graph.size(); ++id) {
    std::vector<std::string> inputs;
    for (NodeId in : graph.inputs(id)) inputs.push_back(fmt::format("%{}", in));
    std::vector<std::string> attrs;
    for (const auto& [key, value] : graph.attributes(id).list())
      attrs.push_back(fmt::format("{}={}", key, to_string(value)));
    text += fmt::format("%{} = {}({})", id, graph.op(id).name, fmt::join(inputs, ", "));
    if (!attrs.empty()) text += fmt::format(" {{{}}}", fmt::join(attrs, ", "));
    text += fmt::format(" : {}", to_string(graph.type(id)));
    if (!graph.name(id).empty()) text += fmt::format("  # {}", graph.name(id));
    text += '\n';
  }
  for (const auto& output : graph.outputs())
    text += fmt::format("output {} = %{}\n", output.name, output.node);
  return text;
}

Error run_error(const Graph& graph, NodeId id, const Error& error) {
  if (std::string_view(error.what()).starts_with("[run] ")) return error;
  return Error(error.kind(), "run", fmt::format("{}: {}", graph.label(id), bare_text(error)));
}

Shape broadcast_shape(std::string_view where, std::span<const Shape> shapes) {
  int rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.rank());
  std::vector<std::int64_t> dims(static_cast<std::size_t>(rank), 1);
  for (const Shape& shape : shapes) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      std::int64_t& dim = dims[static_cast<std::size_t>(rank - shape.rank() + axis)];
      if (shape[axis] == dim || shape[axis] == 1) continue;
      if (dim != 1) {
        std::vector<std::string> texts;
        for (const Shape& s : shapes) texts.push_back(to_string(s));
        graph_error(where, "shapes do not broadcast: {} and {} on one axis; shapes {}", dim,
                    shape[axis], fmt::join(texts, " "));
      }
      dim = shape[axis];
    }
  }
  return Shape(std::span<const std::int64_t>(dims));
}

Value call(const OpDef& op, std::span<const Value> inputs, Attributes attributes) {
  assert(!inputs.empty());
  Graph& graph = *inputs[0].graph;
  std::vector<NodeId> ids;
  for (const Value& value : inputs) {
    if (value.graph != &graph) graph_error(op.name, "the inputs belong to different graphs");
    ids.push_back(value.id);
  }
  if (op.is(Traits::elementwise)) {
    std::vector<Shape> shapes;
    for (const Value& value : inputs) shapes.push_back(value.shape());
    const Shape shape = broadcast_shape(op.name, shapes);
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (shapes[i] != shape) ids[i] = broadcast(inputs[i], shape).id;
  }
  return {&graph, graph.append(op, ids, std::move(attributes))};
}

Value call(const OpDef& op, std::initializer_list<Value> inputs, Attributes attributes) {
  return call(op, std::span<const Value>(inputs.begin(), inputs.size()), std::move(attributes));
}

Value call(Graph& graph, const OpDef& op, Attributes attributes) {
  return {&graph, graph.append(op, {}, std::move(attributes))};
}

Value Batch::full(int i) const {
  const Value value = x(i);
  if (is_batched(i)) return value;
  Axes axes;
  for (int axis = 0; axis < value.shape().rank(); ++axis) axes.push_back(axis + 1);
  return broadcast(value, value.shape().with_front(size), axes);
}

namespace detail {

Type infer_elementwise(const Site& site) {
  for (const Type& type : site.in)
    if (type != site.in[0]) graph_error(site.op->name, "the inputs' types differ");
  return site.in[0];
}

Value batch_elementwise(const Batch& batch) {
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < batch.inputs.size(); ++i)
    inputs.push_back(batch.full(static_cast<int>(i)));
  return call(*batch.op, inputs, *batch.attributes);
}

double flops_elementwise(const Site& site) { return static_cast<double>(site.out.elements()); }

}  // namespace detail

}  // namespace whorl
