// sin, cos, erf.
#include <cmath>
#include <numbers>

#include "engine/kernels/vmath.hpp"
#include "engine/ops/unary.hpp"

namespace whorl {

namespace {

struct Sin : Dear<FloatUnary> {
  template <class T>
  static T apply(T x) {
    return vmath::sin(x);
  }
  static Value gradient(const Adjoint& a, int) { return a.dy * cos(a.x()); }
};

struct Cos : Dear<FloatUnary> {
  template <class T>
  static T apply(T x) {
    return vmath::cos(x);
  }
  static Value gradient(const Adjoint& a, int) { return -(a.dy * sin(a.x())); }
};

// erf'(x) = 2/sqrt(pi) exp(-x^2).
struct Erf : Dear<FloatUnary> {
  template <class T>
  static T apply(T x) {
    return std::erf(x);
  }
  static Value gradient(const Adjoint& a, int) {
    return a.dy * (2 * std::numbers::inv_sqrtpi) * exp(-square(a.x()));
  }
};

}  // namespace

extern constinit const OpDef sin_op = define<Sin>("sin");
extern constinit const OpDef cos_op = define<Cos>("cos");
extern constinit const OpDef erf_op = define<Erf>("erf");

Value sin(Value x) { return call(sin_op, {x}); }
Value cos(Value x) { return call(cos_op, {x}); }
Value erf(Value x) { return call(erf_op, {x}); }

}  // namespace whorl
