// cholesky: the lower triangular L with L L' = a, for symmetric positive definite matrices.
//
// Reads the lower triangle of a; above the diagonal L is zero. A matrix that is not positive
// definite ends the run with a numeric Error.
#include "engine/kernels/blas.hpp"
#include "engine/kernels/small_solve.hpp"
#include "engine/ops/square.hpp"

namespace whorl {

namespace {

struct Cholesky {
  static constexpr std::array<std::string_view, 1> inputs{"a"};
  static constexpr DTypeSet dtypes = floats;
  static Type infer(const Site& site) {
    check_square("cholesky", "a", site.in[0].shape);
    return site.in[0];
  }
  static std::int64_t units(const Site& site) {
    const Shape& shape = site.in[0].shape;
    return shape.span_elements(0, shape.rank() - 2);
  }
  static double flops(const Site& site) {
    const Shape& shape = site.in[0].shape;
    return static_cast<double>(site.out.elements()) * static_cast<double>(shape[shape.rank() - 1]) /
           3;
  }
  template <class T>
  static void forward(const Call& c, std::int64_t begin, std::int64_t end) {
    const std::int64_t n = c.type().shape[c.type().shape.rank() - 1];
    if (c.type().elements() == 0) return;
    for (std::int64_t matrix = begin; matrix < end; ++matrix) {
      const T* a = c.in<T>(0) + matrix * n * n;
      T* l = c.out<T>() + matrix * n * n;
      const std::int64_t pivot =
          n <= small::largest_factor ? small::cholesky(n, a, l) : large(n, a, l);
      if (pivot >= 0)
        fail(ErrorKind::numeric, "cholesky",
             "matrix {} is not positive definite: pivot {} of {} is not above zero", matrix, pivot,
             n);
    }
  }
  template <class T>
  static std::int64_t large(std::int64_t n, const T* a, T* l) {
    for (std::int64_t i = 0; i < n; ++i) {
      std::copy_n(a + i * n, i + 1, l + i * n);
      std::fill_n(l + i * n + i + 1, n - i - 1, T(0));
    }
    return blas::cholesky(n, l);
  }
  // With P = half_lower(L' dL), the derivative by a full symmetric matrix is the symmetric part of
  // G = inverse(L)' P inverse(L). Both solves are on the left: Y = L'^-1 P, then G' = L'^-1 Y'.
  static Value gradient(const Adjoint& g, int) {
    const Value p = half_lower_triangle(matmul(g.y, g.dy, true));
    const Value y = triangular_solve(g.y, p, true);
    return by_lower_triangle(triangular_solve(g.y, transpose(y), true));
  }
  static Value batch(const Batch& b) { return cholesky(b.x()); }
  static std::vector<Sample> samples() {
    const auto prepare = [](std::span<Tensor> inputs) { make_positive_definite(inputs[0]); };
    return {{{{{3, 3}}}, {}, prepare}, {{{{2, 2, 2}}}, {}, prepare}, {{{{1, 1}}}, {}, prepare}};
  }
};

}  // namespace

extern constinit const OpDef cholesky_op = define<Cholesky>("cholesky");

Value cholesky(Value a) { return call(cholesky_op, {a}); }

void make_positive_definite(Tensor& input) {
  dispatch(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = input.shape()[input.shape().rank() - 1];
    const Tensor x = input.clone();
    for (std::int64_t at = 0; at < input.elements(); ++at) {
      const std::int64_t row = at / n, first = row / n * n, column = first + at % n;
      double sum = row == column ? 1 : 0;
      for (std::int64_t k = 0; k < n; ++k)
        sum += x.at(row * n + k) * x.at(column * n + k) / static_cast<double>(n);
      input.data<T>()[at] = static_cast<T>(sum);
    }
  });
}

}  // namespace whorl
