// Rules about sums and matrix products: n equal terms are one product, and what repeats itself need
// not be multiplied again.
#include <algorithm>

#include "engine/passes/algebra.hpp"

namespace whorl {

namespace {

using Integers = std::vector<std::int64_t>;

// Which axes of the input a reduction goes over; no axes in the attribute mean all of them.
AxisMask reduced_axes(const Attributes& attributes, int rank) {
  const auto axes = attribute<Integers>(attributes, "axes");
  AxisMask mask{};
  for (int axis = 0; axis < rank; ++axis) mask[static_cast<std::size_t>(axis)] = axes.empty();
  for (std::int64_t axis : axes)
    mask[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
  return mask;
}

std::int64_t masked_elements(const Shape& shape, const AxisMask& mask) {
  std::int64_t product = 1;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (mask[static_cast<std::size_t>(axis)]) product *= shape[axis];
  return product;
}

// A reduction over axes of size 1, or over none.
Replacement reduce_unit(Algebra& a, const Candidate& c) {
  if (a.graph().type(c.in[0]).elements() != c.type.elements()) return std::nullopt;
  return a.reshape(c.in[0], c.type.shape);
}

// A sum of n equal terms is n times the term. A fill has no term that could overflow on the way:
// its product is made here, in double, and rounded once. Integers wrap around, so they are left.
Replacement sum_fill(Algebra& a, const Candidate& c) {
  const auto value = a.fill_value(c.in[0]);
  if (!value || !is_float(c.type.dtype)) return std::nullopt;
  const Shape& shape = a.graph().type(c.in[0]).shape;
  const auto n = masked_elements(shape, reduced_axes(c.attributes, shape.rank()));
  return a.fill(c.type, n == 0 ? 0 : *value * static_cast<double>(n));
}

// sum(broadcast x) over axes along which x is repeated n times is n x. The other axes may stay
// broadcast; with `keep`, the summed ones stay with size 1.
Replacement sum_broadcast(Algebra& a, const Candidate& c) {
  if (a.op(c.in[0]) != known_ops().broadcast || !is_float(c.type.dtype)) return std::nullopt;
  const Shape shape = a.graph().type(c.in[0]).shape;
  const AxisMask repeated = a.repeated_axes(c.in[0]);
  AxisMask reduced = reduced_axes(c.attributes, shape.rank());
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    if (reduced[at] && shape[axis] != 1 && !repeated[at]) return std::nullopt;
    reduced[at] = reduced[at] && shape[axis] != 1;
  }
  const std::int64_t n = masked_elements(shape, reduced);
  if (shape.elements() == 0 || n == 1) return std::nullopt;
  const NodeId one = a.without_axes(c.in[0], reduced);
  const Type type = a.graph().type(one);
  const NodeId times = a.fill(type, static_cast<double>(n));
  return a.reshape(a.make(known_ops().mul, {one, times}), c.type.shape);
}

bool swaps_last_two(const Integers& permutation) {
  const std::size_t rank = permutation.size();
  if (rank < 2) return false;
  for (std::size_t i = 0; i + 2 < rank; ++i)
    if (permutation[i] != static_cast<std::int64_t>(i)) return false;
  return permutation[rank - 2] == static_cast<std::int64_t>(rank - 1);
}

AttrList transposes(bool a, bool b) { return {{"transpose_a", a}, {"transpose_b", b}}; }

// A transposed operand is read in its other order instead of being copied.
Replacement matmul_transpose(Algebra& a, const Candidate& c) {
  std::array<NodeId, 2> operands{c.in[0], c.in[1]};
  std::array<bool, 2> flags{c.attr<bool>("transpose_a"), c.attr<bool>("transpose_b")};
  bool changed = false;
  for (std::size_t i = 0; i < 2; ++i) {
    if (a.op(operands[i]) != known_ops().transpose) continue;
    if (!swaps_last_two(attribute<Integers>(a.graph().attributes(operands[i]), "permutation")))
      continue;
    operands[i] = a.in(operands[i]);
    flags[i] = !flags[i];
    changed = true;
  }
  if (!changed) return std::nullopt;
  return a.make(c.op, {operands[0], operands[1]}, transposes(flags[0], flags[1]));
}

// Whether a batch of matrices is one matrix, repeated; `leading` gets the mask of its batch axes.
bool is_repeated_matrix(Algebra& a, NodeId id, AxisMask& leading) {
  const Shape& shape = a.graph().type(id).shape;
  if (a.op(id) != known_ops().broadcast || shape.rank() < 3) return false;
  const AxisMask repeated = a.repeated_axes(id);
  leading = {};
  for (int axis = 0; axis + 2 < shape.rank(); ++axis) {
    if (!repeated[static_cast<std::size_t>(axis)]) return false;
    leading[static_cast<std::size_t>(axis)] = true;
  }
  return true;
}

// An operand that all members of a batch share is given once, as a plain matrix; if both are
// shared, so is the product.
Replacement matmul_broadcast(Algebra& a, const Candidate& c) {
  std::array<NodeId, 2> operands{c.in[0], c.in[1]};
  std::array<bool, 2> shared{};
  bool all_batched = true, changed = false;
  std::array<int, 2> ranks{};
  for (std::size_t i = 0; i < 2; ++i) {
    ranks[i] = a.graph().type(operands[i]).shape.rank();
    all_batched = all_batched && ranks[i] >= 3;
  }
  for (std::size_t i = 0; i < 2; ++i) {
    AxisMask leading;
    if (!is_repeated_matrix(a, operands[i], leading)) continue;
    if (!all_batched && ranks[1 - i] != 2) return std::nullopt;
    operands[i] = a.without_axes(operands[i], leading);
    shared[i] = changed = true;
  }
  if (!changed) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) shared[i] = shared[i] || ranks[i] == 2;
  const NodeId product = a.make(c.op, {operands[0], operands[1]}, c.attributes);
  if (!shared[0] || !shared[1]) return product;
  const std::int64_t rank = c.type.shape.rank();
  return a.broadcast(product, c.type.shape, {rank - 2, rank - 1});
}

}  // namespace

std::vector<AlgebraRule> product_rules() {
  return {
      {"reduce_unit", {"sum", "max", "min"}, reduce_unit},
      {"sum_fill", {"sum"}, sum_fill},
      {"sum_broadcast", {"sum"}, sum_broadcast},
      {"matmul_transpose", {"matmul"}, matmul_transpose},
      {"matmul_broadcast", {"matmul"}, matmul_broadcast},
  };
}

}  // namespace whorl
