// The sums of exponentials over rows that softmax, its logarithm and cross-entropy share.
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
#include <limits>

#include "engine/kernels/reduce.hpp"
#include "engine/kernels/vmath.hpp"

namespace whorl {

inline constexpr std::int64_t short_row = 32;
inline constexpr std::int64_t row_group = 16;

// The larger of two numbers; a NaN wins.
template <class T>
T larger(T a, T b) {
  return (b > a) | (b != b) ? b : a;
}
template <class T>
T smaller(T a, T b) {
  return (b < a) | (b != b) ? b : a;
}

// f(...f(f(x_0, x_1), x_2)..., x_(n-1)) for n >= 1 and an associative f, in 16 lanes.
template <class T, class F>
T row_extremum(const T* x, std::int64_t n, F f) {
  constexpr int lanes = 16;
  if (n < lanes) {
    T result = x[0];
    for (std::int64_t i = 1; i < n; ++i) result = f(result, x[i]);
    return result;
  }
  T lane[lanes];
  std::copy_n(x, lanes, lane);
  std::int64_t i = lanes;
  for (; i + lanes <= n; i += lanes)
    for (int j = 0; j < lanes; ++j) lane[j] = f(lane[j], x[i + j]);
  for (int j = 0; i + j < n; ++j) lane[j] = f(lane[j], x[i + j]);
  for (int width = lanes / 2; width > 0; width /= 2)
    for (int j = 0; j < width; ++j) lane[j] = f(lane[j], lane[j + width]);
  return lane[0];
}

// What is subtracted before exp: the maximum, unless that would make inf - inf.
template <class T>
T exp_shift(T maximum) {
  return std::fabs(maximum) < std::numeric_limits<T>::infinity() ? maximum : T(0);
}

// Up to `row_group` short rows as columns: element j of row r is at [j][r]. Rows beyond the last
// repeat it.
template <class T>
struct ShortRows {
  std::int64_t n = 0;      // elements in a row
  std::int64_t count = 0;  // rows
  T shift[row_group];
  T sum[row_group];
  T e[short_row][row_group];  // exp(x - shift)

  void load(const T* x, std::int64_t row_length, std::int64_t rows) {
    n = row_length;
    count = rows;
    for (std::int64_t r = 0; r < row_group; ++r) {
      const T* row = x + std::min(r, rows - 1) * n;
      for (std::int64_t j = 0; j < n; ++j) e[j][r] = row[j];
    }
    std::copy_n(e[0], row_group, shift);
    for (std::int64_t j = 1; j < n; ++j)
      for (std::int64_t r = 0; r < row_group; ++r) shift[r] = larger(shift[r], e[j][r]);
    for (std::int64_t r = 0; r < row_group; ++r) {
      shift[r] = exp_shift(shift[r]);
      sum[r] = T(0);
    }
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t r = 0; r < row_group; ++r) {
        e[j][r] = vmath::exp(e[j][r] - shift[r]);
        sum[r] += e[j][r];
      }
  }
  // Writes f(e, sum, r) for element j of row r to y, row by row.
  template <class F>
  void store(T* y, F f) {
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t r = 0; r < row_group; ++r) e[j][r] = f(e[j][r], j, r);
    for (std::int64_t r = 0; r < count; ++r)
      for (std::int64_t j = 0; j < n; ++j) y[r * n + j] = e[j][r];
  }
};

// Calls visit(first row, rows) for the rows [begin, end), in groups.
template <class T, class Visit>
void short_rows(const T* x, std::int64_t n, std::int64_t begin, std::int64_t end, Visit&& visit) {
  ShortRows<T> rows;
  for (std::int64_t row = begin; row < end; row += row_group) {
    rows.load(x + row * n, n, std::min(row_group, end - row));
    visit(row, rows);
  }
}

template <class T>
struct ExpSum {
  T shift;
  T sum;
};

// The sum over one row of any length, n >= 1.
template <class T>
ExpSum<T> exp_sum(const T* x, std::int64_t n) {
  const T shift = exp_shift(row_extremum(x, n, larger<T>));
  T e[sum_segment];
  double sum = 0;
  for (std::int64_t i = 0; i < n; i += sum_segment) {
    const std::int64_t count = std::min(n - i, sum_segment);
    for (std::int64_t j = 0; j < count; ++j) e[j] = vmath::exp(x[i + j] - shift);
    sum += static_cast<double>(segment_sum(e, count));
  }
  return {shift, static_cast<T>(sum)};
}

// Calls visit(row, ExpSum) for the rows [begin, end) of n >= 1 elements.
template <class T, class Visit>
void exp_sums(const T* x, std::int64_t n, std::int64_t begin, std::int64_t end, Visit&& visit) {
  if (n > short_row) {
    for (std::int64_t row = begin; row < end; ++row) visit(row, exp_sum(x + row * n, n));
    return;
  }
  short_rows(x, n, begin, end, [&](std::int64_t first, const ShortRows<T>& rows) {
    for (std::int64_t r = 0; r < rows.count; ++r)
      visit(first + r, ExpSum<T>{rows.shift[r], rows.sum[r]});
  });
}

}  // namespace whorl
