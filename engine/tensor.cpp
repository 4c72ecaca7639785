#include "engine/tensor.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "engine/error.hpp"

namespace whorl {

std::shared_ptr<void> allocate_storage(std::int64_t bytes) {
  // One spare line, so that a zero-size value has an address and a vector tail may be over-read.
  const std::size_t rounded =
      (static_cast<std::size_t>(bytes) / storage_alignment + 2) * storage_alignment;
  void* memory = std::aligned_alloc(storage_alignment, rounded);
  if (memory == nullptr)
    fail(ErrorKind::memory, "memory", "cannot allocate {} bytes for a tensor", bytes);
  std::memset(memory, 0, rounded);
  return {memory, [](void* p) { std::free(p); }};
}

Tensor::Tensor(const Type& type) : Tensor(type, allocate_storage(type.bytes())) {}

Tensor Tensor::borrow(const Type& type, void* data) {
  return Tensor(type, std::shared_ptr<void>(data, [](void*) {}));
}

Tensor Tensor::from(const Type& type, std::span<const double> values) {
  assert(std::ssize(values) == type.elements());
  Tensor tensor(type);
  dispatch(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    std::transform(values.begin(), values.end(), tensor.data<T>(),
                   [](double value) { return static_cast<T>(value); });
  });
  return tensor;
}

double Tensor::at(std::int64_t index) const {
  return dispatch(dtype(),
                  [&](auto zero) { return static_cast<double>(data<decltype(zero)>()[index]); });
}

Tensor Tensor::clone() const {
  Tensor copy(type_);
  std::memcpy(copy.raw(), raw(), static_cast<std::size_t>(bytes()));
  return copy;
}

bool Tensor::same_bits(const Tensor& other) const {
  return type_ == other.type_ &&
         std::memcmp(raw(), other.raw(), static_cast<std::size_t>(bytes())) == 0;
}

}  // namespace whorl
