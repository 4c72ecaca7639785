// square, sqrt, rsqrt, pow.
#include <cmath>

#include "engine/ops/unary.hpp"

namespace whorl {

namespace {

struct Square : FloatUnary {
  template <class T>
  static T apply(T x) {
    return x * x;
  }
  static Value gradient(const Adjoint& a, int) { return a.dy * (2.0 * a.x()); }
};

// The gradient at 0 is infinite, as it should be: guard the argument where 0 can occur.
struct Sqrt : PositiveUnary {
  template <class T>
  static T apply(T x) {
    return std::sqrt(x);
  }
  static Value gradient(const Adjoint& a, int) { return a.dy * 0.5 / a.y; }
};

// d x^(-1/2) = -1/2 x^(-3/2) = -1/2 y / x.
struct Rsqrt : PositiveUnary {
  template <class T>
  static T apply(T x) {
    return T(1) / std::sqrt(x);
  }
  static Value gradient(const Adjoint& a, int) { return a.dy * -0.5 * (a.y / a.x()); }
};

struct Pow {
  static constexpr std::array<std::string_view, 2> inputs{"a", "b"};
  static constexpr Traits traits = Traits::elementwise;
  static constexpr DTypeSet dtypes = floats;
  static double flops(const Site& site) { return 40.0 * static_cast<double>(site.out.elements()); }
  template <class T>
  static T apply(T a, T b) {
    return std::pow(a, b);
  }
  // da: b a^(b-1), finite at a = 0 for b >= 1. db: y log a, and 0 where a <= 0: there the function
  // has no derivative by b, and 0 is the limit of y log a for b > 0.
  static Value gradient(const Adjoint& a, int input) {
    if (input == 0) return a.dy * a.x(1) * pow(a.x(0), a.x(1) - 1.0);
    const Value positive = greater(a.x(0), fill_like(a.x(0), 0));
    const Value safe = select(positive, a.x(0), fill_like(a.x(0), 1));
    return a.dy * a.y * log(safe);
  }
  static std::vector<Sample> samples() {
    return {{{{{2, 3}, 0.3, 3}, {{2, 3}, -2, 3}}}, {{{{}, 0.5, 2}, {{}, 0.5, 2}}}};
  }
};

}  // namespace

extern constinit const OpDef square_op = define<Square>("square");
extern constinit const OpDef sqrt_op = define<Sqrt>("sqrt");
extern constinit const OpDef rsqrt_op = define<Rsqrt>("rsqrt");
extern constinit const OpDef pow_op = define<Pow>("pow");

Value square(Value x) { return call(square_op, {x}); }
Value sqrt(Value x) { return call(sqrt_op, {x}); }
Value rsqrt(Value x) { return call(rsqrt_op, {x}); }
Value pow(Value a, Value b) { return call(pow_op, {a, b}); }

}  // namespace whorl
