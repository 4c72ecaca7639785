#include "engine/kernels/small_solve.hpp"

#include <algorithm>
#include <cmath>

#include "engine/kernels/coordinate_net_vector.hpp"
#include "engine/kernels/transpose.hpp"

namespace whorl::small {

namespace {

using net::lanes, net::load, net::repeat, net::splat, net::store, net::Vec;

constexpr int group = 4;  // rows at a time
template <class T>
constexpr std::int64_t panel = 2 * lanes<T>;  // columns at a time

// A lower triangular matrix by steps: l_pq stands at first + p * row + q * column.
template <class T>
struct Triangle {
  const T* first;
  std::int64_t row, column;
  const T& at(std::int64_t p, std::int64_t q) const { return first[p * row + q * column]; }
};

// The rows r = p, ..., p + rows - 1 of a panel, `step` apart, in registers.
template <class T, int rows>
struct Rows {
  Vec<T> x[rows][2];

  Rows(const T* from, std::int64_t step) {
    repeat<rows>([&](auto r) {
      x[r][0] = load<T>(from + r * step);
      x[r][1] = load<T>(from + r * step + lanes<T>);
    });
  }
  void store_to(T* to, std::int64_t step) const {
    repeat<rows>([&](auto r) {
      store<T>(to + r * step, x[r][0]);
      store<T>(to + r * step + lanes<T>, x[r][1]);
    });
  }
  // x_r -= sum_{q < count} l_rq y_q, where l counts its rows from p on.
  void eliminate(const Triangle<T>& l, const T* y, std::int64_t step, std::int64_t count) {
    const T* at = l.first;
    for (std::int64_t q = 0; q < count; ++q, at += l.column, y += step) {
      const Vec<T> low = -load<T>(y), high = -load<T>(y + lanes<T>);
      repeat<rows>([&](auto r) { add<r()>(at[r * l.row], low, high); });
    }
  }
  // Solves the corner, which counts rows and columns from p on.
  void solve(const Triangle<T>& corner) {
    repeat<rows>([&](auto r) {
      repeat<r()>([&](auto q) { add<r()>(corner.at(r, q), -x[q][0], -x[q][1]); });
      const Vec<T> inverse = splat<T>(T(1) / corner.at(r, r));
      x[r][0] *= inverse;
      x[r][1] *= inverse;
    });
  }
  template <int r>
  void add(T factor, Vec<T> low, Vec<T> high) {
    x[r][0] = net::fma<T>(splat<T>(factor), low, x[r][0]);
    x[r][1] = net::fma<T>(splat<T>(factor), high, x[r][1]);
  }
};

// Calls f with the number of rows, at most a group, as a compile-time constant.
template <class F>
auto with_rows(std::int64_t rows, F&& f) {
  if (rows == 1) return f(std::integral_constant<int, 1>{});
  if (rows == 2) return f(std::integral_constant<int, 2>{});
  if (rows == 3) return f(std::integral_constant<int, 3>{});
  return f(std::integral_constant<int, group>{});
}

// The factor L of a corner, [rows, rows] in steps of a group; -1, or the first bad pivot. u is the
// upper triangle.
template <class T, int rows>
std::int64_t factor_corner(const T* u, std::int64_t step, T* l) {
  for (int j = 0; j < rows; ++j)
    for (int i = j; i < rows; ++i) {
      T sum = u[j * step + i];
      for (int k = 0; k < j; ++k) sum = std::fma(-l[i * group + k], l[j * group + k], sum);
      if (i == j && !(sum > 0)) return j;
      l[i * group + j] = i == j ? std::sqrt(sum) : sum / l[j * group + j];
    }
  return -1;
}

// Rows of U from p on, given those before; returns the first bad pivot or -1. Left of the diagonal
// they become meaningless numbers, which nothing reads.
template <class T, int rows>
std::int64_t factor_rows(std::int64_t n, T* u, std::int64_t step, std::int64_t p) {
  const Triangle<T> before{u + p, 1, step};
  T corner[group * group] = {};
  for (std::int64_t c = p; c < n; c += panel<T>) {
    T* x = u + p * step + c;
    Rows<T, rows> work(x, step);
    work.eliminate(before, u + c, step, p);
    if (c == p) {
      work.store_to(x, step);
      const std::int64_t bad = factor_corner<T, rows>(x, step, corner);
      if (bad >= 0) return p + bad;
    }
    work.solve({corner, group, 1});
    work.store_to(x, step);
  }
  return -1;
}

}  // namespace

template <class T>
std::int64_t cholesky(std::int64_t n, const T* a, T* l) {
  // The last panel of a row reaches beyond n.
  constexpr std::int64_t step = largest_factor + panel<T>;
  alignas(64) T u[largest_factor * step];
  transpose_matrix(a, n, n, n, u, step);
  for (std::int64_t i = 0; i < n; ++i) std::fill_n(u + i * step + n, panel<T>, T(0));
  for (std::int64_t p = 0; p < n; p += group) {
    const std::int64_t bad =
        with_rows(n - p, [&](auto rows) { return factor_rows<T, rows()>(n, u, step, p); });
    if (bad >= 0) return bad;
  }
  transpose_matrix(u, step, n, n, l, n);
  for (std::int64_t i = 0; i < n; ++i) std::fill_n(l + i * n + i + 1, n - i - 1, T(0));
  return -1;
}

template <class T>
void solve_lower(bool transpose, std::int64_t n, std::int64_t columns, const T* l, const T* b,
                 T* x) {
  // The transpose is a lower triangle when rows and columns are counted from the end.
  const Triangle<T> triangle =
      transpose ? Triangle<T>{l + n * n - 1, -1, -n} : Triangle<T>{l, n, 1};
  const auto row_of = [&](std::int64_t p) { return (transpose ? n - 1 - p : p) * columns; };
  alignas(64) T work[largest_solve * panel<T>];
  for (std::int64_t c = 0; c < columns; c += panel<T>) {
    const std::int64_t width = std::min(panel<T>, columns - c);
    for (std::int64_t p = 0; p < n; ++p) {
      std::copy_n(b + row_of(p) + c, width, work + p * panel<T>);
      std::fill(work + p * panel<T> + width, work + (p + 1) * panel<T>, T(0));
    }
    for (std::int64_t p = 0; p < n; p += group)
      with_rows(n - p, [&](auto rows) {
        Rows<T, rows()> x_rows(work + p * panel<T>, panel<T>);
        x_rows.eliminate({&triangle.at(p, 0), triangle.row, triangle.column}, work, panel<T>, p);
        x_rows.solve({&triangle.at(p, p), triangle.row, triangle.column});
        x_rows.store_to(work + p * panel<T>, panel<T>);
      });
    for (std::int64_t p = 0; p < n; ++p) std::copy_n(work + p * panel<T>, width, x + row_of(p) + c);
  }
}

template std::int64_t cholesky(std::int64_t, const float*, float*);
template std::int64_t cholesky(std::int64_t, const double*, double*);
template void solve_lower(bool, std::int64_t, std::int64_t, const float*, const float*, float*);
template void solve_lower(bool, std::int64_t, std::int64_t, const double*, const double*, double*);

}  // namespace whorl::small
