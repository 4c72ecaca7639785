// neg, add, sub, mul, div: the four operations, element by element, and the operators on Values.
#include <limits>

#include "engine/ops.hpp"

namespace whorl {

namespace {

// Integers wrap around: signed overflow must not be undefined for numbers that come from a file.
template <class T>
T wrap(std::uint32_t bits) {
  return static_cast<T>(bits);
}

struct Neg {
  static constexpr std::array<std::string_view, 1> inputs{"x"};
  static constexpr Traits traits = Traits::elementwise;
  static constexpr DTypeSet dtypes = numbers;
  template <class T>
  static T apply(T x) {
    if constexpr (std::is_integral_v<T>) return wrap<T>(0u - static_cast<std::uint32_t>(x));
    return -x;
  }
  static Value gradient(const Adjoint& a, int) { return -a.dy; }
  static std::vector<Sample> samples() { return {{{{{2, 3}}}}, {{{{}}}}}; }
};

struct Binary {
  static constexpr std::array<std::string_view, 2> inputs{"a", "b"};
  static std::vector<Sample> samples() { return {{{{{2, 3}}, {{2, 3}}}}, {{{{}}, {{}}}}}; }
};

struct Add : Binary {
  static constexpr Traits traits = Traits::elementwise | Traits::commutative;
  static constexpr DTypeSet dtypes = numbers;
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return wrap<T>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
    return a + b;
  }
  static Value gradient(const Adjoint& a, int) { return a.dy; }
};

struct Sub : Binary {
  static constexpr Traits traits = Traits::elementwise;
  static constexpr DTypeSet dtypes = numbers;
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return wrap<T>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b));
    return a - b;
  }
  static Value gradient(const Adjoint& a, int input) { return input == 0 ? a.dy : -a.dy; }
};

struct Mul : Binary {
  static constexpr Traits traits = Traits::elementwise | Traits::commutative;
  static constexpr DTypeSet dtypes = numbers;
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return wrap<T>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b));
    return a * b;
  }
  static Value gradient(const Adjoint& a, int input) { return a.dy * a.x(1 - input); }
};

struct Div : Binary {
  static constexpr Traits traits = Traits::elementwise;
  static constexpr DTypeSet dtypes = floats;
  template <class T>
  static T apply(T a, T b) {
    return a / b;
  }
  // d(a/b)/db = -a/b^2 = -y/b.
  static Value gradient(const Adjoint& a, int input) {
    return input == 0 ? a.dy / a.x(1) : -(a.dy * a.y / a.x(1));
  }
  static std::vector<Sample> samples() {
    return {{{{{2, 3}}, {{2, 3}, 0.5, 2}}}, {{{{}}, {{}, -2, -0.5}}}};
  }
};

}  // namespace

extern constinit const OpDef neg_op = define<Neg>("neg");
extern constinit const OpDef add_op = define<Add>("add");
extern constinit const OpDef sub_op = define<Sub>("sub");
extern constinit const OpDef mul_op = define<Mul>("mul");
extern constinit const OpDef div_op = define<Div>("div");

Value neg(Value x) { return call(neg_op, {x}); }
Value add(Value a, Value b) { return call(add_op, {a, b}); }
Value sub(Value a, Value b) { return call(sub_op, {a, b}); }
Value mul(Value a, Value b) { return call(mul_op, {a, b}); }
Value div(Value a, Value b) { return call(div_op, {a, b}); }

Value operator-(Value x) { return neg(x); }
Value operator+(Value a, Value b) { return add(a, b); }
Value operator-(Value a, Value b) { return sub(a, b); }
Value operator*(Value a, Value b) { return mul(a, b); }
Value operator/(Value a, Value b) { return div(a, b); }
Value operator+(Value a, double b) { return add(a, fill_like(a, b)); }
Value operator+(double a, Value b) { return add(fill_like(b, a), b); }
Value operator-(Value a, double b) { return sub(a, fill_like(a, b)); }
Value operator-(double a, Value b) { return sub(fill_like(b, a), b); }
Value operator*(Value a, double b) { return mul(a, fill_like(a, b)); }
Value operator*(double a, Value b) { return mul(fill_like(b, a), b); }
Value operator/(Value a, double b) { return div(a, fill_like(a, b)); }
Value operator/(double a, Value b) { return div(fill_like(b, a), b); }

}  // namespace whorl
