// 32-byte vectors of float or double, for the kernels of coordinate_net and of small matrices.
//
// A vector operation rounds as the scalar one does, lane by lane, so a coordinate has the same bits
// wherever it stands in a vector. Thread safety: pure functions.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#ifdef __FMA__
#include <immintrin.h>
#endif

namespace whorl::net {

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  using type = float __attribute__((vector_size(32)));
  using mask = std::int32_t __attribute__((vector_size(32)));
};
template <>
struct VectorOf<double> {
  using type = double __attribute__((vector_size(32)));
  using mask = std::int64_t __attribute__((vector_size(32)));
};
template <class T>
using Vec = typename VectorOf<T>::type;
template <class T>
using Mask = typename VectorOf<T>::mask;
template <class T>
inline constexpr int lanes = 32 / sizeof(T);

template <class T>
inline Vec<T> load(const T* from) {
  Vec<T> x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
template <class T>
inline void store(T* to, Vec<T> x) {
  std::memcpy(to, &x, sizeof x);
}
template <class T>
inline Vec<T> splat(T x) {
  return x - Vec<T>{};
}
// x where the mask is set, else 0.
template <class T>
inline Vec<T> where(Mask<T> mask, Vec<T> x) {
  return (Vec<T>)(mask & (Mask<T>)x);
}

// 0 where the mask is set, else x. The compiler would make a slower blend of where(~mask, x).
template <class T>
inline Vec<T> unless(Mask<T> mask, Vec<T> x) {
#ifdef __FMA__
  return (Vec<T>)_mm256_andnot_ps((__m256)mask, (__m256)x);
#else
  return (Vec<T>)(~mask & (Mask<T>)x);
#endif
}

// a b + c, rounded once.
template <class T>
inline Vec<T> fma(Vec<T> a, Vec<T> b, Vec<T> c) {
#ifdef __FMA__
  if constexpr (sizeof(T) == 4) {
    return (Vec<T>)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
  } else {
    return (Vec<T>)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
  }
#else
  Vec<T> y;
  for (int i = 0; i < lanes<T>; ++i) y[i] = std::fma(a[i], b[i], c[i]);
  return y;
#endif
}

// f(0), ..., f(n - 1) with numbers known to the compiler, which then keeps arrays of vectors in
// registers; a loop that it unrolls late leaves them in memory.
template <int n, class F>
__attribute__((always_inline)) inline void repeat(F&& f) {
  [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, i>{}), ...);
  }
  (std::make_integer_sequence<int, n>{});
}

// The lanes, added in a fixed tree.
template <class T>
inline T total(Vec<T> x) {
  T lane[lanes<T>];
  store<T>(lane, x);
  for (int width = lanes<T> / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) lane[i] += lane[i + width];
  return lane[0];
}

// Adds the totals of four vectors to four numbers; each is a fixed tree, too.
template <class T>
inline void add_totals(const Vec<T> (&x)[4], double* sums) {
  Vec<T> all;
  if constexpr (sizeof(T) == 4) {
    const auto pairs = [](Vec<T> a, Vec<T> b) {
      return __builtin_shuffle(a, b, Mask<T>{0, 8, 2, 10, 4, 12, 6, 14}) +
             __builtin_shuffle(a, b, Mask<T>{1, 9, 3, 11, 5, 13, 7, 15});
    };
    const Vec<T> ab = pairs(x[0], x[1]), cd = pairs(x[2], x[3]);
    all = __builtin_shuffle(ab, cd, Mask<T>{0, 1, 8, 9, 4, 5, 12, 13}) +
          __builtin_shuffle(ab, cd, Mask<T>{2, 3, 10, 11, 6, 7, 14, 15});
    for (int i = 0; i < 4; ++i) sums[i] += static_cast<double>(all[i] + all[i + 4]);
  } else {
    const auto pairs = [](Vec<T> a, Vec<T> b) {
      return __builtin_shuffle(a, b, Mask<T>{0, 4, 2, 6}) +
             __builtin_shuffle(a, b, Mask<T>{1, 5, 3, 7});
    };
    const Vec<T> ab = pairs(x[0], x[1]), cd = pairs(x[2], x[3]);
    all = __builtin_shuffle(ab, cd, Mask<T>{0, 1, 4, 5}) +
          __builtin_shuffle(ab, cd, Mask<T>{2, 3, 6, 7});
    for (int i = 0; i < 4; ++i) sums[i] += all[i];
  }
}

}  // namespace whorl::net
