// symmetric_solve: X with A X = B; log_determinant: log det A; for symmetric positive definite A.
//
// Both go through the Cholesky factor, which passes merge into one where A is the same: a value,
// its gradient and the determinant factor A once. They read the lower triangle of A, and their
// gradient by A is that of a function of this triangle (see square.hpp).
#include "engine/ops/square.hpp"

namespace whorl {

namespace {

struct SymmetricSolve {
  static constexpr std::array<std::string_view, 2> inputs{"a", "b"};
  static constexpr DTypeSet dtypes = floats;
  static Type infer(const Site& site) {
    const Shape &a = site.in[0].shape, &b = site.in[1].shape;
    if (site.in[0].dtype != site.in[1].dtype)
      graph_error("symmetric_solve", "the inputs' types differ");
    check_square("symmetric_solve", "a", a);
    const bool vector = b.rank() == 1 && a.rank() == 2;
    if (!vector && b.rank() != a.rank())
      graph_error("symmetric_solve", "ranks differ: {} and {}", a.rank(), b.rank());
    if (a.slice(0, a.rank() - 1) != b.slice(0, a.rank() - 1))
      graph_error("symmetric_solve", "the right side does not fit: {} for {}", to_string(b),
                  to_string(a));
    return site.in[1];
  }
  static Value compose(const Composition& c) {
    const Value l = cholesky(c.x(0));
    return triangular_solve(l, triangular_solve(l, c.x(1)), true);
  }
  // dB = inverse(A) dX; the full derivative by A is -dB X'.
  static Value gradient(const Adjoint& g, int input) {
    const Value db = symmetric_solve(g.x(0), g.dy);
    if (input == 1) return db;
    const auto columns = [](Value x) {
      return x.shape().rank() == 1 ? reshape(x, Shape{x.shape()[0], 1}) : x;
    };
    return by_lower_triangle(-matmul(columns(db), columns(g.y), false, true));
  }
  static std::vector<Sample> samples() {
    const auto prepare = [](std::span<Tensor> inputs) { make_positive_definite(inputs[0]); };
    return {{{{{3, 3}}, {{3, 2}}}, {}, prepare},
            {{{{3, 3}}, {{3}}}, {}, prepare},
            {{{{2, 2, 2}}, {{2, 2, 2}}}, {}, prepare}};
  }
};

struct LogDeterminant {
  static constexpr std::array<std::string_view, 1> inputs{"a"};
  static constexpr DTypeSet dtypes = floats;
  static Type infer(const Site& site) {
    const Shape& a = site.in[0].shape;
    check_square("log_determinant", "a", a);
    return {site.in[0].dtype, a.slice(0, a.rank() - 2)};
  }
  // det A is the square of the product of the factor's diagonal.
  static Value compose(const Composition& c) {
    const Value l = cholesky(c.x());
    const Value diagonal = sum(select(where(l, equal), l, fill_like(l, 0)), {-1});
    return 2.0 * sum(log(diagonal), {-1});
  }
  // The full derivative is the inverse of A.
  static Value gradient(const Adjoint& g, int) {
    const Value a = g.x();
    const Value identity = cast(where(a, equal), a.dtype());
    const Value full = half_lower_triangle(2.0 * symmetric_solve(a, identity));
    Axes axes;
    for (int axis = 0; axis < g.dy.shape().rank(); ++axis) axes.push_back(axis);
    return broadcast(g.dy, a.shape(), axes) * full;
  }
  static std::vector<Sample> samples() {
    const auto prepare = [](std::span<Tensor> inputs) { make_positive_definite(inputs[0]); };
    return {{{{{3, 3}}}, {}, prepare}, {{{{2, 2, 2}}}, {}, prepare}};
  }
};

}  // namespace

extern constinit const OpDef symmetric_solve_op = define<SymmetricSolve>("symmetric_solve");
extern constinit const OpDef log_determinant_op = define<LogDeterminant>("log_determinant");

Value symmetric_solve(Value a, Value b) { return call(symmetric_solve_op, {a, b}); }
Value log_determinant(Value a) { return call(log_determinant_op, {a}); }

}  // namespace whorl
