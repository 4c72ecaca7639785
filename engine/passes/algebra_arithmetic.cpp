// Rules about single numbers: units, signs, powers, choices; and doing work before repeating it.
#include <cmath>

#include "engine/passes/algebra.hpp"

namespace whorl {

namespace {

bool is_fill(Algebra& a, NodeId id, double value) {
  const auto found = a.fill_value(id);
  return found && *found == value && std::signbit(*found) == std::signbit(value);
}
bool is_neg(Algebra& a, NodeId id) { return a.op(id) == known_ops().neg; }

// For commutative ops: calls f(one input, the other) in both orders until it answers.
template <class F>
Replacement either_way(const Candidate& c, F&& f) {
  if (const Replacement found = f(c.in[0], c.in[1])) return found;
  return f(c.in[1], c.in[0]);
}

// x
Replacement drop(Algebra&, const Candidate& c) { return c.in[0]; }

// cast to the dtype it has
Replacement cast_same(Algebra& a, const Candidate& c) {
  if (a.graph().type(c.in[0]).dtype != c.type.dtype) return std::nullopt;
  return c.in[0];
}

// Values that are never -0. Functions that can underflow to -0 are not among them.
bool never_minus_zero(Algebra& a, NodeId id) {
  const KnownOps& ops = known_ops();
  const OpDef* op = a.op(id);
  if (const auto value = a.fill_value(id)) return *value != 0 || !std::signbit(*value);
  return op == ops.exp || op == ops.square || op == ops.sigmoid || op == ops.abs;
}

// x + 0. With x = -0 the sum is +0, so x must be known to be something else; x + -0 is always x.
Replacement add_zero(Algebra& a, const Candidate& c) {
  return either_way(c, [&](NodeId x, NodeId zero) -> Replacement {
    const bool plus = is_fill(a, zero, 0.0), minus = is_fill(a, zero, -0.0);
    const bool exact = minus || !is_float(c.type.dtype) || never_minus_zero(a, x);
    if ((plus || minus) && exact) return x;
    return std::nullopt;
  });
}

// x - 0. Here -0 - +0 is -0, as it should be.
Replacement sub_zero(Algebra& a, const Candidate& c) {
  if (is_fill(a, c.in[1], 0.0)) return c.in[0];
  return std::nullopt;
}

// x * 1
Replacement mul_one(Algebra& a, const Candidate& c) {
  return either_way(c, [&](NodeId x, NodeId one) -> Replacement {
    if (is_fill(a, one, 1)) return x;
    return std::nullopt;
  });
}

// x * -1 = -x
Replacement mul_minus_one(Algebra& a, const Candidate& c) {
  return either_way(c, [&](NodeId x, NodeId one) -> Replacement {
    if (is_fill(a, one, -1)) return a.make(known_ops().neg, {x});
    return std::nullopt;
  });
}

// x / 1
Replacement div_one(Algebra& a, const Candidate& c) {
  if (is_fill(a, c.in[1], 1)) return c.in[0];
  return std::nullopt;
}

bool is_normal(double value, DType dtype) {
  return dtype == DType::f32 ? std::isnormal(static_cast<float>(value)) : std::isnormal(value);
}
// Multiplying by it only shifts the exponent and maybe changes the sign. Subnormal powers are none:
// arithmetic takes them for 0.
bool is_power_of_two(double value, DType dtype) {
  int exponent;
  return is_normal(value, dtype) && std::abs(std::frexp(value, &exponent)) == 0.5;
}

// x / 2^k = x * 2^-k, and a product is quicker.
Replacement div_power_of_two(Algebra& a, const Candidate& c) {
  const auto value = a.fill_value(c.in[1]);
  if (!value || !is_power_of_two(*value, c.type.dtype) || !is_normal(1 / *value, c.type.dtype))
    return std::nullopt;
  const NodeId x = c.in[0];
  return a.make(known_ops().mul, {x, a.fill(c.type, 1 / *value)});
}

// (x * p) * q = x * pq, where p or q is a power of two, so that only one of three products rounds.
// The gradient of x^2 / 2 is such a chain.
Replacement scale_chain(Algebra& a, const Candidate& c) {
  if (!is_float(c.type.dtype)) return std::nullopt;
  return either_way(c, [&](NodeId product, NodeId outer) -> Replacement {
    const auto q = a.fill_value(outer);
    if (!q || a.op(product) != known_ops().mul) return std::nullopt;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto p = a.fill_value(a.in(product, i));
      const DType dtype = c.type.dtype;
      if (!p || !is_normal(*p, dtype) || !is_normal(*q, dtype) || !is_normal(*p * *q, dtype))
        continue;
      if (!is_power_of_two(*p, dtype) && !is_power_of_two(*q, dtype)) continue;
      const NodeId x = a.in(product, 1 - i);
      return a.make(known_ops().mul, {x, a.fill(c.type, *p * *q)});
    }
    return std::nullopt;
  });
}

// -(-x) = x
Replacement double_neg(Algebra& a, const Candidate& c) {
  if (is_neg(a, c.in[0])) return a.in(c.in[0]);
  return std::nullopt;
}

// x + -y = x - y
Replacement add_neg(Algebra& a, const Candidate& c) {
  return either_way(c, [&](NodeId x, NodeId y) -> Replacement {
    if (is_neg(a, y)) return a.make(known_ops().sub, {x, a.in(y)});
    return std::nullopt;
  });
}

// x - -y = x + y
Replacement sub_neg(Algebra& a, const Candidate& c) {
  if (is_neg(a, c.in[1])) return a.make(known_ops().add, {c.in[0], a.in(c.in[1])});
  return std::nullopt;
}

// -x * -y = x * y, and the same for quotients
Replacement neg_by_neg(Algebra& a, const Candidate& c) {
  if (!is_neg(a, c.in[0]) || !is_neg(a, c.in[1])) return std::nullopt;
  return a.make(c.op, {a.in(c.in[0]), a.in(c.in[1])}, c.attributes);
}

// -x * c = x * -c, and -(x * c) = x * -c. Floats only: there is an integer without a negative.
Replacement neg_scale(Algebra& a, const Candidate& c) {
  if (!is_float(c.type.dtype)) return std::nullopt;
  if (c.op == known_ops().neg) {
    if (a.op(c.in[0]) != known_ops().mul) return std::nullopt;
    const NodeId left = a.in(c.in[0], 0), right = a.in(c.in[0], 1);
    if (const auto value = a.fill_value(right))
      return a.make(known_ops().mul, {left, a.fill(c.type, -*value)});
    if (const auto value = a.fill_value(left))
      return a.make(known_ops().mul, {right, a.fill(c.type, -*value)});
    return std::nullopt;
  }
  return either_way(c, [&](NodeId x, NodeId factor) -> Replacement {
    const auto value = a.fill_value(factor);
    if (!value || !is_neg(a, x)) return std::nullopt;
    const NodeId positive = a.in(x);
    return a.make(known_ops().mul, {positive, a.fill(c.type, -*value)});
  });
}

// f(-x) = f(x) for square and abs
Replacement even_of_neg(Algebra& a, const Candidate& c) {
  if (is_neg(a, c.in[0])) return a.make(c.op, {a.in(c.in[0])}, c.attributes);
  return std::nullopt;
}

// x * x = square(x)
Replacement mul_self(Algebra& a, const Candidate& c) {
  if (c.in[0] != c.in[1] || !is_float(c.type.dtype)) return std::nullopt;
  return a.make(known_ops().square, {c.in[0]});
}

// x^0 = 1 (of a NaN too), x^1 = x, x^2 = square(x), x^-1 = 1 / x
Replacement pow_known(Algebra& a, const Candidate& c) {
  const auto exponent = a.fill_value(c.in[1]);
  const NodeId x = c.in[0];
  if (!exponent) return std::nullopt;
  if (*exponent == 0) return a.fill(c.type, 1);
  if (*exponent == 1) return x;
  if (*exponent == 2) return a.make(known_ops().square, {x});
  if (*exponent == -1) return a.make(known_ops().div, {a.fill(c.type, 1), x});
  return std::nullopt;
}

// f(x, x) = x
Replacement idempotent(Algebra&, const Candidate& c) {
  if (c.in[0] == c.in[1]) return c.in[0];
  return std::nullopt;
}

// select(true, a, b) = a, select(c, a, a) = a
Replacement select_known(Algebra& a, const Candidate& c) {
  if (c.in[1] == c.in[2]) return c.in[1];
  if (const auto condition = a.fill_value(c.in[0])) return *condition != 0 ? c.in[1] : c.in[2];
  return std::nullopt;
}

// f(broadcast a, broadcast b) = broadcast f(a, b), for the axes along which all inputs repeat
// themselves: what is done once need not be done n times. Fills repeat themselves along all axes.
Replacement broadcast_last(Algebra& a, const Candidate& c) {
  if (c.op->is(Traits::random) || c.type.elements() == 0) return std::nullopt;
  AxisMask common{};
  common.fill(true);
  bool any_broadcast = false;
  for (NodeId in : c.in) {
    const AxisMask mask = a.repeated_axes(in);
    for (std::size_t axis = 0; axis < mask.size(); ++axis)
      common[axis] = common[axis] && mask[axis];
    any_broadcast |= a.op(in) == known_ops().broadcast;
  }
  const Shape small = without_axes(c.type.shape, common);
  if (!any_broadcast || small == c.type.shape) return std::nullopt;
  std::vector<NodeId> inputs;
  for (NodeId in : c.in) inputs.push_back(a.without_axes(in, common));
  std::vector<std::int64_t> axes;
  for (int axis = 0; axis < c.type.shape.rank(); ++axis)
    if (!common[static_cast<std::size_t>(axis)]) axes.push_back(axis);
  return a.broadcast(a.make(c.op, inputs, c.attributes), c.type.shape, axes);
}

}  // namespace

