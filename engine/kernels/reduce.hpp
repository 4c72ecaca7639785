// Sums in an order that is part of their definition.
//
// A row is cut into pieces of `sum_piece` elements and a piece into segments of `sum_segment`.
// Inside a segment, lane j of 16 adds the elements j, j+16, ... in the element type and the lanes
// are added in a fixed tree; the segments of a piece, and then the pieces, are added one after the
// other in double. So a sum has the same bits in a plain node, in a fused loop and on any number of
// threads, and its error hardly grows with the length of the row.
// Thread safety: pure functions.
#pragma once

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
