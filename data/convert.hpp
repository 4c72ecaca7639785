// Conversion of single numbers to an element type: which ones it can hold, and why not the others.
//
// Thread safety: pure functions.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "engine/type.hpp"

namespace whorl {

// Why `value` cannot become a T, or "".
template <class T>
std::string_view obstacle(double value) {
  if (!std::isfinite(value)) return "not finite";
  if constexpr (std::is_same_v<T, bool>) {
    return value == 0 || value == 1 ? "" : "neither 0 nor 1";
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    if (value != std::trunc(value)) return "not a whole number";
    const bool fits = value >= std::numeric_limits<std::int32_t>::min() &&
                      value <= std::numeric_limits<std::int32_t>::max();
    return fits ? "" : "too large";
  } else {
    return std::isfinite(static_cast<T>(value)) ? "" : "too large";
  }
}

// Whether every From can become a To, so that nobody has to look.
template <class From, class To>
inline constexpr bool always_fits = std::is_integral_v<From> &&
                                    (std::is_floating_point_v<To> ||
                                     (std::is_same_v<To, std::int32_t> &&
                                      std::numeric_limits<From>::digits <=
                                          std::numeric_limits<To>::digits));

// Which row an element belongs to.
inline std::int64_t row_of(const Shape& shape, std::int64_t element) {
  return shape.rank() == 0 ? 0 : element / shape.without_front().elements();
}

// What an error calls the array that a number does not fit: `user`, such as "input 'x', which is
// f32", where there is one.
inline std::string taker(DType dtype, std::string_view user) {
  return user.empty() ? "an array of " + std::string(name(dtype)) : std::string(user);
}

}  // namespace whorl
