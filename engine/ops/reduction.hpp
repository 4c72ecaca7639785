// What the reductions over axes have in common: attributes, types, loops, gradient, batching.
#pragma once

#include <algorithm>

#include "engine/ops.hpp"
#include "engine/ops/axes.hpp"

namespace whorl {

struct ReductionAttrs {
  Axes axes;  // empty: all of them
  bool keep = false;
  static constexpr auto fields() {
    return std::tuple{field("axes", &ReductionAttrs::axes).optional(),
                      field("keep", &ReductionAttrs::keep).optional()};
  }
};

// Which axes of `shape` are reduced. Kernels call it: it does not allocate.
inline std::array<bool, Shape::max_rank> reduced_axes(std::string_view where, const Shape& shape,
                                                      const Axes& axes) {
  std::array<bool, Shape::max_rank> reduced{};
  if (axes.empty()) std::fill_n(reduced.begin(), shape.rank(), true);
  for (std::int64_t axis : axes) {
    bool& mark = reduced[static_cast<std::size_t>(normal_axis(where, axis, shape.rank()))];
    if (mark) graph_error(where, "axis {} is given twice", axis);
    mark = true;
  }
  return reduced;
}

inline Shape reduced_shape(std::string_view where, const Shape& shape,
                           const ReductionAttrs& attrs) {
  const auto reduced = reduced_axes(where, shape, attrs.axes);
  std::vector<std::int64_t> dims;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!reduced[static_cast<std::size_t>(axis)]) {
      dims.push_back(shape[axis]);
    } else if (attrs.keep) {
      dims.push_back(1);
    }
  }
  return Shape(std::span<const std::int64_t>(dims));
}

// How many elements one output element is made of.
inline std::int64_t reduced_count(std::string_view where, const Shape& shape, const Axes& axes) {
  const auto reduced = reduced_axes(where, shape, axes);
  std::int64_t count = 1;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (reduced[static_cast<std::size_t>(axis)]) count *= shape[axis];
  return count;
}

// The type of a reduction that has no value for zero elements.
inline Type infer_nonempty_reduction(const Site& site) {
  const auto& attrs = site.attrs<ReductionAttrs>();
  const Shape& shape = site.in[0].shape;
  if (reduced_count(site.op->name, shape, attrs.axes) == 0)
    graph_error(site.op->name, "has no value over zero elements: {} over axes {}", to_string(shape),
                attrs.axes.empty() ? "all" : to_string(AttrValue(attrs.axes)));
  return {site.in[0].dtype, reduced_shape(site.op->name, shape, attrs)};
}

// The loops of a reduction: output = [outer..., inner], input = the same with reduced axes between.
// `inner` is the length of the contiguous run of kept elements (1 when the last axis is reduced).
struct ReductionLoops {
  std::int64_t outer = 1, reduced = 1, inner = 1;
  bool contiguous = false;  // [outer, reduced]: every output element sums one row

  explicit ReductionLoops(const Site& site) {
    const Shape& shape = site.in[0].shape;
    const auto mask = reduced_axes(site.op->name, shape, site.attrs<ReductionAttrs>().axes);
    const Strides steps = row_major(shape);
    int last = shape.rank();
    while (last > 0 && !mask[static_cast<std::size_t>(last - 1)]) inner *= shape[--last];
    int reduced_groups = 0;
    bool was_reduced = false;
    for (int axis = 0; axis < last; ++axis) {
      const bool is_reduced = mask[static_cast<std::size_t>(axis)];
      auto& group = is_reduced ? reduced_walk_ : outer_walk_;
      group.add(shape[axis], steps[static_cast<std::size_t>(axis)]);
      (is_reduced ? reduced : outer) *= shape[axis];
      reduced_groups += is_reduced && !was_reduced;
      was_reduced = is_reduced;
    }
    simple_ = reduced_groups <= 1;
    contiguous = simple_ && inner == 1;
  }