std::vector<AlgebraRule> arithmetic_rules() {
  return {
      {"stop_gradient", {"stop_gradient"}, drop},
      {"cast_same", {"cast"}, cast_same},
      {"add_zero", {"add"}, add_zero},
      {"sub_zero", {"sub"}, sub_zero},
      {"mul_one", {"mul"}, mul_one},
      {"mul_minus_one", {"mul"}, mul_minus_one},
      {"div_one", {"div"}, div_one},
      {"div_power_of_two", {"div"}, div_power_of_two},
      {"scale_chain", {"mul"}, scale_chain},
      {"double_neg", {"neg"}, double_neg},
      {"add_neg", {"add"}, add_neg},
      {"sub_neg", {"sub"}, sub_neg},
      {"neg_by_neg", {"mul", "div"}, neg_by_neg},
      {"neg_scale", {"mul", "neg"}, neg_scale},
      {"even_of_neg", {"square", "abs"}, even_of_neg},
      {"mul_self", {"mul"}, mul_self},
      {"pow", {"pow"}, pow_known},
      {"idempotent", {"maximum", "minimum", "logical_and", "logical_or"}, idempotent},
      {"select", {"select"}, select_known},
      {"broadcast_last", {}, broadcast_last},
  };
}

}  // namespace whorl
