// Products of small matrices, row-major, where a call of MKL costs more than the arithmetic.
//
// op(b) is copied into panels of two vectors of columns, padded with zeros. Blocks of six rows of
// y over one panel stay in registers:  y_ij = sum_k a_ik b_kj, fused multiply-adds in the order of
// k. An element has the same bits whatever block it stands in. T is float or double. Nothing
// allocates. Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "engine/kernels/coordinate_net_vector.hpp"
#include "engine/kernels/transpose.hpp"

namespace whorl::small {

inline constexpr std::int64_t largest_inner = 128;
inline constexpr int block_rows = 6;

// A matrix of which element (i, k) stands at first + i * row + k * inner.
template <class T>
struct Left {
  const T* first;
  std::int64_t row, inner;
};

// The first n elements, n < 2 * vector. Pieces of fixed sizes cost less than a loop or a call.
template <class T>
inline void copy_some(const T* from, std::int64_t n, T* to) {
  constexpr int whole = net::lanes<T>;
  net::repeat<4>([&](auto half) {
    constexpr int piece = whole >> half();
    if constexpr (piece > 0) {
      if ((n & piece) == 0) return;
      std::memcpy(to, from, piece * sizeof(T));
      from += piece;
      to += piece;
    }
  });
}

// `rows` rows of y over one panel, of which `width` columns are written.
template <class T, int rows, int vectors>
void multiply_block(const Left<T>& a, const T* panel, std::int64_t inner, T* y, std::int64_t ldy,
                    std::int64_t width) {
  using net::lanes, net::repeat;
  constexpr std::int64_t step = vectors * lanes<T>;
  net::Vec<T> sum[rows][vectors];
  repeat<rows>([&](auto r) { repeat<vectors>([&](auto v) { sum[r][v] = net::Vec<T>{}; }); });
  const T* at = a.first;
  for (std::int64_t k = 0; k < inner; ++k, at += a.inner, panel += step) {
    net::Vec<T> b[vectors];
    repeat<vectors>([&](auto v) { b[v] = net::load<T>(panel + v * lanes<T>); });
    repeat<rows>([&](auto r) {
      const net::Vec<T> left = net::splat<T>(at[r * a.row]);
      repeat<vectors>([&](auto v) { sum[r][v] = net::fma<T>(left, b[v], sum[r][v]); });
    });
  }
  if (width == step) {
    repeat<rows>([&](auto r) {
      repeat<vectors>([&](auto v) { net::store<T>(y + r * ldy + v * lanes<T>, sum[r][v]); });
    });
    return;
  }
  repeat<rows>([&](auto r) {
    T row[step];
    repeat<vectors>([&](auto v) { net::store<T>(row + v * lanes<T>, sum[r][v]); });
    copy_some(row, width, y + r * ldy);
  });
}

template <class T, int vectors>
void multiply_panel(Left<T> a, const T* panel, std::int64_t rows, std::int64_t inner, T* y,
                    std::int64_t ldy, std::int64_t width) {
  const auto go = [&]<int n>(std::integral_constant<int, n>) {
    multiply_block<T, n, vectors>(a, panel, inner, y, ldy, width);
    a.first += n * a.row;
    y += n * ldy;
    rows -= n;
  };
  while (rows >= block_rows) go(std::integral_constant<int, block_rows>{});
  if (rows >= 4) go(std::integral_constant<int, 4>{});
  if (rows >= 2) go(std::integral_constant<int, 2>{});
  if (rows == 1) go(std::integral_constant<int, 1>{});
}

// y = op(a) op(b), [rows, inner] x [inner, columns], inner <= largest_inner; all contiguous.
template <class T>
void multiply(bool transpose_a, bool transpose_b, std::int64_t rows, std::int64_t columns,
              std::int64_t inner, const T* a, const T* b, T* y) {
  constexpr std::int64_t step = 2 * net::lanes<T>;
  const Left<T> left = transpose_a ? Left<T>{a, 1, rows} : Left<T>{a, inner, 1};
  alignas(64) T panel[largest_inner * step];
  for (std::int64_t c = 0; c < columns; c += step) {
    const std::int64_t width = std::min(step, columns - c);
    // One vector is enough for the last columns, if they fit.
    const std::int64_t padded = width <= net::lanes<T> ? net::lanes<T> : step;
    if (transpose_b) {
      transpose_matrix(b + c * inner, inner, inner, width, panel, padded);
      if (width < padded)
        for (std::int64_t k = 0; k < inner; ++k)
          for (std::int64_t j = width; j < padded; ++j) panel[k * padded + j] = T(0);
    } else if (width == step) {
      for (std::int64_t k = 0; k < inner; ++k)
        std::memcpy(panel + k * step, b + k * columns + c, step * sizeof(T));
    } else {
      std::fill_n(panel, inner * padded, T(0));
      for (std::int64_t k = 0; k < inner; ++k)
        copy_some(b + k * columns + c, width, panel + k * padded);
    }
    if (padded == step) {
      multiply_panel<T, 2>(left, panel, rows, inner, y + c, columns, width);
    } else {
      multiply_panel<T, 1>(left, panel, rows, inner, y + c, columns, width);
    }
  }
}

}  // namespace whorl::small
