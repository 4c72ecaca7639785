// abs, sign, relu, step, clamp, maximum, minimum: functions made of straight pieces.
//
// At a corner the gradient is a documented choice: abs'(0) = 0, relu'(0) = 0, clamp' = 1 on the
// closed interval, and a tie of maximum or minimum goes to the first input. A NaN passes through.
#include <cmath>

#include "engine/ops/unary.hpp"

namespace whorl {

namespace {

std::vector<Sample> away_from_zero() { return {{{{{2, 3}, 0.2, 2}}}, {{{{}, -2, -0.2}}}}; }

struct Abs : FloatUnary {
  static constexpr DTypeSet dtypes = numbers;
  template <class T>
  static T apply(T x) {
    if constexpr (std::is_integral_v<T>)
      return x < 0 ? static_cast<T>(0u - static_cast<std::uint32_t>(x)) : x;
    return std::abs(x);
  }
  static Value gradient(const Adjoint& a, int) { return a.dy * sign(a.x()); }
  static std::vector<Sample> samples() { return away_from_zero(); }
};

struct Sign : FloatUnary {
  template <class T>
  static T apply(T x) {
    return x > T(0) ? T(1) : (x < T(0) ? T(-1) : x);  // keeps 0, -0 and NaN
  }
  static Value gradient(const Adjoint&, int) { return {}; }
  static std::vector<Sample> samples() { return away_from_zero(); }
};

struct Relu : FloatUnary {
  template <class T>
  static T apply(T x) {
    return x < T(0) ? T(0) : x;
  }
  static Value gradient(const Adjoint& a, int) { return a.dy * step(a.x()); }
  static std::vector<Sample> samples() { return away_from_zero(); }
};

struct Step : FloatUnary {
  template <class T>
  static T apply(T x) {
    return x > T(0) ? T(1) : T(0);
  }
  static Value gradient(const Adjoint&, int) { return {}; }
  static std::vector<Sample> samples() { return away_from_zero(); }
};

struct Clamp : FloatUnary {
  struct Attrs {
    double low = 0;
    double high = 0;
    static constexpr auto fields() {
      return std::tuple{field("low", &Attrs::low), field("high", &Attrs::high)};
    }
  };
  static Type infer(const Site& site) {
    const auto& attrs = site.attrs<Attrs>();
    if (!(attrs.low <= attrs.high))
      graph_error("clamp", "low is above high: {} and {}", attrs.low, attrs.high);
    return site.in[0];
  }
  template <class T>
  static void tile(const Tile& t) {
    const T low = static_cast<T>(t.attrs<Attrs>().low),
            high = static_cast<T>(t.attrs<Attrs>().high);
    const T* x = t.in<T>(0);
    T* y = t.out<T>();
#pragma GCC ivdep
    for (std::int64_t i = 0; i < t.n; ++i) y[i] = x[i] < low ? low : (x[i] > high ? high : x[i]);
  }
  // On the closed interval, and only there, y is x.
  static Value gradient(const Adjoint& a, int) {
    return select(equal(a.x(), a.y), a.dy, fill_like(a.dy, 0));
  }
  static std::vector<Sample> samples() {
    const AttrList attrs{{"low", -1.0}, {"high", 1.0}};
    return {{{{{2, 3}, -0.9, 0.9}}, attrs}, {{{{4}, 1.1, 2}}, attrs}, {{{{}, -0.9, 0.9}}, attrs}};
  }
};

struct Extremum {
  static constexpr std::array<std::string_view, 2> inputs{"a", "b"};
  static constexpr Traits traits = Traits::elementwise;
  static constexpr DTypeSet dtypes = numbers;
  static std::vector<Sample> samples() {
    return {{{{{2, 3}, -2, 0}, {{2, 3}, 0.1, 2}}}, {{{{}, 0.1, 2}, {{}, -2, 0}}}};
  }
  static Value pick(const Adjoint& a, int input, Value first_wins) {
    const Value zero = fill_like(a.dy, 0);
    return input == 0 ? select(first_wins, a.dy, zero) : select(first_wins, zero, a.dy);
  }
};

struct Maximum : Extremum {
  template <class T>
  static T apply(T a, T b) {
    return a >= b || a != a ? a : b;
  }
  static Value gradient(const Adjoint& a, int input) {
    return pick(a, input, greater_equal(a.x(0), a.x(1)));
  }
};

struct Minimum : Extremum {
  template <class T>
  static T apply(T a, T b) {
    return a <= b || a != a ? a : b;
  }
  static Value gradient(const Adjoint& a, int input) {
    return pick(a, input, less_equal(a.x(0), a.x(1)));
  }
};

}  // namespace

extern constinit const OpDef abs_op = define<Abs>("abs");
extern constinit const OpDef sign_op = define<Sign>("sign");
extern constinit const OpDef relu_op = define<Relu>("relu");
extern constinit const OpDef step_op = define<Step>("step");
extern constinit const OpDef clamp_op = define<Clamp>("clamp");
extern constinit const OpDef maximum_op = define<Maximum>("maximum");
extern constinit const OpDef minimum_op = define<Minimum>("minimum");

Value abs(Value x) { return call(abs_op, {x}); }
Value sign(Value x) { return call(sign_op, {x}); }
Value relu(Value x) { return call(relu_op, {x}); }
Value step(Value x) { return call(step_op, {x}); }
Value clamp(Value x, double low, double high) {
  return call(clamp_op, {x}, attributes(Clamp::Attrs{low, high}));
}
Value maximum(Value a, Value b) { return call(maximum_op, {a, b}); }
Value minimum(Value a, Value b) { return call(minimum_op, {a, b}); }

}  // namespace whorl
