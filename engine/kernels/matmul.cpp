#include "engine/kernels/matmul.hpp"

#include <algorithm>

#include "engine/kernels/blas.hpp"
#include "engine/kernels/small_matmul.hpp"

namespace whorl {

namespace {

constexpr double small_work = 64;            // multiply-adds of a plain loop, at most
constexpr double own_work = 1 << 18;         // and of the kernel of small_matmul.hpp
constexpr double unit_work = 8 << 20;        // multiply-adds of a unit, about
constexpr std::int64_t shortest_side = 128;  // of a block of a product that is cut
constexpr std::int64_t most_units = 64;      // where cutting ends
constexpr std::int64_t row_step = 24;        // rows are cut at multiples of it
constexpr std::int64_t padded_rows = 128;    // rows of a padded product held in scratch
constexpr std::int64_t stacked_lanes = 7;    // widest block of stacked columns

// The number of multiply-adds; as a double, because it may exceed 64 bits.
double work(std::int64_t rows, std::int64_t inner, std::int64_t columns) {
  return static_cast<double>(rows) * static_cast<double>(inner) * static_cast<double>(columns);
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Where block `index` of `count` begins, in steps of `step` that are shared out evenly.
std::int64_t boundary(std::int64_t size, std::int64_t step, std::int64_t count,
                      std::int64_t index) {
  return std::min(size, ceil_div(size, step) * index / count * step);
}
std::int64_t longest_block(std::int64_t size, std::int64_t step, std::int64_t count) {
  return std::min(size, ceil_div(ceil_div(size, step), count) * step);
}

template <class T>
void copy_row(const T* from, std::int64_t n, T* to) {
  // Rows are short, so a call of memcpy for each would cost more than the loop.
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
}

}  // namespace

template <class T>
MatmulPlan<T>::MatmulPlan(const Product& product) : product_(product) {
  fold();
  choose_method();
  switch (method_) {
    case Method::zero:
    case Method::small:
    case Method::own:
      return;
    case Method::stacked:
      cut_stacked();
      break;
    case Method::plain:
    case Method::padded:
      cut();
      break;
  }
  reserve_scratch();
}

// Rewrites the product as one of fewer, larger matrices over the same memory.
template <class T>
void MatmulPlan<T>::fold() {
  Product& p = product_;
  if (p.count == 0 || p.rows == 0 || p.columns == 0) {
    p = {.count = 0};  // nothing to write
    return;
  }
  // A row or a column is stored the same way either way round.
  if (p.rows == 1) p.transpose_a = false;
  if (p.columns == 1) p.transpose_b = true;
  if (p.count == 1) p.shared_a = p.shared_b = false;
  if (p.shared_b && !p.transpose_a) {
    p.rows *= p.count;
    p.count = 1;
    p.shared_b = false;
  }
  // One matrix times a column for each product: the columns are the rows of a matrix.
  if (p.shared_a && p.columns == 1) {
    swapped_ = true;
    p = {.rows = p.count, .inner = p.inner, .columns = p.rows, .transpose_b = !p.transpose_a};
  }
}

template <class T>
void MatmulPlan<T>::choose_method() {
  constexpr std::int64_t lane = matmul_lane<T>;
  const Product& p = product_;
  if (p.count == 0 || p.inner == 0) {
    method_ = Method::zero;
  } else if (work(p.rows, p.inner, p.columns) <= small_work) {
    method_ = Method::small;
  } else if (p.shared_a) {
    // Copies pay where an element that is copied takes part in many multiplications.
    const bool large = std::min(p.rows, p.inner) >= 64;
    const bool ragged = p.columns < 3 * lane || (p.columns < 8 * lane && p.columns % lane != 0);
    if (p.columns < lane || (large && ragged)) method_ = Method::stacked;
  } else if (p.rows >= 8 && p.columns >= 4 && p.inner >= 4 && p.inner <= small::largest_inner &&
             work(p.rows, p.inner, p.columns) <= own_work) {
    method_ = Method::own;
  } else if (p.columns > 1 && p.columns < lane && p.rows >= 16 && p.inner >= 16) {
    method_ = Method::padded;
  }
}

template <class T>
void MatmulPlan<T>::cut() {
  const Product& p = product_;
  const std::int64_t columns = std::max(p.columns, matmul_lane<T>);
  std::int64_t block_rows = p.rows, block_columns = columns;
  while (units() < most_units && work(block_rows, p.inner, block_columns) > unit_work &&
         std::max(block_rows, block_columns) >= 2 * shortest_side) {
    (block_rows >= block_columns ? row_blocks_ : column_blocks_) *= 2;
    block_rows = p.rows / row_blocks_;
    block_columns = columns / column_blocks_;
  }
}

// Columns first: a block of rows would copy the same columns again.
template <class T>
void MatmulPlan<T>::cut_stacked() {
  Product& p = product_;
  stacked_columns_ = p.columns;
  p.columns *= p.count;
  p.count = 1;
  column_blocks_ =
      std::max<std::int64_t>(1, ceil_div(ceil_div(p.columns, matmul_lane<T>), stacked_lanes));
  while (units() < 8 && p.rows / row_blocks_ >= 1024) row_blocks_ *= 2;
}

template <class T>
void MatmulPlan<T>::reserve_scratch() {
  constexpr std::int64_t lane = matmul_lane<T>;
  const Product& p = product_;
  if (method_ == Method::padded) {
    unit_scratch_ = (p.inner + std::min(p.rows, padded_rows)) * lane;
  } else if (method_ == Method::stacked) {
    const std::int64_t width = longest_block(p.columns, lane, column_blocks_);
    const std::int64_t packed = p.transpose_b ? 0 : p.inner;
    unit_scratch_ = (packed + longest_block(p.rows, row_step, row_blocks_)) * width;
  }
  unit_scratch_ = ceil_div(unit_scratch_, 64) * 64;  // units do not share cache lines
}

template <class T>
typename MatmulPlan<T>::Block MatmulPlan<T>::block(std::int64_t unit) const {
  const std::int64_t column_block = unit % column_blocks_;
  const std::int64_t row_block = unit / column_blocks_ % row_blocks_;
  const auto rows_from = [&](std::int64_t i) {
    return boundary(product_.rows, row_step, row_blocks_, i);
  };
  const auto columns_from = [&](std::int64_t i) {
    return boundary(product_.columns, matmul_lane<T>, column_blocks_, i);
  };
  const std::int64_t row = rows_from(row_block), column = columns_from(column_block);
  return {unit / column_blocks_ / row_blocks_, row, rows_from(row_block + 1) - row, column,
          columns_from(column_block + 1) - column};
}

// The part of a that a block needs.
template <class T>
const T* MatmulPlan<T>::a_at(const T* a, const Block& at) const {
  const Product& p = product_;
  if (!p.shared_a) a += at.product * p.rows * p.inner;
  return a + (p.transpose_a ? at.row : at.row * p.inner);
}

template <class T>
void MatmulPlan<T>::run(const T* a, const T* b, T* y, T* scratch, std::int64_t begin,
                        std::int64_t end) const {
  const Product& p = product_;
  end = std::min(end, units());
  if (swapped_) std::swap(a, b);
  if (method_ == Method::zero) {
    std::fill_n(y + begin * p.rows * p.columns, (end - begin) * p.rows * p.columns, T(0));
    return;
  }
  if (method_ == Method::small || method_ == Method::own) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* left = p.shared_a ? a : a + i * p.rows * p.inner;
      const T* right = p.shared_b ? b : b + i * p.inner * p.columns;
      T* to = y + i * p.rows * p.columns;
      if (method_ == Method::small) {
        run_small(left, right, to);
      } else {
        small::multiply(p.transpose_a, p.transpose_b, p.rows, p.columns, p.inner, left, right, to);
      }
    }
    return;
  }
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const Block at = block(unit);
    const T* b_of = p.shared_b ? b : b + at.product * p.inner * p.columns;
    T* y_of = y + at.product * p.rows * p.columns;
    T* own = scratch + unit * unit_scratch_;
    if (method_ == Method::padded) {
      run_padded(a_at(a, at), b_of, y_of + at.row * p.columns, at, own);
    } else if (method_ == Method::stacked) {
      run_stacked(a_at(a, at), b, y, at, own);
    } else {
      blas::multiply(p.transpose_a, p.transpose_b, at.rows, at.columns, p.inner, a_at(a, at),
                     p.transpose_a ? p.rows : p.inner,
                     b_of + (p.transpose_b ? at.column * p.inner : at.column),
                     p.transpose_b ? p.inner : p.columns, y_of + at.row * p.columns + at.column,
                     p.columns);
    }
  }
}

