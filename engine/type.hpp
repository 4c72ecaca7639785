// Type: what is known of a value before anything runs, its element type and its static shape.
//
// Invariants: rank 0..8, every dimension >= 0 (zero-size values are legal), at most 2^40 elements,
// so that element counts and byte sizes never overflow 64 bits.
// Thread safety: plain values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace whorl {

enum class DType : std::uint8_t { f32, f64, i32, boolean };
inline constexpr int dtype_count = 4;

std::string_view name(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);
std::size_t size_of(DType dtype);
constexpr bool is_float(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }

// The DType that stores a C++ type: float, double, int32_t, bool.
template <class T>
inline constexpr DType dtype_of = [] { static_assert(sizeof(T) == 0, "no DType for T"); }();
template <>
inline constexpr DType dtype_of<float> = DType::f32;
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::i32;
template <>
inline constexpr DType dtype_of<bool> = DType::boolean;

class Shape {
 public:
  static constexpr int max_rank = 8;
  static constexpr std::int64_t max_elements = std::int64_t{1} << 40;

  Shape() = default;
  // Throws a graph Error for rank > 8, a negative dimension, or more than 2^40 elements.
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + rank_; }
  std::span<const std::int64_t> dims() const { return {begin(), end()}; }
  std::int64_t elements() const { return elements_; }

  // Product of the dimensions in [first, last).
  std::int64_t span_elements(int first, int last) const;
  Shape with_front(std::int64_t dim) const;  // [dim, this...]
  Shape without_front() const;               // drops axis 0; the rank must be >= 1
  Shape slice(int first, int last) const;    // axes [first, last)

  friend bool operator==(const Shape& a, const Shape& b) {
    return a.rank_ == b.rank_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  std::array<std::int64_t, max_rank> dims_{};
  std::int64_t elements_ = 1;
  int rank_ = 0;
};

struct Type {
  DType dtype = DType::f32;
  Shape shape;

  std::int64_t elements() const { return shape.elements(); }
  std::int64_t bytes() const { return elements() * static_cast<std::int64_t>(size_of(dtype)); }
  friend bool operator==(const Type&, const Type&) = default;
};

std::string to_string(const Shape& shape);  // "[20,784]"
std::string to_string(const Type& type);    // "f32[20,784]"

}  // namespace whorl
