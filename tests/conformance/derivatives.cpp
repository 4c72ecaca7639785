// Orders 1 and 2 of every op against frozen fourth-order differences, in f64.
//
// Order 2 is the gradient of sum_i <g_i, r_i> with fixed random r_i, where g_i is the gradient by
// input i. The table of the worst relative errors is printed, and written to the file that the
// environment variable WHORL_CONFORMANCE_TABLE names.
#include <fmt/os.h>
#include <fmt/ranges.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <map>

#include "autodiff/numeric.hpp"
#include "autodiff/tape.hpp"
#include "engine/ops.hpp"
#include "errors.hpp"
#include "op_cases.hpp"

using namespace whorl;
using namespace whorl::testing;

namespace {

constexpr double order1_tolerance = 1e-7;
constexpr double order2_tolerance = 1e-5;
// Single precision against double: the rules in f32, not the differences.
constexpr double single_tolerance = 1e-4;

std::vector<NodeId> ids_of(const std::vector<Value>& values) {
  std::vector<NodeId> ids;
  for (const Value& value : values) ids.push_back(value.id);
  return ids;
}

// The gradients by all floating-point inputs, seeded with fixed uneven numbers.
std::vector<Value> seeded_gradients(CaseGraph& g) {
  const Value seed = constant(*g.graph, uneven(g.y.type()));
  return gradient(g.y, g.float_inputs(), {.seed = seed, .allow_unused = true});
}

Value linear_functional(const std::vector<Value>& gradients) {
  Value total;
  for (const Value& dx : gradients) {
    const Value term = sum(dx * constant(*dx.graph, uneven(dx.type())));
    total = total ? total + term : term;
  }
  return total;
}

std::string describe(const GradientCheck& check) {
  const auto list = [](const Tensor& t) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(t.elements(), 12); ++i)
      values.push_back(t.at(i));
    return fmt::format("{:.9g}", fmt::join(values, " "));
  };
  return fmt::format("relative error {:.2e} at x{}: rule {}; differences {}", check.worst, check.x,
                     list(check.symbolic), list(check.numeric));
}

struct Errors {
  int cases = 0;
  double order1 = 0, order2 = 0;
};

std::string table_text(const std::map<std::string_view, Errors>& rows) {
  std::string text =
      fmt::format("{:<28}{:>6}  {:>9}  {:>9}\n", "op", "cases", "order 1", "order 2");
  for (const OpDef* op : all_ops()) {
    const auto row = rows.find(op->name);
    if (row != rows.end())
      text += fmt::format("{:<28}{:>6}  {:>9.1e}  {:>9.1e}\n", op->name, row->second.cases,
                          row->second.order1, row->second.order2);
    else
      text += fmt::format("{:<28}{:>6}  {}\n", op->name, "-",
                          op->no_gradient.empty() ? "not floating point" : op->no_gradient);
  }
  return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(derivatives)

BOOST_AUTO_TEST_CASE(orders_one_and_two_agree_with_differences) {
  std::map<std::string_view, Errors> rows;
  for (const OpCase& c : op_cases(only(DType::f64))) {
    CaseGraph g = graph_of(c);
    if (!is_differentiable(g)) continue;
    const auto xs = ids_of(g.float_inputs());
    const GradientCheck one = check_gradient(*g.graph, g.feeds, g.y.id, xs);
    BOOST_TEST(one.worst <= order1_tolerance, c.label() << ": order 1: " << describe(one));
    const Value functional = linear_functional(seeded_gradients(g));
    const GradientCheck two = check_gradient(*g.graph, g.feeds, functional.id, xs);
    BOOST_TEST(two.worst <= order2_tolerance, c.label() << ": order 2: " << describe(two));
    Errors& row = rows[c.op->name];
    ++row.cases;
    row.order1 = std::max(row.order1, one.worst);
    row.order2 = std::max(row.order2, two.worst);
  }
  const std::string text = table_text(rows);
  fmt::print("{}", text);
  if (const char* path = std::getenv("WHORL_CONFORMANCE_TABLE"))
    fmt::output_file(path).print("{}", text);
}

BOOST_AUTO_TEST_CASE(gradients_in_single_precision_agree_with_double) {
  for (const OpCase& c : op_cases(only(DType::f32))) {
    CaseGraph single = graph_of(c);
    if (!is_differentiable(single) || (c.op->dtypes & only(DType::f64)) == 0) continue;
    std::vector<Tensor> wide;
    for (const Tensor& x : c.inputs) wide.push_back(converted(x, DType::f64));
    CaseGraph exact = graph_of(*c.op, wide, c.attributes);
    const auto a = seeded_gradients(single), b = seeded_gradients(exact);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double error = distance(single.value(a[i]), exact.value(b[i]));
      BOOST_TEST(error <= single_tolerance, c.label() << " input " << i << ": " << error);
    }
  }
}

BOOST_AUTO_TEST_CASE(ops_without_a_gradient_refuse_with_their_reason) {
  for (const OpCase& c : op_cases(floats)) {
    CaseGraph g = graph_of(c);
    if (is_differentiable(g) || !is_float(g.y.dtype()) || g.float_inputs().empty()) continue;
    const Value seed = constant(*g.graph, uneven(g.y.type()));
    const std::string text = error_text([&] { gradient(g.y, g.float_inputs(), {.seed = seed}); });
    const bool stops = c.op->is(Traits::stops_gradient);
    const std::string_view reason = stops ? "which stops the gradient" : c.op->no_gradient;
    BOOST_TEST(text.find(reason) != std::string::npos, c.label() << ": " << text);
    BOOST_TEST(text.find(fmt::format("({})", c.op->name)) != std::string::npos, text);
  }
}

BOOST_AUTO_TEST_CASE(fused_ops_equal_their_compositions_in_value_and_both_orders) {
  for (const OpCase& c : op_cases(floats)) {
    if (c.op->compose == nullptr || c.op->is_composition()) continue;
    CaseGraph fused = graph_of(c), plain = graph_of(c);
    plain.y = c.op->compose({plain.inputs, &c.attributes});
    const bool wide = c.key == DType::f64;
    const auto compare = [&](Value a, Value b, std::string_view what, double tolerance) {
      const double error = distance(fused.value(a), plain.value(b));
      BOOST_TEST(error <= (wide ? tolerance : 1e-5), c.label() << ": " << what << ": " << error);
    };
    compare(fused.y, plain.y, "value", 1e-13);
    if (!is_differentiable(fused)) continue;
    auto a = seeded_gradients(fused), b = seeded_gradients(plain);
    for (std::size_t i = 0; i < a.size(); ++i) compare(a[i], b[i], "order 1", 1e-12);
    if (!wide) continue;
    const auto xs = fused.float_inputs(), ys = plain.float_inputs();
    a = gradient(linear_functional(a), xs, {.allow_unused = true});
    b = gradient(linear_functional(b), ys, {.allow_unused = true});
    for (std::size_t i = 0; i < a.size(); ++i) compare(a[i], b[i], "order 2", 1e-11);
  }
}

BOOST_AUTO_TEST_SUITE_END()