template <class T>
void MatmulPlan<T>::run_small(const T* a, const T* b, T* y) const {
  const Product& p = product_;
  const std::int64_t a_row = p.transpose_a ? 1 : p.inner, a_inner = p.transpose_a ? p.rows : 1;
  const std::int64_t b_inner = p.transpose_b ? 1 : p.columns,
                     b_column = p.transpose_b ? p.inner : 1;
  for (std::int64_t i = 0; i < p.rows; ++i)
    for (std::int64_t j = 0; j < p.columns; ++j) {
      T sum = 0;
      for (std::int64_t k = 0; k < p.inner; ++k)
        sum += a[i * a_row + k * a_inner] * b[k * b_inner + j * b_column];
      y[i * p.columns + j] = sum;
    }
}

// b gets columns of zeros up to a full lane, and the product's extra columns are dropped.
template <class T>
void MatmulPlan<T>::run_padded(const T* a, const T* b, T* y, const Block& at, T* scratch) const {
  constexpr std::int64_t lane = matmul_lane<T>;
  const Product& p = product_;
  T* wide = scratch;
  T* result = wide + p.inner * lane;
  if (p.transpose_b) {
    std::copy_n(b, p.columns * p.inner, wide);
    std::fill_n(wide + p.columns * p.inner, (lane - p.columns) * p.inner, T(0));
  } else {
    for (std::int64_t k = 0; k < p.inner; ++k) {
      copy_row(b + k * p.columns, p.columns, wide + k * lane);
      for (std::int64_t j = p.columns; j < lane; ++j) wide[k * lane + j] = T(0);
    }
  }
  for (std::int64_t row = 0; row < at.rows; row += padded_rows) {
    const std::int64_t rows = std::min(padded_rows, at.rows - row);
    blas::multiply(p.transpose_a, p.transpose_b, rows, lane, p.inner,
                   a + (p.transpose_a ? row : row * p.inner), p.transpose_a ? p.rows : p.inner,
                   wide, p.transpose_b ? p.inner : lane, result, lane);
    for (std::int64_t i = 0; i < rows; ++i)
      copy_row(result + i * lane, p.columns, y + (row + i) * p.columns);
  }
}

