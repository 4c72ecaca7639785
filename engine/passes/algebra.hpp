// The laws of algebra as a table of rules, and the walk that applies them.
//
// A rule looks at a node that is about to be made, its inputs being simplified already, and may
// answer with another value that is the same. All rules keep every bit of every number, with these
// exceptions, which keep values up to rounding:
//   pow               pow(x, 2) as x*x and pow(x, -1) as 1/x are correctly rounded; pow may be off
//                     by an ulp
//   sum_fill          n equal terms as one product: rounded once, where adding rounds more often;
//   sum_broadcast     and n * -0 is -0, where a sum starts from +0
//   reduce_unit       a lone -0 stays -0, where a sum adds it to +0
//   add_pads          the same
//   scale_chain       (x * p) * q as x * pq is right also where x * p alone leaves the range
//   matmul_transpose  other calls of the same product, which may add in another order
//   matmul_broadcast
//   net_inputs        a repeated input is added to the bias first
// A subnormal number that comes from outside is flushed to zero by arithmetic, not by moving it: a
// rule that drops an operation (x*1) may let it through. A NaN may change its sign.
// Thread safety: the table is immutable; a walk belongs to one thread.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/graph.hpp"
#include "engine/passes/known_ops.hpp"
#include "engine/rewrite.hpp"

namespace whorl {

class Algebra;

// A node that is about to be made: op(in), where `in` are nodes of the new graph.
struct Candidate {
  const OpDef* op;
  std::span<const NodeId> in;
  const Attributes& attributes;
  const Type& type;

  template <class T>
  T attr(std::string_view name) const {
    return attribute<T>(attributes, name);
  }
};

using Replacement = std::optional<NodeId>;

struct AlgebraRule {
  std::string_view name;
  std::vector<std::string_view> ops;  // which it looks at; empty: every elementwise op
  Replacement (*apply)(Algebra&, const Candidate&);
};

std::vector<AlgebraRule> arithmetic_rules();
std::vector<AlgebraRule> shape_rules();
std::vector<AlgebraRule> product_rules();
std::vector<AlgebraRule> net_rules();
const std::vector<AlgebraRule>& algebra_rules();  // all of them

// The pass, with some rules only.
Graph simplify_algebra(const Graph& graph, std::span<const AlgebraRule> rules);

using AxisMask = std::array<bool, Shape::max_rank>;

class Algebra {
 public:
  Algebra(const Graph& old, std::span<const AlgebraRule> rules) : rewrite_(old), rules_(rules) {}
  Graph run();

  // For rules. The new graph is read freely; nodes are added by the functions below, which apply
  // the rules to what they are asked for. Adding moves types: copy a Type that is needed after.
  const Graph& graph() { return rewrite_.graph(); }
  const OpDef* op(NodeId id) { return &graph().op(id); }
  NodeId in(NodeId id, std::size_t i = 0) { return graph().inputs(id)[i]; }
  std::optional<double> fill_value(NodeId id) { return whorl::fill_value(graph(), id); }

  NodeId make(const OpDef* op, const std::vector<NodeId>& inputs, const AttrList& attributes = {});
  NodeId make(const OpDef* op, const std::vector<NodeId>& inputs, const Attributes& attributes);
  NodeId fill(const Type& type, double value);
  NodeId reshape(NodeId x, const Shape& shape);
  NodeId broadcast(NodeId x, const Shape& shape, const std::vector<std::int64_t>& axes);

  // The axes (longer than 1) along which a value repeats itself: of broadcasts and fills.
  AxisMask repeated_axes(NodeId id);
  // One copy of such a value: without the axes in `removed`, along all of which it repeats itself.
  NodeId without_axes(NodeId id, const AxisMask& removed);

 private:
  Replacement apply_rules(const Candidate& candidate);
  const std::vector<const AlgebraRule*>& rules_for(const OpDef& op);

  Rewrite rewrite_;
  std::span<const AlgebraRule> rules_;
  std::unordered_map<const OpDef*, std::vector<const AlgebraRule*>> by_op_;
  int depth_ = 0;
};

// `shape` without the axes in the mask.
Shape without_axes(const Shape& shape, const AxisMask& removed);

}  // namespace whorl
