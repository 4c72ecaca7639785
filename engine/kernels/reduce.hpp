// Sums in an order that is part of their definition.
//
// A row is cut into pieces of `sum_piece` elements and a piece into segments of `sum_segment`.
// Inside a segment, lane j of 16 adds the elements j, j+16, ... in the element type and the lanes
// are added in a fixed tree; the segments of a piece, and then the pieces, are added one after the
// other in double. So a sum has the same bits in a plain node, in a fused loop and on any number of
// threads, and its error hardly grows with the length of the row.
// Thread safety: pure functions.
#pragma once

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstdint>

namespace whorl {

inline constexpr std::int64_t sum_segment = 256;
inline constexpr std::int64_t sum_piece = 64 * sum_segment;

// n <= sum_segment elements.
template <class T>
T segment_sum(const T* x, std::int64_t n) {
  constexpr int lanes = 16;
  T lane[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (int j = 0; j < lanes; ++j) lane[j] += x[i + j];
  for (int j = 0; i + j < n; ++j) lane[j] += x[i + j];
  for (int width = lanes / 2; width > 0; width /= 2)
    for (int j = 0; j < width; ++j) lane[j] += lane[j + width];
  return lane[0];
}

#ifdef __AVX2__
// The same bits: lanes that have no element left get +0, which changes none, because no lane is
// ever -0. Short rows, such as the coordinates of a small model, spend most of their time in the
// rest.
inline float segment_sum(const float* x, std::int64_t n) {
  alignas(32) static constexpr std::int32_t ones_then_zeros[32] = {-1, -1, -1, -1, -1, -1, -1, -1,
                                                                   -1, -1, -1, -1, -1, -1, -1, -1};
  __m256 low = _mm256_setzero_ps(), high = _mm256_setzero_ps();
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    low = _mm256_add_ps(low, _mm256_loadu_ps(x + i));
    high = _mm256_add_ps(high, _mm256_loadu_ps(x + i + 8));
  }
  const auto mask = [&](std::int64_t first) {
    return _mm256_loadu_si256(
        reinterpret_cast<const __m256i*>(ones_then_zeros + 16 - (n - i) + first));
  };
  if (i < n) low = _mm256_add_ps(low, _mm256_maskload_ps(x + i, mask(0)));
  if (i + 8 < n) high = _mm256_add_ps(high, _mm256_maskload_ps(x + i + 8, mask(8)));
  const __m256 eight = _mm256_add_ps(low, high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
#endif

// Integers have no rounding to bound: they wrap around.
inline std::int32_t segment_sum(const std::int32_t* x, std::int64_t n) {
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<std::uint32_t>(x[i]);
  return static_cast<std::int32_t>(sum);
}

// What segments are added up in.
template <class T>
struct SumOf {
  using type = double;
};
template <>
struct SumOf<std::int32_t> {
  using type = std::uint32_t;
};

// At most one piece: n <= sum_piece.
template <class T>
typename SumOf<T>::type piece_sum(const T* x, std::int64_t n) {
  using Sum = typename SumOf<T>::type;
  Sum sum{};
  for (std::int64_t i = 0; i < n; i += sum_segment)
    sum += static_cast<Sum>(segment_sum(x + i, std::min(n - i, sum_segment)));
  return sum;
}

template <class T>
typename SumOf<T>::type row_sum(const T* x, std::int64_t n) {
  using Sum = typename SumOf<T>::type;
  Sum sum{};
  for (std::int64_t i = 0; i < n; i += sum_piece)
    sum += piece_sum(x + i, std::min(n - i, sum_piece));
  return sum;
}

}  // namespace whorl
