// The transposed copy of a matrix: y[i * y_step + j] = x[j * x_step + i].
//
// Squares of 32 bytes a side go through vector registers: log2(N) rounds, each of which interleaves
// row i with row i + N/2, turn N rows into N columns. Two squares fill a cache line of y before the
// next is begun. What is left at the edges goes one by one.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

namespace whorl {

namespace detail {

template <int Bytes>
struct SquareOf {
  static constexpr int n = 0;  // no square for this element size
};
template <>
struct SquareOf<4> {
  static constexpr int n = 8;
  typedef std::uint32_t Row __attribute__((vector_size(32)));
};
template <>
struct SquareOf<8> {
  static constexpr int n = 4;
  typedef std::uint64_t Row __attribute__((vector_size(32)));
};

// low[2k] = a[k], low[2k+1] = b[k] for the first half of the rows a and b; high for the second.
template <class Row, int... I>
inline void interleave(const Row& a, const Row& b, Row& low, Row& high,
                       std::integer_sequence<int, I...>) {
  constexpr int n = sizeof...(I);
  low = __builtin_shufflevector(a, b, (I / 2 + (I % 2) * n)...);
  high = __builtin_shufflevector(a, b, (n / 2 + I / 2 + (I % 2) * n)...);
}

template <int N, class Row>
inline void interleave_all(const Row (&from)[N], Row (&to)[N]) {
#pragma GCC unroll 8
  for (int i = 0; i < N / 2; ++i)
    interleave(from[i], from[i + N / 2], to[2 * i], to[2 * i + 1],
               std::make_integer_sequence<int, N>{});
}

template <class T>
inline void transpose_square(const T* x, std::int64_t x_step, T* y, std::int64_t y_step) {
  using Row = typename SquareOf<sizeof(T)>::Row;
  constexpr int n = SquareOf<sizeof(T)>::n;
  Row a[n], b[n];
#pragma GCC unroll 8
  for (int j = 0; j < n; ++j) std::memcpy(&a[j], x + j * x_step, sizeof(Row));
  interleave_all(a, b);
  interleave_all(b, a);
  if constexpr (n == 8) interleave_all(a, b);
  const Row(&last)[n] = n == 8 ? b : a;
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) std::memcpy(y + i * y_step, &last[i], sizeof(Row));
}

}  // namespace detail

// y has `rows` rows of `columns` elements.
template <class T>
void transpose_matrix(const T* x, std::int64_t x_step, std::int64_t rows, std::int64_t columns,
                      T* y, std::int64_t y_step) {
  std::int64_t done = 0;  // columns
  if constexpr (constexpr int n = detail::SquareOf<sizeof(T)>::n; n > 0) {
    const std::int64_t whole = rows / n * n;
    while (done + n <= columns) {
      const std::int64_t width = done + 2 * n <= columns ? 2 * n : n;
      for (std::int64_t i = 0; i < whole; i += n)
        for (std::int64_t j = done; j < done + width; j += n)
          detail::transpose_square(x + j * x_step + i, x_step, y + i * y_step + j, y_step);
      for (std::int64_t i = whole; i < rows; ++i)
        for (std::int64_t j = done; j < done + width; ++j) y[i * y_step + j] = x[j * x_step + i];
      done += width;
    }
  }
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = done; j < columns; ++j) y[i * y_step + j] = x[j * x_step + i];
}

}  // namespace whorl
