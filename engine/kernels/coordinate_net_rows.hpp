// Rows, one number for each coordinate of a block, and sums of them: the inner loops of networks
// whose hidden layers do not fit into registers. Several results are made at once, so that they
// share what they load.
//
// Thread safety: pure functions.
#pragma once

#include "engine/kernels/coordinate_net.hpp"
#include "engine/kernels/coordinate_net_vector.hpp"

namespace whorl::net {

template <class T>
inline constexpr int row_vectors = block / lanes<T>;

// Numbers that stand in a matrix, or in one column or row of it.
template <class T>
struct Strided {
  const T* at;
  std::int64_t row, column;  // steps from one to the next
  Strided from(std::int64_t m) const { return {at + m * row, row, column}; }
};

// out row r = start[r] + sum over k of coefficient(r, k) * row k of x, for `rows` rows.
template <class T, int rows>
void combine_rows(std::int64_t count, const T* start, Strided<T> coefficient, const T* x, T* out) {
  constexpr int width = 8 / rows;
  for (int first = 0; first < block; first += width * lanes<T>) {
    Vec<T> sum[rows][width];
    repeat<rows>([&](auto r) {
      const Vec<T> begin = start == nullptr ? Vec<T>{} : splat<T>(start[r]);
      repeat<width>([&](auto v) { sum[r][v] = begin; });
    });
    const T* from = x + first;
    const T* c = coefficient.at;
    for (std::int64_t k = 0; k < count; ++k, from += block, c += coefficient.column) {
      Vec<T> factor[rows];
      repeat<rows>([&](auto r) { factor[r] = splat<T>(c[r * coefficient.row]); });
      repeat<width>([&](auto v) {
        const Vec<T> at = load<T>(from + v * lanes<T>);
        repeat<rows>([&](auto r) { sum[r][v] = fma<T>(factor[r], at, sum[r][v]); });
      });
    }
    repeat<rows>([&](auto r) {
      repeat<width>([&](auto v) { store<T>(out + r * block + first + v * lanes<T>, sum[r][v]); });
    });
  }
}

// The same for any number of rows; start may be null: zeros.
template <class T>
void combine(std::int64_t results, std::int64_t count, const T* start, Strided<T> coefficient,
             const T* x, T* out) {
  constexpr int together = 2;
  const auto start_of = [&](std::int64_t m) { return start == nullptr ? nullptr : start + m; };
  std::int64_t m = 0;
  for (; m + together <= results; m += together)
    combine_rows<T, together>(count, start_of(m), coefficient.from(m), x, out + m * block);
  for (; m < results; ++m)
    combine_rows<T, 1>(count, start_of(m), coefficient.from(m), x, out + m * block);
}

// out = start + sum over i of factor[i] * x[i], the row that begins at x[i] + at; as many as a
// network has inputs.
template <class T>
void combine_few(int count, T start, const T* factor, const T* const* x, std::int64_t at, T* out) {
  const auto all = [&](auto n) {
    for (int first = 0; first < block; first += lanes<T>) {
      Vec<T> sum = splat<T>(start);
      repeat<n>(
          [&](auto i) { sum = fma<T>(splat<T>(factor[i]), load<T>(x[i] + at + first), sum); });
      store<T>(out + first, sum);
    }
  };
  repeat<max_inputs + 1>([&](auto n) {
    if (n == count) all(n);
  });
}

template <class T>
double row_total(const T* x) {
  Vec<T> sum{};
  for (int v = 0; v < row_vectors<T>; ++v) sum += load<T>(x + v * lanes<T>);
  return static_cast<double>(total<T>(sum));
}
template <class T>
double row_dot(const T* x, const T* y) {
  Vec<T> sum{};
  for (int v = 0; v < row_vectors<T>; ++v)
    sum = fma<T>(load<T>(x + v * lanes<T>), load<T>(y + v * lanes<T>), sum);
  return static_cast<double>(total<T>(sum));
}

// sums[k] += x . row k of a + z . row k of e, for all k < count; z may be null: without e.
template <class T>
void add_dots(std::int64_t count, const T* x, const T* a, const T* z, const T* e, double* sums) {
  constexpr int together = 4;
  std::int64_t k = 0;
  for (; k + together <= count; k += together) {
    Vec<T> dot[together];
    repeat<together>([&](auto i) { dot[i] = Vec<T>{}; });
    const auto add = [&](const T* row, const T* rows) {
      for (int at = 0; at < block; at += lanes<T>) {
        const Vec<T> v = load<T>(row + at);
        repeat<together>(
            [&](auto i) { dot[i] = fma<T>(v, load<T>(rows + (k + i) * block + at), dot[i]); });
      }
    };
    add(x, a);
    if (z != nullptr) add(z, e);
    add_totals<T>(dot, sums + k);
  }
  for (; k < count; ++k) {
    sums[k] += row_dot(x, a + k * block);
    if (z != nullptr) sums[k] += row_dot(z, e + k * block);
  }
}

}  // namespace whorl::net
