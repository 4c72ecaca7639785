// From random words to uniform and normal numbers.
//
// Box-Muller: with u uniform in (0, 1) and an angle t uniform on the circle, sqrt(-2 log u) cos t
// and sqrt(-2 log u) sin t are independent standard normals. A word w stands for u = (w +
// 1/2)/2^32. Float numbers are dense near 0 but not near 1, so the upper half of the words is read
// from the other end, as 1 - x with x = (2^32 - 1 - w + 1/2)/2^32: the logarithm has all its digits
// at both ends, the radius is never 0, and no draw collapses to an exact 0. Thread safety: pure
// functions.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "engine/kernels/vmath.hpp"

namespace whorl::philox {

template <class T>
struct Pair {
  T first, second;
};

// sqrt(-2 log u). The logarithm is that of vmath, which splits u = 2^e (1 + f) with 1 + f in
// [2/3, 4/3); for u = 1 - x that is e = 0, f = -x or e = -1, f = 1 - 2x, both exact.
inline float radius(std::uint32_t word) {
  const std::int32_t half = static_cast<std::int32_t>(word);
  const bool upper = half < 0;
  const float x = (static_cast<float>(upper ? ~half : half) + 0.5f) * 0x1p-32f;
  const std::int32_t bits = std::bit_cast<std::int32_t>(x);
  const std::int32_t lower_e = (bits - 0x3f2aaaab) >> 23;
  const float lower_f = std::bit_cast<float>(bits - lower_e * (1 << 23)) - 1.0f;
  const bool far = x >= 1.0f / 3;
  const std::int32_t upper_e = far ? -1 : 0;
  const float upper_f = far ? 1.0f - 2.0f * x : -x;

  const float e = static_cast<float>(upper ? upper_e : lower_e);
  const float f = upper ? upper_f : lower_f;
  return std::sqrt(-2.0f * vmath::detail::log_parts(e, f));
}

// cos and sin of an angle made of a word: two bits choose the quarter turn, the others a place in
// it, at the middle of its interval, so that neither function is ever 0.
inline Pair<float> direction(std::uint32_t word) {
  const std::uint32_t quarter = word >> 30;
  const std::int32_t place = static_cast<std::int32_t>(word << 2) >> 2;
  const float t = (static_cast<float>(place) + 0.5f) * 1.46291807e-9f;  // 2^-30 pi/2
  const float s = vmath::detail::sin_poly(t), c = vmath::detail::cos_poly(t);
  const std::uint32_t cos_bits = std::bit_cast<std::uint32_t>((quarter & 1) ? s : c);
  const std::uint32_t sin_bits = std::bit_cast<std::uint32_t>((quarter & 1) ? c : s);
  return {std::bit_cast<float>(cos_bits ^ ((quarter + 1) & 2) << 30),
          std::bit_cast<float>(sin_bits ^ (quarter & 2) << 30)};
}

inline Pair<float> normals(std::uint32_t radius_word, std::uint32_t angle_word) {
  const float r = radius(radius_word);
  const auto [c, s] = direction(angle_word);
  return {r * c, r * s};
}

// The same with 64 bits for the radius and 64 for the angle.
inline Pair<double> normals(std::uint64_t radius_word, std::uint64_t angle_word) {
  const auto half = static_cast<std::int64_t>(radius_word);
  const double x = (static_cast<double>(half < 0 ? ~half : half) + 0.5) * 0x1p-64;
  const double r = std::sqrt(-2.0 * (half < 0 ? std::log1p(-x) : std::log(x)));
  const auto quarter = static_cast<unsigned>(angle_word >> 62);
  const std::int64_t place = static_cast<std::int64_t>(angle_word << 2) >> 2;
  const double t = (static_cast<double>(place) + 0.5) * (0x1p-62 * 1.5707963267948966);
  const double s = std::sin(t), c = std::cos(t);
  const double cos_t = (quarter & 1) ? s : c, sin_t = (quarter & 1) ? c : s;
  return {((quarter + 1) & 2) ? -r * cos_t : r * cos_t, (quarter & 2) ? -r * sin_t : r * sin_t};
}

// (k + 1/2) / 2^23 and (k + 1/2) / 2^52 are exact, so 0 and 1 cannot be reached by rounding.
inline float uniform(std::uint32_t word) {
  return (static_cast<float>(static_cast<std::int32_t>(word >> 9)) + 0.5f) * 0x1p-23f;
}
inline double uniform(std::uint64_t word) {
  return (static_cast<double>(static_cast<std::int64_t>(word >> 12)) + 0.5) * 0x1p-52;
}

}  // namespace whorl::philox
