// Tensor: a dense row-major array with a Type.
//
// A Tensor either shares ownership of 64-byte aligned storage or borrows memory that its user keeps
// alive. Copying a Tensor copies the handle, not the elements; clone() copies the elements.
// Thread safety: as for a pointer; two threads may read one Tensor, a writer needs it alone.
#pragma once

#include <algorithm>
#include <cassert>
#include <memory>
#include <span>
#include <vector>

#include "engine/type.hpp"

namespace whorl {

class Tensor {
 public:
  Tensor() : Tensor(Type{}) {}
  // Zero-filled storage of its own. Throws Error (memory) where it cannot be had.
  explicit Tensor(const Type& type);

  template <class T>
  static Tensor of(const Shape& shape, std::span<const T> values) {
    Tensor tensor({dtype_of<T>, shape});
    assert(static_cast<std::int64_t>(values.size()) == shape.elements());
    std::copy(values.begin(), values.end(), tensor.data<T>());
    return tensor;
  }
  template <class T>
  static Tensor of(const Shape& shape, std::initializer_list<T> values) {
    return of<T>(shape, std::span<const T>(values.begin(), values.size()));
  }
  template <class T>
  static Tensor scalar(T value) {
    return of<T>({}, {value});
  }
  // Numbers in double, in the element type given: f32, f64 or i32.
  static Tensor from(const Type& type, std::span<const double> values);
  // `data` must outlive the Tensor and every executor it is bound to.
  static Tensor borrow(const Type& type, void* data);

  const Type& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }
  std::int64_t elements() const { return type_.elements(); }
  std::int64_t bytes() const { return type_.bytes(); }

  void* raw() { return data_.get(); }
  const void* raw() const { return data_.get(); }
  template <class T>
  T* data() {
    assert(dtype_of<T> == type_.dtype);
    return static_cast<T*>(data_.get());
  }
  template <class T>
  const T* data() const {
    assert(dtype_of<T> == type_.dtype);
    return static_cast<const T*>(data_.get());
  }
  template <class T>
  std::span<T> values() {
    return {data<T>(), static_cast<std::size_t>(elements())};
  }
  template <class T>
  std::span<const T> values() const {
    return {data<T>(), static_cast<std::size_t>(elements())};
  }

  // Any element as a double; for reports and tests, not for arithmetic.
  double at(std::int64_t index) const;
  Tensor clone() const;
  // The elements from the first on in another shape, of as many of them or fewer, in the same
  // storage. Only from the first on: what kernels touch stays aligned.
  Tensor view(const Shape& shape) const {
    assert(shape.elements() <= elements());
    return Tensor({dtype(), shape}, data_);
  }
  // Same type and the same bytes (so NaN equals NaN, and 0.0 differs from -0.0).
  bool same_bits(const Tensor& other) const;

 private:
  Tensor(const Type& type, std::shared_ptr<void> data) : type_(type), data_(std::move(data)) {}

  Type type_;
  std::shared_ptr<void> data_;
};

// Calls f with a value-initialised element of the dtype's C++ type.
template <class F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::i32:
      return f(std::int32_t{});
    case DType::boolean:
      break;
  }
  return f(bool{});
}

// Every storage that kernels touch starts on such a boundary: MKL's bits may depend on alignment.
inline constexpr std::size_t storage_alignment = 64;
std::shared_ptr<void> allocate_storage(std::int64_t bytes);

}  // namespace whorl
