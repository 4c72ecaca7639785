#include "engine/type.hpp"

#include <fmt/ranges.h>

#include "engine/error.hpp"

namespace whorl {

namespace {
constexpr std::array<std::string_view, dtype_count> names{"f32", "f64", "i32", "bool"};
constexpr std::array<std::size_t, dtype_count> sizes{4, 8, 4, 1};
}  // namespace

std::string_view name(DType dtype) { return names[static_cast<std::size_t>(dtype)]; }

std::optional<DType> dtype_from_name(std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<DType>(found - names.begin());
}

std::size_t size_of(DType dtype) { return sizes[static_cast<std::size_t>(dtype)]; }

Shape::Shape(std::span<const std::int64_t> dims) {
  if (dims.size() > max_rank)
    graph_error("shape", "rank {} is more than the limit of {}", dims.size(), max_rank);
  bool empty = false;
  // The product ignores zeros while it is checked, so [2^62, 4, 0] is refused like [2^62, 4].
  std::int64_t product = 1;
  for (std::int64_t dim : dims) {
    if (dim < 0) graph_error("shape", "dimension {} is negative", dim);
    if (dim == 0) {
      empty = true;
    } else if (dim > max_elements / product) {
      graph_error("shape", "[{}] has more than the limit of 2^40 elements", fmt::join(dims, ","));
    } else {
      product *= dim;
    }
    dims_[static_cast<std::size_t>(rank_++)] = dim;
  }
  elements_ = empty ? 0 : product;
}

std::int64_t Shape::span_elements(int first, int last) const {
  std::int64_t product = 1;
  for (int axis = first; axis < last; ++axis) product *= (*this)[axis];
  return product;
}

Shape Shape::with_front(std::int64_t dim) const {
  std::array<std::int64_t, max_rank + 1> dims{dim};
  std::copy(begin(), end(), dims.begin() + 1);
  return Shape(std::span(dims.data(), static_cast<std::size_t>(rank_ + 1)));
}

Shape Shape::without_front() const { return slice(1, rank_); }

Shape Shape::slice(int first, int last) const {
  return Shape(std::span(begin() + first, static_cast<std::size_t>(last - first)));
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

std::string to_string(const Type& type) {
  return fmt::format("{}{}", name(type.dtype), to_string(type.shape));
}

}  // namespace whorl
