// The elementwise ops, and the sources beside them.
#include <limits>

#include "tests/engine/op_checks.hpp"

namespace whorl {
namespace {

using testing::message_of;

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int32_t lowest = std::numeric_limits<std::int32_t>::min();

template <class T>
Tensor run(std::string_view op, const std::vector<std::vector<T>>& inputs, AttrList attrs = {}) {
  std::vector<Tensor> tensors;
  for (const std::vector<T>& values : inputs) {
    Tensor tensor({dtype_of<T>, {static_cast<std::int64_t>(values.size())}});
    std::copy(values.begin(), values.end(), tensor.data<T>());
    tensors.push_back(tensor);
  }
  const OpDef& row = *find_op(op);
  return evaluate_op(row, tensors, make_attributes(op, row.attrs(), attrs));
}

// d f / d x at one point.
double slope(Value (*f)(Value), double at) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {}});
  const Value dx = testing::gradients(f(x), {x})[0];
  return dx ? evaluate(graph, {{"x", Tensor::scalar(at)}}, {dx.id}).front().at(0) : 0;
}

BOOST_AUTO_TEST_SUITE(elementwise)

BOOST_AUTO_TEST_CASE(every_elementwise_op_passes_the_checks_of_its_samples) {
  int count = 0;
  for (const OpDef* op : all_ops()) {
    if (!op->is(Traits::elementwise)) continue;
    testing::check_op(op->name);
    ++count;
  }
  BOOST_TEST(count > 30);
}

BOOST_AUTO_TEST_CASE(integers_wrap_around) {
  const std::int32_t highest = std::numeric_limits<std::int32_t>::max();
  BOOST_TEST(run<std::int32_t>("add", {{highest}, {1}}).at(0) == lowest);
  BOOST_TEST(run<std::int32_t>("sub", {{lowest}, {1}}).at(0) == highest);
  BOOST_TEST(run<std::int32_t>("mul", {{65536}, {65536}}).at(0) == 0);
  BOOST_TEST(run<std::int32_t>("neg", {{lowest}}).at(0) == lowest);
  BOOST_TEST(run<std::int32_t>("abs", {{lowest}}).at(0) == lowest);
  BOOST_TEST(run<std::int32_t>("abs", {{-7}}).at(0) == 7);
}

BOOST_AUTO_TEST_CASE(corners_have_the_documented_gradients) {
  BOOST_TEST(slope(abs, 0) == 0);
  BOOST_TEST(slope(abs, -2) == -1);
  BOOST_TEST(slope(relu, 0) == 0);
  BOOST_TEST(slope(relu, 1e-9) == 1);
  BOOST_TEST(slope(sign, 3) == 0);
  BOOST_TEST(slope(step, 0) == 0);
  const auto clamped = [](Value x) { return clamp(x, -1, 1); };
  for (double at : {-1.0, 0.0, 1.0}) BOOST_TEST(slope(clamped, at) == 1);
  for (double at : {-1.001, 2.0}) BOOST_TEST(slope(clamped, at) == 0);
  const auto tie = [](Value x) { return maximum(x, x * 3.0 - 2.0) + minimum(x * 5.0 - 4.0, x); };
  BOOST_TEST(slope(tie, 1) == 1 + 5);  // a tie goes to the first
  BOOST_TEST(slope(stop_gradient, 1) == 0);
}

BOOST_AUTO_TEST_CASE(saturated_functions_have_finite_gradients) {
  for (auto f : {tanh, sigmoid, softplus})
    for (double at : {-1e4, 1e4}) BOOST_TEST(std::isfinite(slope(f, at)));
  BOOST_TEST(slope(tanh, 400) == 0);
  BOOST_TEST(slope(softplus, 800) == 1);
  const auto power = [](Value x) { return pow(x, fill_like(x, 2)); };
  BOOST_TEST(slope(power, 0) == 0);
}

BOOST_AUTO_TEST_CASE(pieces_pass_a_nan_on) {
  for (const char* op : {"abs", "sign", "relu"})
    BOOST_TEST(std::isnan(run<double>(op, {{nan}}).at(0)), op);
  BOOST_TEST(std::isnan(run<double>("maximum", {{nan}, {1}}).at(0)));
  BOOST_TEST(std::isnan(run<double>("maximum", {{1}, {nan}}).at(0)));
  BOOST_TEST(std::isnan(run<double>("minimum", {{1}, {nan}}).at(0)));
  BOOST_TEST(std::isnan(run<double>("clamp", {{nan}}, {{"low", 0.0}, {"high", 1.0}}).at(0)));
  BOOST_TEST(run<double>("clamp", {{inf}}, {{"low", 0.0}, {"high", 1.0}}).at(0) == 1);
}

BOOST_AUTO_TEST_CASE(comparisons_and_logic_give_bools) {
  const Tensor less_than = run<float>("less", {{1, 2, 3}, {2, 2, 2}});
  BOOST_TEST((less_than.type() == Type{DType::boolean, {3}}));
  BOOST_TEST((less_than.at(0) == 1 && less_than.at(1) == 0 && less_than.at(2) == 0));
  BOOST_TEST(run<float>("less_equal", {{2}, {2}}).at(0) == 1);
  BOOST_TEST(run<float>("greater", {{2}, {2}}).at(0) == 0);
  BOOST_TEST(run<float>("greater_equal", {{2}, {2}}).at(0) == 1);
  BOOST_TEST(run<double>("equal", {{nan}, {nan}}).at(0) == 0);
  BOOST_TEST(run<bool>("logical_and", {{true}, {false}}).at(0) == 0);
  BOOST_TEST(run<bool>("logical_or", {{true}, {false}}).at(0) == 1);
  BOOST_TEST(run<bool>("logical_not", {{true}}).at(0) == 0);
}

