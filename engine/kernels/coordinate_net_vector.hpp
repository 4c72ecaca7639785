// 32-byte vectors of float or double for the kernels of coordinate_net.
//
// A vector operation rounds as the scalar one does, lane by lane, so a coordinate has the same bits
// wherever it stands in a vector. Thread safety: pure functions.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

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

// The lanes, added in a fixed tree.
template <class T>
inline T total(Vec<T> x) {
  T lane[lanes<T>];
  store<T>(lane, x);
  for (int width = lanes<T> / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) lane[i] += lane[i + width];
  return lane[0];
}

}  // namespace whorl::net
