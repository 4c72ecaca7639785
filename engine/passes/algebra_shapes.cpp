// Rules about moving numbers: two moves in a row are one, and a move that moves nothing is none.
#include <algorithm>
#include <numeric>

#include "engine/passes/algebra.hpp"

namespace whorl {

namespace {

using Integers = std::vector<std::int64_t>;

std::int64_t integer(const Attributes& attributes, std::string_view name) {
  return attribute<std::int64_t>(attributes, name);
}
Integers integers(const Attributes& attributes, std::string_view name) {
  return attribute<Integers>(attributes, name);
}
// The field "axis", counted from the front.
int axis_of(const Attributes& attributes, int rank) {
  const std::int64_t axis = integer(attributes, "axis");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// reshape to the shape it has; reshape of reshape. One dimension of the attribute may be open (-1),
// so the shape is taken from the type.
Replacement reshape_chain(Algebra& a, const Candidate& c) {
  if (a.graph().type(c.in[0]) == c.type) return c.in[0];
  if (a.op(c.in[0]) != known_ops().reshape) return std::nullopt;
  return a.reshape(a.in(c.in[0]), c.type.shape);
}

// reshape, broadcast, transpose or slice of a fill is a fill.
Replacement move_fill(Algebra& a, const Candidate& c) {
  if (const auto value = a.fill_value(c.in[0])) return a.fill(c.type, *value);
  return std::nullopt;
}

// A broadcast that repeats nothing only adds axes of size 1.
Replacement broadcast_same(Algebra& a, const Candidate& c) {
  if (a.graph().type(c.in[0]).elements() != c.type.elements()) return std::nullopt;
  return a.reshape(c.in[0], c.type.shape);
}

// broadcast of broadcast: the axes are looked up in each other.
Replacement broadcast_chain(Algebra& a, const Candidate& c) {
  if (a.op(c.in[0]) != known_ops().broadcast) return std::nullopt;
  const Integers outer = integers(c.attributes, "axes");
  Integers axes = integers(a.graph().attributes(c.in[0]), "axes");
  for (std::int64_t& axis : axes) axis = outer[static_cast<std::size_t>(axis)];
  return a.broadcast(a.in(c.in[0]), c.type.shape, axes);
}

// broadcast of a reshape that only adds axes of size 1 is a broadcast of what was reshaped.
Replacement broadcast_reshape(Algebra& a, const Candidate& c) {
  if (a.op(c.in[0]) != known_ops().reshape) return std::nullopt;
  const NodeId x = a.in(c.in[0]);
  const Shape& from = a.graph().type(x).shape;
  const Shape& to = a.graph().type(c.in[0]).shape;
  const Integers outer = integers(c.attributes, "axes");
  Integers axes;
  for (int axis = 0; axis < to.rank(); ++axis) {
    const int next = static_cast<int>(axes.size());
    if (next < from.rank() && from[next] == to[axis]) {
      axes.push_back(outer[static_cast<std::size_t>(axis)]);
    } else if (to[axis] != 1) {
      return std::nullopt;
    }
  }
  if (static_cast<int>(axes.size()) != from.rank()) return std::nullopt;
  return a.broadcast(x, c.type.shape, axes);
}

// transpose that leaves the axes longer than 1 in their order
Replacement transpose_same(Algebra& a, const Candidate& c) {
  const Shape& shape = a.graph().type(c.in[0]).shape;
  std::int64_t last = -1;
  for (std::int64_t axis : integers(c.attributes, "permutation")) {
    if (shape[static_cast<int>(axis)] == 1) continue;
    if (axis < last) return std::nullopt;
    last = axis;
  }
  return a.reshape(c.in[0], c.type.shape);
}

// transpose of transpose: output axis i is axis inner[outer[i]] of the first input.
Replacement transpose_chain(Algebra& a, const Candidate& c) {
  if (a.op(c.in[0]) != known_ops().transpose) return std::nullopt;
  const Integers inner = integers(a.graph().attributes(c.in[0]), "permutation");
  Integers permutation = integers(c.attributes, "permutation");
  for (std::int64_t& axis : permutation) axis = inner[static_cast<std::size_t>(axis)];
  return a.make(known_ops().transpose, {a.in(c.in[0])}, {{"permutation", permutation}});
}

struct Range {
  int axis;
  std::int64_t begin, end, step;

  Range(const Attributes& attributes, int rank)
      : axis(axis_of(attributes, rank)),
        begin(integer(attributes, "begin")),
        end(integer(attributes, "end")),
        step(integer(attributes, "step")) {}
  AttrList list() const {
    return {{"axis", std::int64_t{axis}}, {"begin", begin}, {"end", end}, {"step", step}};
  }
};

// slice of everything
Replacement slice_whole(Algebra& a, const Candidate& c) {
  if (a.graph().type(c.in[0]) == c.type) return c.in[0];
  return std::nullopt;
}

// slice of slice along one axis: index i is begin + step * (begin' + step' * i).
Replacement slice_chain(Algebra& a, const Candidate& c) {
  if (a.op(c.in[0]) != known_ops().slice) return std::nullopt;
  const Range inner(a.graph().attributes(c.in[0]), c.type.shape.rank());
  Range range(c.attributes, c.type.shape.rank());
  const std::int64_t count = c.type.shape[range.axis];
  if (inner.axis != range.axis || count == 0) return std::nullopt;
  range.begin = inner.begin + inner.step * range.begin;
  range.step *= inner.step;
  range.end = range.begin + (count - 1) * range.step + 1;
  return a.make(known_ops().slice, {a.in(c.in[0])}, range.list());
}

// slice of a concat that lies inside one part is a slice of that part.
Replacement slice_concat(Algebra& a, const Candidate& c) {
  if (a.op(c.in[0]) != known_ops().concat) return std::nullopt;
  Range range(c.attributes, c.type.shape.rank());
  if (axis_of(a.graph().attributes(c.in[0]), c.type.shape.rank()) != range.axis)
    return std::nullopt;
  for (NodeId part : a.graph().inputs(c.in[0])) {
    const std::int64_t size = a.graph().type(part).shape[range.axis];
    if (range.begin < size) {
      if (range.end > size) return std::nullopt;
      return a.make(known_ops().slice, {part}, range.list());
    }
    range.begin -= size;
    range.end -= size;
  }
  return std::nullopt;
}

// concat of one
Replacement concat_one(Algebra&, const Candidate& c) {
  if (c.in.size() == 1) return c.in[0];
  return std::nullopt;
}

// concat of equal fills
Replacement concat_fill(Algebra& a, const Candidate& c) {
  const auto first = a.fill_value(c.in[0]);
  if (!first) return std::nullopt;
  for (NodeId in : c.in) {
    const auto value = a.fill_value(in);
    if (!value || !equal(AttrValue(*value), AttrValue(*first))) return std::nullopt;
  }
  return a.fill(c.type, *first);
}

// concat of concats along one axis. The bound keeps a long chain of them from growing
// quadratically.
Replacement concat_chain(Algebra& a, const Candidate& c) {
  constexpr std::size_t most_parts = 64;
  const int axis = axis_of(c.attributes, c.type.shape.rank());
  std::vector<NodeId> parts;
  for (NodeId in : c.in) {
    const bool nested = a.op(in) == known_ops().concat &&
                        axis_of(a.graph().attributes(in), c.type.shape.rank()) == axis;
    const auto inner = nested ? a.graph().inputs(in) : std::span<const NodeId>(&in, 1);
    parts.insert(parts.end(), inner.begin(), inner.end());
  }
  if (parts.size() == c.in.size() || parts.size() > most_parts) return std::nullopt;
  return a.make(known_ops().concat, parts, {{"axis", std::int64_t{axis}}});
}

// pad by nothing
Replacement pad_nothing(Algebra& a, const Candidate& c) {
  if (a.graph().type(c.in[0]) == c.type) return c.in[0];
  return std::nullopt;
}

// Zeros around a block [begin, end) of one axis.
struct PaddedBlock {
  int axis;
  std::int64_t begin, end, size;
};
std::optional<PaddedBlock> padded_block(Algebra& a, NodeId id) {
  if (a.op(id) != known_ops().pad) return std::nullopt;
  const Attributes& attributes = a.graph().attributes(id);
  const Shape& shape = a.graph().type(id).shape;
  if (attribute<double>(attributes, "value") != 0 || integer(attributes, "between") != 0)
    return std::nullopt;
  const int axis = axis_of(attributes, shape.rank());
  return PaddedBlock{axis, integer(attributes, "before"),
                     shape[axis] - integer(attributes, "after"), shape[axis]};
}

// The sum of two blocks that meet, with zeros around each, is their concat with zeros around it.
// The gradient of a vector that was cut into layers is such a sum.
Replacement add_pads(Algebra& a, const Candidate& c) {
  auto low = padded_block(a, c.in[0]), high = padded_block(a, c.in[1]);
  if (!low || !high || low->axis != high->axis) return std::nullopt;
  NodeId first = a.in(c.in[0]), second = a.in(c.in[1]);
  if (high->begin < low->begin) {
    std::swap(low, high);
    std::swap(first, second);
  }
  if (low->end != high->begin) return std::nullopt;
  const std::int64_t axis = low->axis;
  const NodeId both = a.make(known_ops().concat, {first, second}, {{"axis", axis}});
  return a.make(known_ops().pad, {both},
                {{"axis", axis}, {"before", low->begin}, {"after", high->size - high->end}});
}

}  // namespace

std::vector<AlgebraRule> shape_rules() {
  return {
      {"reshape", {"reshape"}, reshape_chain},
      {"move_fill", {"reshape", "broadcast", "transpose", "slice"}, move_fill},
      {"broadcast_same", {"broadcast"}, broadcast_same},
      {"broadcast_chain", {"broadcast"}, broadcast_chain},
      {"broadcast_reshape", {"broadcast"}, broadcast_reshape},
      {"transpose_same", {"transpose"}, transpose_same},
      {"transpose_chain", {"transpose"}, transpose_chain},
      {"slice_whole", {"slice"}, slice_whole},
      {"slice_chain", {"slice"}, slice_chain},
      {"slice_concat", {"slice"}, slice_concat},
      {"concat_one", {"concat"}, concat_one},
      {"concat_fill", {"concat"}, concat_fill},
      {"concat_chain", {"concat"}, concat_chain},
      {"pad_nothing", {"pad"}, pad_nothing},
      {"add_pads", {"add"}, add_pads},
  };
}

}  // namespace whorl
