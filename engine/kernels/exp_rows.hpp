// Extrema of rows, and the sums of exponentials over rows that softmax, its logarithm and
// cross-entropy share.
//
// For a row x of n elements: shift = max x where that is finite, else 0; e = exp(x - shift);
// sum = e_0 + ... + e_(n-1). So nothing overflows, a row of only -inf has sum 0 (its logarithm is
// -inf), an +inf gives an infinite sum and a NaN gives NaN.
//
// Rows of up to `short_row` elements are turned into columns, `row_group` rows at a time, so that
// every step is vector code without any reduction across a vector; their sums run from the first
// element to the last. Longer rows are summed as in reduce.hpp. Which way is taken depends on n
// alone, and rows do not mix, so a row has the same bits however rows are cut into parts.
// Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "engine/kernels/reduce.hpp"
#include "engine/kernels/transpose.hpp"
#include "engine/kernels/vmath.hpp"

namespace whorl {

inline constexpr std::int64_t short_row = 32;
inline constexpr std::int64_t row_group = 16;

// a becomes the better of a and b; a NaN wins. Vectors are compared element by element.
struct Larger {
  template <class V>
  static void into(V& a, const V& b) {
    a = (b > a) | (b != b) ? b : a;
  }
};
struct Smaller {
  template <class V>
  static void into(V& a, const V& b) {
    a = (b < a) | (b != b) ? b : a;
  }
};

// The best of n >= 1 elements. Written with vectors, because compilers do not make them of a
// reduction that has to mind NaNs.
template <class Better, class T>
T row_extremum(const T* x, std::int64_t n) {
  typedef T V __attribute__((vector_size(32)));
  constexpr std::int64_t lanes = sizeof(V) / sizeof(T);
  T result = x[0];
  std::int64_t i = 1;
  if (n >= 2 * lanes) {
    V a, b, next;
    std::memcpy(&a, x, sizeof(V));
    std::memcpy(&b, x + lanes, sizeof(V));
    for (i = 2 * lanes; i + 2 * lanes <= n; i += 2 * lanes) {
      std::memcpy(&next, x + i, sizeof(V));
      Better::into(a, next);
      std::memcpy(&next, x + i + lanes, sizeof(V));
      Better::into(b, next);
    }
    Better::into(a, b);
    result = a[0];
    for (std::int64_t lane = 1; lane < lanes; ++lane) Better::into(result, T(a[lane]));
  }
  for (; i < n; ++i) Better::into(result, x[i]);
  return result;
}

// Up to `row_group` rows of at most `short_row` elements as columns: element j of row r is at
// [j][r]. Rows beyond the last repeat it.
template <class T>
struct ShortRows {
  typedef T V __attribute__((vector_size(32)));
  static constexpr std::int64_t lanes = sizeof(V) / sizeof(T);

  std::int64_t n = 0;      // elements in a row
  std::int64_t count = 0;  // rows
  alignas(32) T at[short_row][row_group];

  void load(const T* x, std::int64_t row_length, std::int64_t rows) {
    n = row_length;
    count = rows;
    transpose_matrix(x, n, n, rows, at[0], row_group);
    for (std::int64_t j = 0; rows < row_group && j < n; ++j)
      std::fill(at[j] + rows, at[j] + row_group, at[j][rows - 1]);
  }
  void store(T* y) const { transpose_matrix(at[0], row_group, count, n, y, n); }

  // result[r] = x_0 with x_1, ..., x_(n-1) taken into it one after the other.
  template <class Into>
  void fold(T (&result)[row_group], Into into) const {
    for (std::int64_t r = 0; r < row_group; r += lanes) {
      V folded, next;
      std::memcpy(&folded, at[0] + r, sizeof(V));
      for (std::int64_t j = 1; j < n; ++j) {
        std::memcpy(&next, at[j] + r, sizeof(V));
        into(folded, next);
      }
      std::memcpy(result + r, &folded, sizeof(V));
    }
  }
  template <class Better>
  void extremum(T (&result)[row_group]) const {
    fold(result, [](V& a, const V& b) { Better::into(a, b); });
  }
  // Element j of row r becomes f(element, j, r).
  template <class F>
  void change(F f) {
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t r = 0; r < row_group; ++r) at[j][r] = f(at[j][r], j, r);
  }
};

// Calls visit(first row, rows) for the rows [begin, end) of n elements, in groups.
template <class T, class Visit>
void short_rows(const T* x, std::int64_t n, std::int64_t begin, std::int64_t end, Visit&& visit) {
  ShortRows<T> rows;
  for (std::int64_t row = begin; row < end; row += row_group) {
    rows.load(x + row * n, n, std::min(row_group, end - row));
    visit(row, rows);
  }
}

// What is subtracted before exp: the maximum, unless that would make inf - inf.
template <class T>
T exp_shift(T maximum) {
  return std::fabs(maximum) < std::numeric_limits<T>::infinity() ? maximum : T(0);
}

// Turns every row into exp(x - shift) and sums it up.
template <class T>
struct ShortExpSums {
  alignas(32) T shift[row_group];
  alignas(32) T sum[row_group];

  explicit ShortExpSums(ShortRows<T>& rows) {
    rows.template extremum<Larger>(shift);
    for (std::int64_t r = 0; r < row_group; ++r) shift[r] = exp_shift(shift[r]);
    rows.change([this](T x, std::int64_t, std::int64_t r) { return vmath::exp(x - shift[r]); });
    rows.fold(sum, [](auto& a, const auto& b) { a += b; });
  }
};

template <class T>
struct ExpSum {
  T shift;
  T sum;
};

// The sum over one row of any length, n >= 1.
template <class T>
ExpSum<T> exp_sum(const T* x, std::int64_t n) {
  const T shift = exp_shift(row_extremum<Larger>(x, n));
  T e[sum_segment];
  double sum = 0;
  for (std::int64_t i = 0; i < n; i += sum_segment) {
    const std::int64_t count = std::min(n - i, sum_segment);
    for (std::int64_t j = 0; j < count; ++j) e[j] = vmath::exp(x[i + j] - shift);
    sum += static_cast<double>(segment_sum(e, count));
  }
  return {shift, static_cast<T>(sum)};
}

// Calls visit(row, shift, log(sum)) for the rows [begin, end) of n >= 1 elements.
template <class T, class Visit>
void log_exp_sums(const T* x, std::int64_t n, std::int64_t begin, std::int64_t end, Visit&& visit) {
  if (n > short_row) {
    for (std::int64_t row = begin; row < end; ++row) {
      const auto [shift, sum] = exp_sum(x + row * n, n);
      visit(row, shift, vmath::log(sum));
    }
    return;
  }
  short_rows(x, n, begin, end, [&](std::int64_t first, ShortRows<T>& rows) {
    ShortExpSums<T> sums(rows);
    for (std::int64_t r = 0; r < row_group; ++r) sums.sum[r] = vmath::log(sums.sum[r]);
    for (std::int64_t r = 0; r < rows.count; ++r) visit(first + r, sums.shift[r], sums.sum[r]);
  });
}

}  // namespace whorl
