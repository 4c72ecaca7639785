// vmath: elementary functions, one path for each, the same bits in a vector loop and in its tail.
//
// The float versions are branch-free, so that the compiler turns a loop over them into vector code;
// every multiply-add is spelled std::fma and contraction is off, so no build or loop position can
// round differently. Errors are within 2.5 units in the last place (tests/engine/vmath.cpp measures
// them); subnormals are flushed, as everywhere in the engine. The double versions are the C
// library's, which have no vector variants to disagree with.
// Thread safety: pure functions.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace whorl::vmath {

namespace detail {

// 1.5 * 2^23: adding it leaves the nearest integer in the low bits of a float's mantissa.
inline constexpr float round_magic = 12582912.0f;
inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float quiet_nan = std::numeric_limits<float>::quiet_NaN();

// e^x = 2^n (1 + p) with |r| = |x - n ln 2| <= ln(2)/2 and p = e^r - 1 by its Taylor series.
struct ExpParts {
  float p;
  std::int32_t n;
};
inline ExpParts exp_parts(float x) {
  const float shifted = std::fma(x, 1.44269504f, round_magic);
  const std::int32_t n =
      std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(round_magic);
  const float nf = shifted - round_magic;
  float r = std::fma(nf, -0.693145752f, x);  // ln 2 in two parts, the first exact in few bits
  r = std::fma(nf, -1.42860677e-6f, r);
  float p = 1.0f / 5040;
  p = std::fma(p, r, 1.0f / 720);
  p = std::fma(p, r, 1.0f / 120);
  p = std::fma(p, r, 1.0f / 24);
  p = std::fma(p, r, 1.0f / 6);
  p = std::fma(p, r, 0.5f);
  return {std::fma(p * r, r, r), n};
}
// 2^n for n in [-126, 127].
inline float power_of_two(std::int32_t n) { return std::bit_cast<float>((n + 127) << 23); }

// y where `keep`, else 0. With bits, not with ?:, of which the compiler makes a branch when what
// follows is simple for 0 (as log1p is in softplus), and then no vector code.
inline float keep_if(bool keep, float y) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(y) &
                              (0u - static_cast<std::uint32_t>(keep)));
}

}  // namespace detail

inline float exp(float x) {
  // Beyond these the result is infinite or subnormal, which is flushed. A NaN passes the compares.
  const float low = -87.33654f, high = 88.72283f;
  const float c = x < low ? low : (x > high ? high : x);
  const auto [p, n] = detail::exp_parts(c);
  // 2^128 is no float: scale in two halves.
  const std::int32_t half = n >> 1;
  const float y = std::fma(p, detail::power_of_two(half), detail::power_of_two(half)) *
                  detail::power_of_two(n - half);
  return detail::keep_if(!(x < low), x > high ? detail::infinity : y);
}
inline double exp(double x) { return std::exp(x); }

inline float expm1(float x) {
  const float low = -17.4f, high = 88.0f;
  const float c = x < low ? low : (x > high ? high : x);
  const auto [p, n] = detail::exp_parts(c);
  const float scale = detail::power_of_two(n);
  const float y = std::fma(scale, p, scale - 1.0f);
  return x > high ? exp(x) : y;
}
inline double expm1(double x) { return std::expm1(x); }

namespace detail {
// log(2^e (1 + f)) for 1 + f in [2/3, 4/3): with s = f / (2 + f),
// log(1 + f) = f - f^2/2 + s (f^2/2 + 2 s^2/3 + 2 s^4/5 + ...), and ln 2 is added in two parts.
inline float log_parts(float e, float f) {
  const float s = f / (2.0f + f);
  const float z = s * s;
  float p = 2.0f / 11;
  p = std::fma(p, z, 2.0f / 9);
  p = std::fma(p, z, 2.0f / 7);
  p = std::fma(p, z, 2.0f / 5);
  p = std::fma(p, z, 2.0f / 3);
  const float half = 0.5f * f * f;
  const float tail = std::fma(s, std::fma(p, z, half), e * -2.12194440e-4f);
  return std::fma(e, 0.693359375f, f - (half - tail));
}
}  // namespace detail

