// blas: dense products, factors and triangular solves, row-major; the only door to MKL.
//
// MKL is linked sequential: one call is one thread, and MKL_NUM_THREADS and the like have no
// effect. The first call of any of these chooses MKL's reproducible mode for the process, so that
// results do not depend on where a buffer lies; it overrides MKL_CBWR, and it throws an internal
// Error when MKL refuses, which happens if the program called MKL by itself before. Splitting a
// product into several changes its bits in every mode: how one is split is part of what an op
// computes. No function allocates, apart from work space that MKL keeps for each thread after its
// first use. Dimensions are below 2^31. T is float or double. Thread safety: may be called from
// many threads at once on distinct outputs.
#pragma once

#include <cstdint>
#include <string>

namespace whorl {

// The library, its version and the code branch that it runs, for run records.
std::string blas_description();

namespace blas {

// y = op(a) op(b), [rows, inner] x [inner, columns]; op(a) is the transpose of what is stored where
// asked for. ld is the distance between two stored rows. y is written, not read.
template <class T>
void multiply(bool transpose_a, bool transpose_b, std::int64_t rows, std::int64_t columns,
              std::int64_t inner, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T* y,
              std::int64_t ldy);

// Replaces the lower triangle of a [n, n] by its Cholesky factor; what lies above stays as it was.
// Returns -1, or the index of the first pivot that is not positive.
template <class T>
std::int64_t cholesky(std::int64_t n, T* a);

// Replaces b [n, columns] by inverse(op(l)) b, with l [n, n] lower triangular (what lies above its
// diagonal is not read). A zero on the diagonal gives infinities or NaN, as a division does.
template <class T>
void solve_lower(bool transpose, std::int64_t n, std::int64_t columns, const T* l, T* b);

}  // namespace blas

}  // namespace whorl
