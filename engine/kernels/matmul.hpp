// MatmulPlan: how one matmul node becomes calls of blas::multiply or of a kernel for small
// matrices.
//
// A node is `count` products of matrices, one of whose operands may be the same for all. The plan
// is a function of the shapes alone, never of threads: a unit is a fixed set of calls, and since
// splitting a product changes its bits, the plan is part of what matmul means. The rules come from
// measurements (bench/matmul.cpp; MKL 2020.4 on AMD Zen 4, one thread, f32):
//
//  - MKL is fast where the columns fill its registers: [500,784] x [784,n] runs at 83 GF/s for
//    n = 40, 96 for 48, 100 for 96; [500,40] x [40,n] at 14 GF/s for n = 10, 80 for 16. The step is
//    16 columns for float, 12 for double: `matmul_lane`.
//  - stacked: with a shared left operand, the columns of all products are one long row of columns.
//    Blocks of up to 7 lanes of it, regardless of where a product ends, are copied together,
//    multiplied at once and copied back: 93 GF/s for 20 products of [500,784] x [784,40] (77 one by
//    one; wider blocks gain up to 5% more but leave too few units for threads).
//  - folded: with a shared right operand, the rows of all products are the rows of one.
//  - padded: fewer columns than a lane are padded to one: 40 GF/s for n = 10.
//  - small: up to 64 multiply-adds are a plain loop, since a call of MKL costs 40 to 90 ns.
//  - own: products of at least 8 rows with up to 262,144 multiply-adds go to small_matmul.hpp:
//    0.3 us for [50,10] x [10,10] (MKL: 1.0), 0.8 us for [50,50] x [50,10] (3.7), 4.9 us for 64
//    cubed (5.8).
//  - Products above 8 million multiply-adds are cut, along the longer side first, into units of
//    about that much (160 us), no side below 128: 92 to 98 GF/s for [800,88] x [88,600] in 8 units,
//    99 in one, 85 to 91 in 16.
//
// Thread safety: immutable; units may run in any order and at the same time.
#pragma once

#include <cstdint>
#include <type_traits>

namespace whorl {

// `count` products [rows, inner] x [inner, columns], all contiguous one after the other.
struct Product {
  std::int64_t count = 1;
  std::int64_t rows = 1;
  std::int64_t inner = 1;
  std::int64_t columns = 1;
  bool transpose_a = false;  // a is stored [inner, rows]
  bool transpose_b = false;  // b is stored [columns, inner]
  bool shared_a = false;     // there is one a for all the products
  bool shared_b = false;
};

template <class T>
inline constexpr std::int64_t matmul_lane = std::is_same_v<T, float> ? 16 : 12;

template <class T>
class MatmulPlan {
 public:
  explicit MatmulPlan(const Product& product);

  std::int64_t units() const { return product_.count * row_blocks_ * column_blocks_; }
  std::int64_t scratch_bytes() const {
    return units() * unit_scratch_ * static_cast<std::int64_t>(sizeof(T));
  }
  // Writes the units [begin, end) of y.
  void run(const T* a, const T* b, T* y, T* scratch, std::int64_t begin, std::int64_t end) const;

 private:
  enum class Method { zero, small, own, plain, padded, stacked };
  struct Block {
    std::int64_t product, row, rows, column, columns;
  };

  void fold();
  void choose_method();
  void cut();
  void cut_stacked();
  void reserve_scratch();
  Block block(std::int64_t unit) const;
  const T* a_at(const T* a, const Block& at) const;
  void run_small(const T* a, const T* b, T* y) const;
  void run_padded(const T* a, const T* b, T* y, const Block& at, T* scratch) const;
  void run_stacked(const T* a, const T* b, T* y, const Block& at, T* scratch) const;

  Product product_;
  Method method_ = Method::plain;
  bool swapped_ = false;              // a and b change places
  std::int64_t stacked_columns_ = 0;  // columns of one product, where they are stacked
  std::int64_t row_blocks_ = 1;
  std::int64_t column_blocks_ = 1;
  std::int64_t unit_scratch_ = 0;  // elements
};

}  // namespace whorl
