// triangular_solve: X with op(L) X = B, for lower triangular L; op is the transpose if asked for.
//
// l is [..., n, n] and b [..., n, m] with equal leading axes; a single l also takes a vector b [n].
// What lies above the diagonal of l is not read. A zero on the diagonal divides by zero.
#include "engine/kernels/blas.hpp"
#include "engine/kernels/small_solve.hpp"
#include "engine/ops/square.hpp"

namespace whorl {

namespace {

struct TriangularSolve {
  struct Attrs {
    bool transpose = false;
    static constexpr auto fields() {
      return std::tuple{field("transpose", &Attrs::transpose).optional()};
    }
  };
  static constexpr std::array<std::string_view, 2> inputs{"l", "b"};
  static constexpr DTypeSet dtypes = floats;

  static Type infer(const Site& site) {
    const Shape &l = site.in[0].shape, &b = site.in[1].shape;
    if (site.in[0].dtype != site.in[1].dtype)
      graph_error("triangular_solve", "the inputs' types differ");
    check_square("triangular_solve", "l", l);
    const bool vector = b.rank() == 1 && l.rank() == 2;
    if (!vector && b.rank() != l.rank())
      graph_error("triangular_solve", "ranks differ: {} and {}", l.rank(), b.rank());
    const std::int64_t have = l[l.rank() - 1], want = b[vector ? 0 : b.rank() - 2];
    if (have != want)
      graph_error("triangular_solve", "matrices of {} rows for a right side of {}", have, want);
    const int lead = l.rank() - 2;
    if (l.slice(0, lead) != b.slice(0, lead))
      graph_error("triangular_solve", "leading axes differ: {} and {}", to_string(l.slice(0, lead)),
                  to_string(b.slice(0, lead)));
    if (!vector && b[b.rank() - 1] > std::numeric_limits<std::int32_t>::max())
      graph_error("triangular_solve", "b has {} columns; the limit is 2^31 - 1", b[b.rank() - 1]);
    return site.in[1];
  }
  static std::int64_t units(const Site& site) {
    const Shape& l = site.in[0].shape;
    return l.span_elements(0, l.rank() - 2);
  }
  static double flops(const Site& site) {
    const Shape& l = site.in[0].shape;
    return static_cast<double>(site.out.elements()) * static_cast<double>(l[l.rank() - 1]);
  }
  template <class T>
  static void forward(const Call& c, std::int64_t begin, std::int64_t end) {
    const Shape &l = c.type(0).shape, &b = c.type(1).shape;
    const std::int64_t n = l[l.rank() - 1], columns = b.rank() == 1 ? 1 : b[b.rank() - 1];
    const std::int64_t size = n * columns;
    if (c.type().elements() == 0) return;
    const bool transposed = c.attrs<Attrs>().transpose;
    for (std::int64_t matrix = begin; matrix < end; ++matrix) {
      const T *a = c.in<T>(0) + matrix * n * n, *right = c.in<T>(1) + matrix * size;
      T* x = c.out<T>() + matrix * size;
      if (small::solves(n, columns)) {
        small::solve_lower(transposed, n, columns, a, right, x);
      } else {
        std::copy_n(right, size, x);
        blas::solve_lower(transposed, n, columns, a, x);
      }
    }
  }
  // dB = op(L)'^-1 dX. With op(L) X = B held fixed, d op(L) = -dB X', of which L sees the lower
  // triangle: -dB X', or -X dB' when op is the transpose.
  static Value gradient(const Adjoint& g, int input) {
    const bool transposed = g.attrs<Attrs>().transpose;
    const Value db = triangular_solve(g.x(0), g.dy, !transposed);
    if (input == 1) return db;
    const auto columns = [](Value x) {
      return x.shape().rank() == 1 ? reshape(x, Shape{x.shape()[0], 1}) : x;
    };
    const Value left = columns(transposed ? g.y : db), right = columns(transposed ? db : g.y);
    return lower_triangle(-matmul(left, right, false, true));
  }
  static Value batch(const Batch& b) {
    const Value l = b.full(0), right = b.full(1);
    const bool transposed = b.attrs<Attrs>().transpose;
    if (right.shape().rank() == l.shape().rank()) return triangular_solve(l, right, transposed);
    const Shape vectors = right.shape();  // [size, n]; a copy: appending moves the graph's types
    const Value columns = reshape(right, Shape{vectors[0], vectors[1], 1});
    return reshape(triangular_solve(l, columns, transposed), vectors);
  }
  static std::vector<Sample> samples() {
    const AttrList yes{{"transpose", true}};
    return {{{{{3, 3}}, {{3, 2}}}, {}, &triangular},
            {{{{3, 3}}, {{3, 2}}}, yes, &triangular},
            {{{{2, 2, 2}}, {{2, 2, 3}}}, {}, &triangular},
            {{{{2, 2, 2}}, {{2, 2, 1}}}, yes, &triangular},
            {{{{3, 3}}, {{3}}}, {}, &triangular},
            {{{{3, 3}}, {{3}}}, yes, &triangular}};
  }

 private:
  // A diagonal in [1, 2), away from zero.
  static void triangular(std::span<Tensor> inputs) {
    dispatch(inputs[0].dtype(), [&](auto zero) {
      using T = decltype(zero);
      const std::int64_t n = inputs[0].shape()[inputs[0].shape().rank() - 1];
      for (std::int64_t at = 0; at < inputs[0].elements(); ++at)
        if (at / n % n == at % n) {
          T& x = inputs[0].data<T>()[at];
          x = static_cast<T>(1.5 + 0.25 * static_cast<double>(x));
        }
    });
  }
};

}  // namespace

extern constinit const OpDef triangular_solve_op = define<TriangularSolve>("triangular_solve");

Value triangular_solve(Value l, Value b, bool transpose) {
  return call(triangular_solve_op, {l, b}, attributes(TriangularSolve::Attrs{transpose}));
}

}  // namespace whorl
