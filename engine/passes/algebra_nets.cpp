// A rule about coordinate_net, which repeats its inputs itself.
#include "engine/passes/algebra.hpp"

namespace whorl {

namespace {

// One copy of an input that repeats itself along the axes in the mask, which become 1.
NodeId narrowed(Algebra& a, NodeId x, const AxisMask& mask) {
  std::vector<std::int64_t> shape = dims(a.graph().type(x).shape);
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (mask[axis]) shape[axis] = 1;
  return a.reshape(a.without_axes(x, mask), Shape(shape));
}

// A net's input that is a broadcast or a fill is given once: [C,1] instead of [C,n]. On every axis
// one input at least keeps its size, because the inputs' sizes are those of the coordinates.
Replacement net_inputs(Algebra& a, const Candidate& c) {
  // The weights, then x; the gradient has the adjoints of its network's outputs behind them.
  const bool net = c.op == known_ops().coordinate_net;
  const std::size_t end =
      c.in.size() - (net ? 0 : 1 + c.attr<std::vector<std::int64_t>>("wrt").size());
  std::array<int, Shape::max_rank> full{};  // inputs that have an axis' size
  for (NodeId x : c.in.subspan(1, end - 1)) {
    const Shape& shape = a.graph().type(x).shape;
    for (int axis = 0; axis < shape.rank(); ++axis)
      full[static_cast<std::size_t>(axis)] += shape[axis] != 1;
  }
  std::vector<NodeId> inputs(c.in.begin(), c.in.end());
  bool changed = false;
  for (std::size_t i = 1; i < end; ++i) {
    AxisMask mask = a.repeated_axes(inputs[i]);
    bool any = false;
    for (std::size_t axis = 0; axis < mask.size(); ++axis) {
      mask[axis] = mask[axis] && full[axis] > 1;
      full[axis] -= mask[axis];
      any |= mask[axis];
    }
    if (any) inputs[i] = narrowed(a, inputs[i], mask);
    changed |= any;
  }
  if (!changed) return std::nullopt;
  return a.make(c.op, inputs, c.attributes);
}

}  // namespace

std::vector<AlgebraRule> net_rules() {
  return {{"net_inputs", {"coordinate_net", "coordinate_net_weights_gradient"}, net_inputs}};
}

}  // namespace whorl
