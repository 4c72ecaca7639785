// Tensors, sizes and times as people read them.
#pragma once

#include <string>

#include "driver/json.hpp"
#include "engine/tensor.hpp"

namespace whorl::driver {

// What a large tensor is summed up to: over its finite elements, in double.
struct Summary {
  double min = 0, mean = 0, max = 0;
  std::int64_t not_finite = 0;
};
Summary summarise(const Tensor& tensor);

// Tensors of up to so many elements are printed in full.
inline constexpr std::int64_t small_elements = 32;

// "[[1, 2], [3, 4]]": every element, with the digits that tell it from its neighbours.
std::string elements_text(const Tensor& tensor);
// One line "U  f32[4]  [1, 2, 3, 4]", or with min, mean and max where the tensor is large and not
// asked for in full.
std::string tensor_text(std::string_view name, const Tensor& tensor, bool full);
// The fields "type", then "values" or "min", "mean", "max", "not_finite" of an open object.
void add_tensor(Json& json, const Tensor& tensor, bool full);

std::string bytes_text(double bytes);      // "3.2 KiB"
std::string seconds_text(double seconds);  // "12.3 us"
std::string count_text(double count);      // "1.23 M"

}  // namespace whorl::driver
