// The ops that passes know by themselves, because an algebraic law speaks of particular functions.
//
// Attributes are read by field name, so a pass needs nothing of an op but its row.
// Thread safety: immutable after the first use.
#pragma once

#include <optional>
#include <string_view>

#include "engine/graph.hpp"

namespace whorl {

// Rows of the op table; nullptr for an op that this build does not have, which matches no node.
struct KnownOps {
  const OpDef* input = find_op("input");
  const OpDef* constant = find_op("constant");
  const OpDef* fill = find_op("fill");
  const OpDef* iota = find_op("iota");
  const OpDef* neg = find_op("neg");
  const OpDef* add = find_op("add");
  const OpDef* sub = find_op("sub");
  const OpDef* mul = find_op("mul");
  const OpDef* div = find_op("div");
  const OpDef* square = find_op("square");
  const OpDef* exp = find_op("exp");
  const OpDef* sigmoid = find_op("sigmoid");
  const OpDef* abs = find_op("abs");
  const OpDef* broadcast = find_op("broadcast");
  const OpDef* reshape = find_op("reshape");
  const OpDef* transpose = find_op("transpose");
  const OpDef* slice = find_op("slice");
  const OpDef* pad = find_op("pad");
  const OpDef* concat = find_op("concat");
  const OpDef* matmul = find_op("matmul");
  const OpDef* coordinate_net = find_op("coordinate_net");
};
inline const KnownOps& known_ops() {
  static const KnownOps ops;
  return ops;
}

// The field `name`, which the op must have, as a T (one of AttrValue's types).
template <class T>
T attribute(const Attributes& attributes, std::string_view name) {
  for (int i = 0; i < attributes.size(); ++i)
    if (attributes.spec(i).name == name) return std::get<T>(attributes.value(i));
  fail(ErrorKind::internal, "passes", "no attribute '{}'", name);
}

inline std::vector<std::int64_t> dims(const Shape& shape) { return {shape.begin(), shape.end()}; }

// The number that every element of a `fill` has, rounded to its dtype; nothing for other nodes.
inline std::optional<double> fill_value(const Graph& graph, NodeId id) {
  if (&graph.op(id) != known_ops().fill) return std::nullopt;
  const auto value = attribute<double>(graph.attributes(id), "value");
  return graph.type(id).dtype == DType::f32 ? static_cast<double>(static_cast<float>(value))
                                            : value;
}

}  // namespace whorl