inline float log(float x) {
  // Unsigned, so that the bits of a negative x may wrap around.
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::int32_t e = static_cast<std::int32_t>(bits - 0x3f2aaaabu) >> 23;
  const float f = std::bit_cast<float>(bits - (static_cast<std::uint32_t>(e) << 23)) - 1.0f;
  const float y = detail::log_parts(static_cast<float>(e), f);
  const float special = x == 0.0f ? -detail::infinity : (x > 0.0f ? x : detail::quiet_nan);
  // With & and not &&, which would be a branch.
  const bool normal = (x >= std::numeric_limits<float>::min()) & (x < detail::infinity);
  const bool subnormal = (x > 0.0f) & (x < std::numeric_limits<float>::min());
  return normal ? y : (subnormal ? -detail::infinity : special);
}
inline double log(double x) { return std::log(x); }

// log(1 + x) with the rounding of 1 + x given back to first order.
inline float log1p(float x) {
  const float u = 1.0f + x;
  const float y = log(u);
  const float lost = (x - (u - 1.0f)) / u;
  return (u < detail::infinity) & (u > 0.0f) ? y + lost : y;
}
inline double log1p(double x) { return std::log1p(x); }

// tanh |x| = e / (e + 2) with e = exp(2|x|) - 1, which keeps all digits of small arguments.
inline float tanh(float x) {
  const float a = std::fabs(x);
  const float c = a > 9.02f ? 9.02f : a;
  const auto [p, n] = detail::exp_parts(c + c);
  const float scale = detail::power_of_two(n);
  const float e = std::fma(scale, p, scale - 1.0f);
  return std::copysign(e / (e + 2.0f), x);
}
inline double tanh(double x) { return std::tanh(x); }

template <class T>
T sigmoid(T x) {
  return T(1) / (T(1) + exp(-x));
}

// log(1 + e^x), without overflow on either side.
template <class T>
T softplus(T x) {
  return (x > T(0) ? x : T(0)) + log1p(exp(-std::fabs(x)));
}

namespace detail {
// x = q pi/2 + r with |r| <= pi/4, reduced in double so that large arguments keep their digits.
// Past 2^50 the reduction has none left (and neighbouring floats lie many turns apart): r is NaN
// there.
struct QuarterTurns {
  float r;
  std::int32_t q;
};
inline QuarterTurns quarter_turns(float x) {
  constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52
  const double wide = static_cast<double>(x);
  const double shifted = std::fma(wide, 0.63661977236758134, magic);
  const double n = shifted - magic;
  double r = std::fma(n, -1.5707963267948966, wide);
  r = std::fma(n, -6.123233995736766e-17, r);
  const float inside = std::fabs(x) <= 0x1p50f ? static_cast<float>(r) : quiet_nan;
  return {inside, static_cast<std::int32_t>(std::bit_cast<std::int64_t>(shifted) & 3)};
}
inline float sin_poly(float r) {
  const float z = r * r;
  float p = -1.0f / 5040;
  p = std::fma(1.0f / 362880, z, p);
  p = std::fma(p, z, 1.0f / 120);
  p = std::fma(p, z, -1.0f / 6);
  return std::fma(p * z, r, r);
}
inline float cos_poly(float r) {
  const float z = r * r;
  float p = std::fma(-1.0f / 3628800, z, 1.0f / 40320);
  p = std::fma(p, z, -1.0f / 720);
  p = std::fma(p, z, 1.0f / 24);
  p = std::fma(p, z, -0.5f);
  return std::fma(p, z, 1.0f);
}
inline float sin_of(QuarterTurns t) {
  const float y = (t.q & 1) ? cos_poly(t.r) : sin_poly(t.r);
  return (t.q & 2) ? -y : y;
}
}  // namespace detail

inline float sin(float x) { return detail::sin_of(detail::quarter_turns(x)); }
inline float cos(float x) {
  detail::QuarterTurns t = detail::quarter_turns(x);
  t.q += 1;
  return detail::sin_of(t);
}
inline double sin(double x) { return std::sin(x); }
inline double cos(double x) { return std::cos(x); }

}  // namespace whorl::vmath
