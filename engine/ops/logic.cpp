// Comparisons, logical ops and select. Comparisons give bool, through which no gradient flows.
#include "engine/ops.hpp"

namespace whorl {

namespace {

struct Comparison {
  static constexpr std::array<std::string_view, 2> inputs{"a", "b"};
  static constexpr Traits traits = Traits::elementwise;
  static constexpr DTypeSet dtypes = any_dtype;
  static constexpr std::string_view no_gradient = "a comparison gives a bool";
  static Type infer(const Site& site) {
    return {DType::boolean, detail::infer_elementwise(site).shape};
  }
  static std::vector<Sample> samples() { return {{{{{2, 3}}, {{2, 3}}}}, {{{{}}, {{}}}}}; }
};
struct Equal : Comparison {
  static constexpr Traits traits = Traits::elementwise | Traits::commutative;
  template <class T>
  static bool apply(T a, T b) {
    return a == b;
  }
};
struct Less : Comparison {
  template <class T>
  static bool apply(T a, T b) {
    return a < b;
  }
};
struct LessEqual : Comparison {
  template <class T>
  static bool apply(T a, T b) {
    return a <= b;
  }
};
struct Greater : Comparison {
  template <class T>
  static bool apply(T a, T b) {
    return a > b;
  }
};
struct GreaterEqual : Comparison {
  template <class T>
  static bool apply(T a, T b) {
    return a >= b;
  }
};

struct Logical {
  static constexpr std::array<std::string_view, 2> inputs{"a", "b"};
  static constexpr Traits traits = Traits::elementwise | Traits::commutative;
  static constexpr DTypeSet dtypes = booleans;
  static constexpr std::string_view no_gradient = "a logical op gives a bool";
  static std::vector<Sample> samples() {
    return {{{{{2, 3}, 0, 2}, {{2, 3}, 0, 2}}}, {{{{}, 0, 2}, {{}, 0, 2}}}};
  }
};
struct LogicalAnd : Logical {
  template <class T>
  static T apply(T a, T b) {
    return a & b;
  }
};
struct LogicalOr : Logical {
  template <class T>
  static T apply(T a, T b) {
    return a | b;
  }
};
struct LogicalNot : Logical {
  static constexpr std::array<std::string_view, 1> inputs{"a"};
  static constexpr Traits traits = Traits::elementwise;
  template <class T>
  static T apply(T a) {
    return !a;
  }
  static std::vector<Sample> samples() { return {{{{{2, 3}, 0, 2}}}, {{{{}, 0, 2}}}}; }
};

struct Select {
  static constexpr std::array<std::string_view, 3> inputs{"condition", "yes", "no"};
  static constexpr Traits traits = Traits::elementwise;
  static constexpr DTypeSet dtypes = any_dtype;
  static constexpr int key = 1;
  static Type infer(const Site& site) {
    if (site.in[0].dtype != DType::boolean)
      graph_error("select", "the condition is {}; expected bool", name(site.in[0].dtype));
    if (site.in[1] != site.in[2] || site.in[0].shape != site.in[1].shape)
      graph_error("select", "the inputs' types differ");
    return site.in[1];
  }
  // Conditions are read as bytes: of bool the compiler makes no vector code.
  template <class T>
  static void tile(const Tile& t) {
    const auto* condition = t.in<unsigned char>(0);
    const T *yes = t.in<T>(1), *no = t.in<T>(2);
    T* y = t.out<T>();
#pragma GCC ivdep
    for (std::int64_t i = 0; i < t.n; ++i) {
      const T first = yes[i], second = no[i];
      y[i] = condition[i] != 0 ? first : second;
    }
  }
  static Value gradient(const Adjoint& a, int input) {
    const Value zero = fill_like(a.dy, 0);
    return input == 1 ? select(a.x(0), a.dy, zero) : select(a.x(0), zero, a.dy);
  }
  static std::vector<Sample> samples() {
    return {{{{{2, 3}, 0, 2, DType::boolean}, {{2, 3}}, {{2, 3}}}},
            {{{{}, 0, 2, DType::boolean}, {{}}, {{}}}}};
  }
};

}  // namespace

extern constinit const OpDef equal_op = define<Equal>("equal");
extern constinit const OpDef less_op = define<Less>("less");
extern constinit const OpDef less_equal_op = define<LessEqual>("less_equal");
extern constinit const OpDef greater_op = define<Greater>("greater");
extern constinit const OpDef greater_equal_op = define<GreaterEqual>("greater_equal");
extern constinit const OpDef logical_and_op = define<LogicalAnd>("logical_and");
extern constinit const OpDef logical_or_op = define<LogicalOr>("logical_or");
extern constinit const OpDef logical_not_op = define<LogicalNot>("logical_not");
extern constinit const OpDef select_op = define<Select>("select");

Value equal(Value a, Value b) { return call(equal_op, {a, b}); }
Value less(Value a, Value b) { return call(less_op, {a, b}); }
Value less_equal(Value a, Value b) { return call(less_equal_op, {a, b}); }
Value greater(Value a, Value b) { return call(greater_op, {a, b}); }
Value greater_equal(Value a, Value b) { return call(greater_equal_op, {a, b}); }
Value logical_and(Value a, Value b) { return call(logical_and_op, {a, b}); }
Value logical_or(Value a, Value b) { return call(logical_or_op, {a, b}); }
Value logical_not(Value a) { return call(logical_not_op, {a}); }
Value select(Value condition, Value yes, Value no) { return call(select_op, {condition, yes, no}); }

}  // namespace whorl