  // Where the input's run for (outer, reduced) begins.
  std::int64_t offset(std::int64_t o, std::int64_t r) const {
    if (simple_) return (o * reduced + r) * inner;
    return outer_walk_.offset(o) + reduced_walk_.offset(r);
  }

  // Cuts the outputs [begin, end) into runs inside one `outer`, at most `block` long, and calls
  // visit(first output, outer, position in the run of inner elements, count).
  template <class Visit>
  void blocks(std::int64_t begin, std::int64_t end, std::int64_t block, Visit&& visit) const {
    while (begin < end) {
      const std::int64_t o = begin / inner, at = begin % inner;
      const std::int64_t count = std::min({block, inner - at, end - begin});
      visit(begin, o, at, count);
      begin += count;
    }
  }

 private:
  struct Group {
    std::array<std::int64_t, Shape::max_rank> size{}, step{};
    int rank = 0;
    void add(std::int64_t dim, std::int64_t stride) {
      size[static_cast<std::size_t>(rank)] = dim;
      step[static_cast<std::size_t>(rank++)] = stride;
    }
    std::int64_t offset(std::int64_t index) const {
      std::int64_t result = 0;
      for (int i = rank - 1; i >= 0; --i) {
        const auto at = static_cast<std::size_t>(i);
        result += index % size[at] * step[at];
        index /= size[at];
      }
      return result;
    }
  };
  Group outer_walk_, reduced_walk_;
  bool simple_ = true;
};

struct Reduction {
  using Attrs = ReductionAttrs;
  static constexpr std::array<std::string_view, 1> inputs{"x"};
  static Type infer(const Site& site) {
    return {site.in[0].dtype,
            reduced_shape(site.op->name, site.in[0].shape, site.attrs<ReductionAttrs>())};
  }
  static std::int64_t units(const Site& site) { return site.out.elements(); }
  static double flops(const Site& site) { return static_cast<double>(site.in[0].elements()); }
  static Value batch(const Batch& b) {
    const Shape& shape = b.x().shape();  // with the leading axis
    Axes axes = normal_axes(b.op->name, b.attrs<ReductionAttrs>().axes, shape.rank() - 1);
    if (axes.empty())
      for (int axis = 0; axis + 1 < shape.rank(); ++axis) axes.push_back(axis);
    // A rank-0 value per chain: nothing is left to reduce.
    if (axes.empty()) return b.x();
    for (std::int64_t& axis : axes) ++axis;
    return call(*b.op, {b.x()}, attributes(ReductionAttrs{axes, b.attrs<ReductionAttrs>().keep}));
  }
  static std::vector<Sample> samples() {
    using L = std::vector<std::int64_t>;
    return {{{{{2, 3}}}},
            {{{{2, 3, 4}}}, {{"axes", L{2}}}},
            {{{{2, 3, 4}}}, {{"axes", L{0}}}},
            {{{{2, 3, 4}}}, {{"axes", L{1}}, {"keep", true}}},
            {{{{2, 3, 4}}}, {{"axes", L{0, 2}}}},
            {{{{}}}}};
  }
  // A value of the output's shape, repeated over the reduced axes.
  static Value spread(Value value, const Adjoint& a) {
    return spread_to(value, a.x().shape(), a.attrs<ReductionAttrs>());
  }
  static Value spread_to(Value value, const Shape& shape, const ReductionAttrs& attrs) {
    const auto mask = reduced_axes("reduction", shape, attrs.axes);
    Axes axes;
    for (int axis = 0; axis < shape.rank(); ++axis)
      if (attrs.keep || !mask[static_cast<std::size_t>(axis)]) axes.push_back(axis);
    return broadcast(value, shape, axes);
  }
};

// The builders of reductions.
inline Value reduce(const OpDef& op, Value x, Axes axes, bool keep) {
  return call(
      op, {x},
      attributes(ReductionAttrs{normal_axes(op.name, std::move(axes), x.shape().rank()), keep}));
}

}  // namespace whorl