BOOST_AUTO_TEST_CASE(casts_truncate_saturate_and_never_trap) {
  const auto to_int = [](double x) {
    return run<double>("cast", {{x}}, {{"dtype", DType::i32}}).at(0);
  };
  BOOST_TEST(to_int(2.9) == 2);
  BOOST_TEST(to_int(-2.9) == -2);
  BOOST_TEST(to_int(1e20) == 2147483647);
  BOOST_TEST(to_int(-inf) == lowest);
  BOOST_TEST(to_int(nan) == 0);
  BOOST_TEST(run<double>("cast", {{nan}}, {{"dtype", DType::boolean}}).at(0) == 1);
  BOOST_TEST(run<bool>("cast", {{true}}, {{"dtype", DType::f32}}).at(0) == 1);
}

BOOST_AUTO_TEST_CASE(a_value_that_is_not_finite_ends_the_run_with_its_node) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {3}});
  const Value y = assert_finite(x);
  graph.set_name(y.id, "checked");
  const Feeds good{{"x", Tensor::of<float>({3}, {1, 2, 3})}};
  BOOST_TEST(evaluate(graph, good, {y.id}).front().at(2) == 3);
  const Feeds bad{{"x", Tensor::of<float>({3}, {1, static_cast<float>(inf), 3})}};
  BOOST_TEST(message_of([&] { evaluate(graph, bad, {y.id}); }) ==
             "[run] node 1 'checked' (assert_finite): element 1 is inf");
}

BOOST_AUTO_TEST_CASE(every_mistake_has_its_own_sentence) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {2}});
  const Value wide = input(graph, "wide", {DType::f64, {2}});
  const Value i = input(graph, "i", {DType::i32, {2}});
  const Value flag = input(graph, "flag", {DType::boolean, {2}});
  const auto says = [](auto&& f, std::string_view expected) {
    BOOST_TEST(message_of(f) == expected);
  };
  says([&] { add(x, wide); }, "[add] the inputs' types differ; inputs a=f32[2] b=f64[2]");
  says([&] { add(flag, flag); },
       "[add] input 'a' is bool; expected f32 or f64 or i32 (use cast); inputs a=bool[2] "
       "b=bool[2]");
  says([&] { div(i, i); },
       "[div] input 'a' is i32; expected f32 or f64 (use cast); inputs a=i32[2] b=i32[2]");
  says([&] { logical_not(x); },
       "[logical_not] input 'a' is f32; expected bool (use cast); inputs a=f32[2]");
  says([&] { select(x, x, x); },
       "[select] the condition is f32; expected bool; inputs condition=f32[2] yes=f32[2] "
       "no=f32[2]");
  says([&] { select(flag, x, wide); },
       "[select] the inputs' types differ; inputs condition=bool[2] yes=f32[2] no=f64[2]");
  says([&] { clamp(x, 2, 1); }, "[clamp] low is above high: 2 and 1; inputs x=f32[2]");
  says([&] { fill(graph, {DType::i32, {}}, 0.5); }, "[fill] value 0.5 is not an i32");
  says(
      [&] {
        fill(graph, {DType::boolean, {}}, 2);
      },
      "[fill] value 2 is not a bool: expected 0 or 1");
  says([&] { iota(graph, {DType::i32, {2}}, 1); }, "[iota] axis 1 is out of range for shape [2]");
  says([&] { iota(graph, {DType::boolean, {2}}, 0); }, "[iota] dtype bool cannot count");
  const OpDef& row = *find_op("constant");
  const auto value = [&](const Tensor& t) {
    return make_attributes("constant", row.attrs(), {{"value", t}});
  };
  says(
      [&] {
        call(graph, row, value(Tensor::of<double>({2}, {0, nan})));
      },
      "[constant] element 1 is nan; set allow_nonfinite if that is meant");
  const OpDef& in = *find_op("input");
  says(
      [&] {
        make_attributes("input", in.attrs(),
                        {{"shape", std::vector<std::int64_t>{}}, {"role", std::string("weights")}});
      },
      "[input] attribute 'role' is 'weights'; expected one of: data, parameter");
}

BOOST_AUTO_TEST_CASE(sources_fill_and_count) {
  Graph graph;
  const Value filled = fill(graph, {DType::f32, {2}}, 1.5);
  const Value rows = iota(graph, {DType::i32, {2, 2}}, 0),
              columns = iota(graph, {DType::f32, {2, 2}}, -1);
  const auto found = evaluate(graph, {}, {filled.id, rows.id, columns.id});
  BOOST_TEST(found[0].at(1) == 1.5);
  const double down[] = {0, 0, 1, 1}, across[] = {0, 1, 0, 1};
  for (std::int64_t e = 0; e < 4; ++e) {
    BOOST_TEST(found[1].at(e) == down[e]);
    BOOST_TEST(found[2].at(e) == across[e]);
  }
}

BOOST_AUTO_TEST_CASE(the_first_node_that_is_not_finite_is_found) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {3}});
  const Value logs = log(x), y = logs * 2.0;
  graph.add_output("y", y.id);
  BOOST_TEST(!first_non_finite(graph, {{"x", Tensor::of<double>({3}, {1, 2, 3})}}).has_value());
  const auto found = first_non_finite(graph, {{"x", Tensor::of<double>({3}, {1, 0, -3})}});
  BOOST_REQUIRE(found.has_value());
  BOOST_TEST(found->node == logs.id);
  BOOST_TEST(found->count == 2);
  BOOST_TEST(found->first == 1);
  BOOST_TEST(found->elements == 3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace whorl
