#include "engine/kernels/blas.hpp"

#include <fmt/format.h>
#include <mkl_cblas.h>
#include <mkl_lapack.h>
#include <mkl_service.h>

#include <type_traits>

#include "engine/error.hpp"

namespace whorl {

namespace blas {

namespace {

// Once in a process, before anything else is asked of MKL. AUTO keeps the fastest branch; named
// branches are refused on other makers' processors.
bool choose_reproducible_mode() {
  const int status = mkl_cbwr_set(MKL_CBWR_AUTO);
  if (status != MKL_CBWR_SUCCESS)
    fail(ErrorKind::internal, "blas",
         "MKL refused its reproducible mode: status {}; it must not be called before Whorl is",
         status);
  return true;
}
void prepare() {
  static const bool ready = choose_reproducible_mode();
  static_cast<void>(ready);
}

std::string_view branch_name(int branch) {
  switch (branch) {
    case MKL_CBWR_COMPATIBLE:
      return "COMPATIBLE";
    case MKL_CBWR_SSE2:
      return "SSE2";
    case MKL_CBWR_SSSE3:
      return "SSSE3";
    case MKL_CBWR_SSE4_1:
      return "SSE4_1";
    case MKL_CBWR_SSE4_2:
      return "SSE4_2";
    case MKL_CBWR_AVX:
      return "AVX";
    case MKL_CBWR_AVX2:
      return "AVX2";
    case MKL_CBWR_AVX512:
      return "AVX512";
    default:
      return "no named branch";  // on other makers' processors
  }
}

CBLAS_TRANSPOSE transposed(bool yes) { return yes ? CblasTrans : CblasNoTrans; }
MKL_INT narrow(std::int64_t n) { return static_cast<MKL_INT>(n); }

}  // namespace

template <class T>
void multiply(bool transpose_a, bool transpose_b, std::int64_t rows, std::int64_t columns,
              std::int64_t inner, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T* y,
              std::int64_t ldy) {
  prepare();
  const auto gemm = [] {
    if constexpr (std::is_same_v<T, float>)
      return &cblas_sgemm;
    else
      return &cblas_dgemm;
  }();
  gemm(CblasRowMajor, transposed(transpose_a), transposed(transpose_b), narrow(rows),
       narrow(columns), narrow(inner), T(1), a, narrow(lda), b, narrow(ldb), T(0), y, narrow(ldy));
}

template <class T>
std::int64_t cholesky(std::int64_t n, T* a) {
  prepare();
  // LAPACK stores by columns: our lower triangle is its upper one, and its U'U is our L L'.
  const MKL_INT size = narrow(n);
  MKL_INT info = 0;
  if constexpr (std::is_same_v<T, float>) {
    spotrf("U", &size, a, &size, &info);
  } else {
    dpotrf("U", &size, a, &size, &info);
  }
  return info > 0 ? info - 1 : -1;
}

template <class T>
void solve_lower(bool transpose, std::int64_t n, std::int64_t columns, const T* l, T* b) {
  prepare();
  const auto trsm = [] {
    if constexpr (std::is_same_v<T, float>)
      return &cblas_strsm;
    else
      return &cblas_dtrsm;
  }();
  trsm(CblasRowMajor, CblasLeft, CblasLower, transposed(transpose), CblasNonUnit, narrow(n),
       narrow(columns), T(1), l, narrow(n), b, narrow(columns));
}

template void multiply(bool, bool, std::int64_t, std::int64_t, std::int64_t, const float*,
                       std::int64_t, const float*, std::int64_t, float*, std::int64_t);
template void multiply(bool, bool, std::int64_t, std::int64_t, std::int64_t, const double*,
                       std::int64_t, const double*, std::int64_t, double*, std::int64_t);
template std::int64_t cholesky(std::int64_t, float*);
template std::int64_t cholesky(std::int64_t, double*);
template void solve_lower(bool, std::int64_t, std::int64_t, const float*, float*);
template void solve_lower(bool, std::int64_t, std::int64_t, const double*, double*);

}  // namespace blas

std::string blas_description() {
  blas::prepare();
  MKLVersion version;
  mkl_get_version(&version);
  return fmt::format("Intel MKL {}.{}.{} sequential, CNR AUTO ({})", version.MajorVersion,
                     version.MinorVersion, version.UpdateVersion,
                     blas::branch_name(mkl_cbwr_get_auto_branch()));
}

}  // namespace whorl
