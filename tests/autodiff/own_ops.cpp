#include "tests/autodiff/own_ops.hpp"

namespace whorl::testing {

namespace {

struct OneFloat {
  static constexpr std::array<std::string_view, 1> inputs{"x"};
  static constexpr DTypeSet dtypes = floats;
  static Type infer(const Site& site) { return site.in[0]; }
  static std::vector<Sample> samples() { return {{{{{2, 3}}}}}; }
};
struct TwiceSquare : OneFloat {
  static Value compose(const Composition& c) { return square(c.x()) * 2.0; }
};
struct QuadSquare : OneFloat {
  static Value compose(const Composition& c) { return twice_square(c.x()) * 2.0; }
};
struct Same : OneFloat {
  static Value compose(const Composition& c) { return c.x(); }
};
struct NormSum : OneFloat {
  static Value compose(const Composition& c) { return c.x() / sum(c.x()); }
};
struct Untaught : OneFloat {
  static constexpr Traits traits = Traits::elementwise;
  static constexpr std::string_view no_gradient = "nobody taught it";
  template <class T>
  static T apply(T x) {
    return x;
  }
};
struct WrongRule : Untaught {
  static Value gradient(const Adjoint& a, int) { return sum(a.dy); }
};
struct DoubledRule : Untaught {
  static Value gradient(const Adjoint& a, int) { return a.dy * 2.0; }
};

constinit const OpDef twice_square_op = define<TwiceSquare>("test_twice_square");
constinit const OpDef quad_square_op = define<QuadSquare>("test_quad_square");
constinit const OpDef same_op = define<Same>("test_same");
constinit const OpDef norm_sum_op = define<NormSum>("test_norm_sum");
constinit const OpDef untaught_op = define<Untaught>("test_untaught");
constinit const OpDef wrong_rule_op = define<WrongRule>("test_wrong_rule");
constinit const OpDef doubled_rule_op = define<DoubledRule>("test_doubled_rule");

}  // namespace

Value twice_square(Value x) { return call(twice_square_op, {x}); }
Value quad_square(Value x) { return call(quad_square_op, {x}); }
Value same(Value x) { return call(same_op, {x}); }
Value norm_sum(Value x) { return call(norm_sum_op, {x}); }
Value untaught(Value x) { return call(untaught_op, {x}); }
Value wrong_rule(Value x) { return call(wrong_rule_op, {x}); }
Value doubled_rule(Value x) { return call(doubled_rule_op, {x}); }

}  // namespace whorl::testing
