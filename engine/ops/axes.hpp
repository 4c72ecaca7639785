// What the ops that move elements between shapes have in common: axis rules and strided walks.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/error.hpp"
#include "engine/ops.hpp"

namespace whorl {

// axis in [-rank, rank) as an axis in [0, rank).
inline std::int64_t normal_axis(std::string_view where, std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    graph_error(where, "axis {} is out of range for rank {}", axis, rank);
  return axis < 0 ? axis + rank : axis;
}

// Sorted, distinct axes in [0, rank); an empty list stays empty.
inline Axes normal_axes(std::string_view where, Axes axes, int rank) {
  for (std::int64_t& axis : axes) axis = normal_axis(where, axis, rank);
  std::sort(axes.begin(), axes.end());
  const auto twice = std::adjacent_find(axes.begin(), axes.end());
  if (twice != axes.end()) graph_error(where, "axis {} is given twice", *twice);
  return axes;
}

using Strides = std::array<std::int64_t, Shape::max_rank>;

inline Strides row_major(const Shape& shape) {
  Strides strides{};
  std::int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = step;
    step *= shape[axis];
  }
  return strides;
}

// Visits the elements of `shape` in row-major order, from the flat index `begin` on, and knows the
// offset of each in another array with the given strides.
class StridedWalk {
 public:
  // Neighbouring axes that are one run in the other array as well are merged first.
  StridedWalk(const Shape& shape, const Strides& strides, std::int64_t begin) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const std::int64_t size = shape[axis], stride = strides[static_cast<std::size_t>(axis)];
      if (size == 1) continue;
      if (rank_ > 0 && stride_[rank_ - 1] == stride * size) {
        size_[rank_ - 1] *= size;
        stride_[rank_ - 1] = stride;
      } else {
        size_[rank_] = size;
        stride_[rank_++] = stride;
      }
    }
    if (rank_ == 0) {
      size_[0] = 1;
      stride_[0] = 1;
      rank_ = 1;
    }
    for (std::size_t axis = rank_; axis-- > 0;) {
      if (size_[axis] == 0) continue;
      index_[axis] = begin % size_[axis];
      begin /= size_[axis];
      offset_ += index_[axis] * stride_[axis];
    }
  }

  std::int64_t inner_stride() const { return stride_[rank_ - 1]; }

  // Calls visit(position, offset, count, repeated) for runs along the innermost axis that cover the
  // next n elements: position counts from 0; `repeated` means that the offset does not move.
  // Other inner strides are visited element by element.
  template <class Visit>
  void runs(std::int64_t n, Visit&& visit) {
    const std::size_t last = rank_ - 1;
    const std::int64_t stride = stride_[last];
    for (std::int64_t at = 0; at < n;) {
      const std::int64_t count = std::min(size_[last] - index_[last], n - at);
      if (stride == 0 || stride == 1) {
        visit(at, offset_, count, stride == 0);
      } else {
        for (std::int64_t i = 0; i < count; ++i) visit(at + i, offset_ + i * stride, 1, false);
      }
      at += count;
      advance(count);
    }
  }

 private:
  void advance(std::int64_t count) {
    std::size_t axis = rank_ - 1;
    index_[axis] += count;
    offset_ += count * stride_[axis];
    while (index_[axis] == size_[axis] && axis > 0) {
      offset_ -= index_[axis] * stride_[axis];
      index_[axis] = 0;
      --axis;
      ++index_[axis];
      offset_ += stride_[axis];
    }
  }

  std::array<std::int64_t, Shape::max_rank> size_{};
  std::array<std::int64_t, Shape::max_rank> stride_{};
  std::array<std::int64_t, Shape::max_rank> index_{};
  std::size_t rank_ = 0;
  std::int64_t offset_ = 0;
};

}  // namespace whorl
