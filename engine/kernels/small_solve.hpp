// Cholesky factors and triangular solves of small matrices, row-major.
//
// MKL takes several times as long as the arithmetic for matrices of some tens of rows. Here four
// rows at a time are held in registers, over panels of two vectors of columns:
//
//   rows p .. p+3 of X  =  rows of B - sum_{q < p} L_pq X_q,  then the 4 x 4 corner
//
// The factor is such a solve, too: with U = L', row i of U is (A_i - sum_{k<i} U_ki U_k) / U_ii.
// Every element is one sum in the order of q, whatever panel it stands in. The functions mean what
// those of blas.hpp do. T is float or double. Nothing allocates. Thread safety: pure functions.
#pragma once

#include <cstdint>

namespace whorl::small {

// Rows of the largest matrix.
inline constexpr std::int64_t largest_factor = 64;
inline constexpr std::int64_t largest_solve = 128;

// Whether solve_lower is to be used: a panel should not be mostly empty.
inline bool solves(std::int64_t n, std::int64_t columns) {
  return n <= largest_solve && columns >= 4;
}

// Writes the Cholesky factor of a [n, n], of which it reads the lower triangle, to l, with zeros
// above the diagonal. Returns -1, or the index of the first pivot that is not positive; then l is
// not written.
template <class T>
std::int64_t cholesky(std::int64_t n, const T* a, T* l);

// x [n, columns] = inverse(op(l)) b, with l [n, n] lower triangular; op is the transpose if asked
// for.
template <class T>
void solve_lower(bool transpose, std::int64_t n, std::int64_t columns, const T* l, const T* b,
                 T* x);

}  // namespace whorl::small