// Gathers a block of stacked columns into [inner, columns], multiplies once, and hands the columns
// of the result back to the products that they belong to.
template <class T>
void MatmulPlan<T>::run_stacked(const T* a, const T* b, T* y, const Block& at, T* scratch) const {
  const Product& p = product_;
  const std::int64_t n = stacked_columns_;
  // Calls visit(product, first column in it, first column in the block, columns).
  const auto pieces = [&](auto&& visit) {
    for (std::int64_t j = 0; j < at.columns;) {
      const std::int64_t column = at.column + j;
      const std::int64_t count = std::min(n - column % n, at.columns - j);
      visit(column / n, column % n, j, count);
      j += count;
    }
  };
  const T* columns = b + at.column * p.inner;  // stored by columns, b is stacked already
  T* result = scratch;
  if (!p.transpose_b) {
    pieces([&](std::int64_t product, std::int64_t first, std::int64_t j, std::int64_t count) {
      const T* from = b + product * p.inner * n + first;
      for (std::int64_t k = 0; k < p.inner; ++k)
        copy_row(from + k * n, count, scratch + k * at.columns + j);
    });
    columns = scratch;
    result += p.inner * at.columns;
  }
  blas::multiply(p.transpose_a, p.transpose_b, at.rows, at.columns, p.inner, a,
                 p.transpose_a ? p.rows : p.inner, columns, p.transpose_b ? p.inner : at.columns,
                 result, at.columns);
  pieces([&](std::int64_t product, std::int64_t first, std::int64_t j, std::int64_t count) {
    T* to = y + (product * p.rows + at.row) * n + first;
    for (std::int64_t i = 0; i < at.rows; ++i)
      copy_row(result + i * at.columns + j, count, to + i * n);
  });
}

template class MatmulPlan<float>;
template class MatmulPlan<double>;

}  // namespace whorl
