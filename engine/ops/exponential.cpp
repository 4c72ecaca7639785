// exp, expm1, log, log1p, tanh, sigmoid, softplus: the exponential family.
//
// Gradients are written with the output y where that cannot overflow: for tanh, 1 - y*y stays
// finite where 1/cosh(x)^2 would be 0 * inf.
#include "engine/kernels/vmath.hpp"
#include "engine/ops/unary.hpp"

namespace whorl {

namespace {

struct Exp : Dear<FloatUnary> {
  template <class T>
  static T apply(T x) {
    return vmath::exp(x);
  }
  static Value gradient(const Adjoint& a, int) { return a.dy * a.y; }
};

struct Expm1 : Dear<FloatUnary> {
  template <class T>
  static T apply(T x) {
    return vmath::expm1(x);
  }
  static Value gradient(const Adjoint& a, int) { return a.dy * (a.y + 1.0); }
};

struct Log : Dear<PositiveUnary> {
  template <class T>
  static T apply(T x) {
    return vmath::log(x);
  }
  static Value gradient(const Adjoint& a, int) { return a.dy / a.x(); }
};

struct Log1p : Dear<FloatUnary> {
  template <class T>
  static T apply(T x) {
    return vmath::log1p(x);
  }
  static Value gradient(const Adjoint& a, int) { return a.dy / (a.x() + 1.0); }
  static std::vector<Sample> samples() { return {{{{{2, 3}, -0.5, 3}}}, {{{{}, -0.5, 3}}}}; }
};

struct Tanh : Dear<FloatUnary> {
  template <class T>
  static T apply(T x) {
    return vmath::tanh(x);
  }
  static Value gradient(const Adjoint& a, int) { return a.dy * (1.0 - square(a.y)); }
};

struct Sigmoid : Dear<FloatUnary> {
  template <class T>
  static T apply(T x) {
    return vmath::sigmoid(x);
  }
  static Value gradient(const Adjoint& a, int) { return a.dy * (a.y * (1.0 - a.y)); }
};

struct Softplus : Dear<FloatUnary> {
  template <class T>
  static T apply(T x) {
    return vmath::softplus(x);
  }
  static Value gradient(const Adjoint& a, int) { return a.dy * sigmoid(a.x()); }
};

}  // namespace

extern constinit const OpDef exp_op = define<Exp>("exp");
extern constinit const OpDef expm1_op = define<Expm1>("expm1");
extern constinit const OpDef log_op = define<Log>("log");
extern constinit const OpDef log1p_op = define<Log1p>("log1p");
extern constinit const OpDef tanh_op = define<Tanh>("tanh");
extern constinit const OpDef sigmoid_op = define<Sigmoid>("sigmoid");
extern constinit const OpDef softplus_op = define<Softplus>("softplus");

Value exp(Value x) { return call(exp_op, {x}); }
Value expm1(Value x) { return call(expm1_op, {x}); }
Value log(Value x) { return call(log_op, {x}); }
Value log1p(Value x) { return call(log1p_op, {x}); }
Value tanh(Value x) { return call(tanh_op, {x}); }
Value sigmoid(Value x) { return call(sigmoid_op, {x}); }
Value softplus(Value x) { return call(softplus_op, {x}); }

}  // namespace whorl
