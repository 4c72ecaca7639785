// algebra: the walk that applies the table of rules, see algebra.hpp.
#include "engine/passes/algebra.hpp"

#include <algorithm>

#include "engine/passes.hpp"

namespace whorl {

namespace {

// How deep rules may build on each other. No chain of today's rules is longer than 5; at the limit
// a node is made as it is.
constexpr int depth_limit = 16;

}  // namespace

const std::vector<AlgebraRule>& algebra_rules() {
  static const std::vector<AlgebraRule> rules = [] {
    std::vector<AlgebraRule> all = arithmetic_rules();
    for (const auto& part : {shape_rules(), product_rules(), net_rules()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rules;
}

const std::vector<const AlgebraRule*>& Algebra::rules_for(const OpDef& op) {
  const auto [entry, fresh] = by_op_.try_emplace(&op);
  if (fresh) {
    for (const AlgebraRule& rule : rules_) {
      const bool named = std::any_of(rule.ops.begin(), rule.ops.end(),
                                     [&](std::string_view name) { return find_op(name) == &op; });
      if (named || (rule.ops.empty() && op.is(Traits::elementwise))) entry->second.push_back(&rule);
    }
  }
  return entry->second;
}

Replacement Algebra::apply_rules(const Candidate& candidate) {
  if (depth_ >= depth_limit) return std::nullopt;
  ++depth_;
  Replacement found;
  for (const AlgebraRule* rule : rules_for(*candidate.op)) {
    found = rule->apply(*this, candidate);
    if (!found) continue;
    if (graph().type(*found) != candidate.type)
      fail(ErrorKind::internal, "algebra", "rule '{}' made {} of a {} of type {}", rule->name,
           to_string(graph().type(*found)), candidate.op->name, to_string(candidate.type));
    break;
  }
  --depth_;
  return found;
}

NodeId Algebra::make(const OpDef* op, const std::vector<NodeId>& inputs,
                     const AttrList& attributes) {
  return make(op, inputs, make_attributes(op->name, op->attrs(), attributes));
}

NodeId Algebra::make(const OpDef* op, const std::vector<NodeId>& inputs,
                     const Attributes& attributes) {
  std::vector<Type> types;
  for (NodeId in : inputs) types.push_back(graph().type(in));
  const Type type = op->infer({op, types, attributes, {}});
  if (const Replacement found = apply_rules({op, inputs, attributes, type})) return *found;
  return rewrite_.graph().append(*op, inputs, attributes);
}

NodeId Algebra::fill(const Type& type, double value) {
  return make(known_ops().fill, {},
              {{"dtype", type.dtype}, {"shape", dims(type.shape)}, {"value", value}});
}

NodeId Algebra::reshape(NodeId x, const Shape& shape) {
  if (graph().type(x).shape == shape) return x;
  return make(known_ops().reshape, {x}, {{"shape", dims(shape)}});
}

NodeId Algebra::broadcast(NodeId x, const Shape& shape, const std::vector<std::int64_t>& axes) {
  if (graph().type(x).shape == shape) return x;
  return make(known_ops().broadcast, {x}, {{"shape", dims(shape)}, {"axes", axes}});
}

AxisMask Algebra::repeated_axes(NodeId id) {
  const Shape& shape = graph().type(id).shape;
  AxisMask mask{};
  if (op(id) != known_ops().broadcast && op(id) != known_ops().fill) return mask;
  for (int axis = 0; axis < shape.rank(); ++axis)
    mask[static_cast<std::size_t>(axis)] = shape[axis] > 1;
  if (op(id) == known_ops().fill) return mask;
  const Shape& source = graph().type(in(id)).shape;
  const auto axes = attribute<std::vector<std::int64_t>>(graph().attributes(id), "axes");
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (source[static_cast<int>(i)] != 1) mask[static_cast<std::size_t>(axes[i])] = false;
  return mask;
}

NodeId Algebra::without_axes(NodeId id, const AxisMask& removed) {
  const Type type = graph().type(id);
  const Shape shape = whorl::without_axes(type.shape, removed);
  if (const auto value = fill_value(id)) return fill({type.dtype, shape}, *value);
  const Shape source = graph().type(in(id)).shape;
  const auto axes = attribute<std::vector<std::int64_t>>(graph().attributes(id), "axes");
  std::vector<std::int64_t> kept_dims, kept_axes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    if (removed[axis]) continue;
    const auto before = std::count(removed.begin(), removed.begin() + axes[i], true);
    kept_dims.push_back(source[static_cast<int>(i)]);
    kept_axes.push_back(axes[i] - before);
  }
  return broadcast(reshape(in(id), Shape(kept_dims)), shape, kept_axes);
}

Shape without_axes(const Shape& shape, const AxisMask& removed) {
  std::vector<std::int64_t> kept;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (!removed[static_cast<std::size_t>(axis)]) kept.push_back(shape[axis]);
  return Shape(kept);
}

Graph Algebra::run() {
  const Graph& old = rewrite_.old();
  std::vector<NodeId> inputs;
  for (NodeId id = 0; id < old.size(); ++id) {
    const auto places = rewrite_.inputs(id);
    inputs.assign(places.begin(), places.end());
    const Candidate candidate{&old.op(id), inputs, old.attributes(id), old.type(id)};
    if (const Replacement found = apply_rules(candidate)) {
      rewrite_.place(id, *found);
    } else {
      rewrite_.copy(id);
    }
  }
  return rewrite_.finish();
}

Graph simplify_algebra(const Graph& graph, std::span<const AlgebraRule> rules) {
  return Algebra(graph, rules).run();
}

Graph simplify_algebra(const Graph& graph) { return simplify_algebra(graph, algebra_rules()); }

}  // namespace whorl
