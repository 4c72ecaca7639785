// What gradient() appends, and what the appended nodes compute.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "autodiff/tape.hpp"
#include "engine/evaluate.hpp"
#include "engine/ops.hpp"
#include "tests/autodiff/own_ops.hpp"

using namespace whorl;
using whorl::testing::twice_square;

namespace {

const Type f64_scalar{DType::f64, {}};

double value_of(Value v, double x) {
  return evaluate(*v.graph, {{"x", Tensor::scalar(x)}}, {v.id}).front().at(0);
}

// Where "op" stands in the text of a graph's nodes from `first` on.
std::string tail(const Graph& graph, std::size_t first) {
  std::string text = to_text(graph);
  for (std::size_t i = 0; i < first; ++i) text.erase(0, text.find('\n') + 1);
  return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gradient_of_a_graph)

BOOST_AUTO_TEST_CASE(adjoints_are_appended_to_the_same_graph) {
  Graph graph;
  const Value a = input(graph, "a", {DType::f32, {3}});
  const Value b = input(graph, "b", {DType::f32, {3}});
  const Value y = sum(a * b);
  gradient(y, a);
  BOOST_TEST(tail(graph, 4) ==
             "%4 = fill() {dtype=f32, shape=[], value=1} : f32[]\n"
             "%5 = broadcast(%4) {shape=[3], axes=[]} : f32[3]\n"
             "%6 = mul(%5, %1) : f32[3]\n");
}

BOOST_AUTO_TEST_CASE(contributions_are_added_in_the_order_of_their_consumers) {
  Graph graph;
  const Value x = input(graph, "x", f64_scalar);
  const Value c1 = sin(x), c2 = cos(x), c3 = exp(x);
  const Value y = c3 + (c2 + c1);
  const Value dx = gradient(y, x);
  // ((c1' + c2') + c3'): the outermost add joins the last consumer's adjoint.
  BOOST_TEST(graph.op(dx.id).name == "add");
  const NodeId inner = graph.inputs(dx.id)[0], outer = graph.inputs(dx.id)[1];
  BOOST_TEST(graph.op(inner).name == "add");
  const auto reads = [&](NodeId node, Value v) {
    for (NodeId in : graph.inputs(node))
      if (in == v.id || (graph.inputs(in).size() == 1 && graph.inputs(in)[0] == v.id) ||
          graph.op(in).name == v.graph->op(v.id).name)
        return true;
    return false;
  };
  BOOST_TEST(reads(outer, c3));                   // dy * exp(x)
  BOOST_TEST(reads(graph.inputs(inner)[0], c2));  // dy * cos(x)
  BOOST_TEST(value_of(dx, 0.7) == std::cos(0.7) - std::sin(0.7) + std::exp(0.7),
             boost::test_tools::tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(both_uses_by_one_consumer_count_the_first_input_innermost) {
  Graph graph;
  const Value x = input(graph, "x", f64_scalar);
  const Value y = div(x, x + 1.0);
  const Value d = div(x, x);
  BOOST_TEST(value_of(gradient(y, x), 2.0) == 1.0 / 9, boost::test_tools::tolerance(1e-14));
  const Value dd = gradient(d, x);
  BOOST_TEST(graph.op(graph.inputs(dd.id)[0]).name == "div");  // dy / b, for input 0
  BOOST_TEST(graph.op(graph.inputs(dd.id)[1]).name == "neg");  // -(dy y / b), for input 1
}

BOOST_AUTO_TEST_CASE(gradients_of_gradients_need_nothing_new) {
  Graph graph;
  const Value x = input(graph, "x", f64_scalar);
  Value y = exp(x * x);
  // y' = 2x y, y'' = (2 + 4x^2) y, y''' = (12x + 8x^3) y.
  const double at = 0.4, e = std::exp(at * at);
  for (double expected : {2 * at * e, (2 + 4 * at * at) * e, (12 * at + 8 * at * at * at) * e}) {
    y = gradient(y, x);
    BOOST_TEST(value_of(y, at) == expected, boost::test_tools::tolerance(1e-13));
  }
}

BOOST_AUTO_TEST_CASE(a_variable_may_lie_inside_the_graph) {
  Graph graph;
  const Value x = input(graph, "x", f64_scalar);
  const Value h = square(x);
  const Value y = sin(h) * x;
  const auto d = gradient(y, {x, h, y});
  const double at = 0.8;
  BOOST_TEST(value_of(d[0], at) == std::sin(at * at) + at * std::cos(at * at) * 2 * at,
             boost::test_tools::tolerance(1e-14));
  BOOST_TEST(value_of(d[1], at) == at * std::cos(at * at), boost::test_tools::tolerance(1e-14));
  BOOST_TEST(value_of(d[2], at) == 1);
}

BOOST_AUTO_TEST_CASE(a_stopped_value_counts_as_constant) {
  Graph graph;
  const Value x = input(graph, "x", f64_scalar);
  const Value y = x * stop_gradient(x);
  BOOST_TEST(value_of(gradient(y, x), 3.0) == 3.0);
}

BOOST_AUTO_TEST_CASE(a_derivative_that_is_zero_everywhere_is_a_value) {
  Graph graph;
  const Value x = input(graph, "x", f64_scalar);
  BOOST_TEST(value_of(gradient(sign(x), x), 3.0) == 0.0);
}

BOOST_AUTO_TEST_CASE(allow_unused_gives_zeros_of_the_variables_type) {
  Graph graph;
  const Value x = input(graph, "x", f64_scalar);
  const Value w = input(graph, "w", {DType::f32, {2, 3}});
  const auto d = gradient(square(x), {x, w}, {.allow_unused = true});
  BOOST_TEST(to_string(d[1].type()) == "f32[2,3]");
  const Tensor zeros = evaluate(graph, {}, {d[1].id}).front();
  for (float v : zeros.values<float>()) BOOST_TEST(v == 0.0f);
}

BOOST_AUTO_TEST_CASE(a_variable_made_after_the_value_is_unused) {
  Graph graph;
  const Value x = input(graph, "x", f64_scalar);
  const Value y = square(x);
  const Value late = exp(x);
  BOOST_TEST(value_of(gradient(y, late, {.allow_unused = true}), 1.0) == 0.0);
}

BOOST_AUTO_TEST_CASE(rules_are_asked_only_for_inputs_that_matter) {
  Graph graph;
  const Value x = input(graph, "x", f64_scalar);
  const Value w = input(graph, "w", f64_scalar);
  const Value y = x * exp(w);
  const std::size_t before = graph.size();
  gradient(y, x);
  BOOST_TEST(graph.size() == before + 2);  // the seed and one product
}

BOOST_AUTO_TEST_CASE(a_seed_weights_a_value_that_is_not_a_scalar) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {2}});
  const Value seed = constant(graph, Tensor::of<double>({2}, {10, 100}));
  const Value d = gradient(square(x), x, {.seed = seed});
  const auto values = evaluate(graph, {{"x", Tensor::of<double>({2}, {1, 2})}}, {d.id}).front();
  BOOST_TEST(values.at(0) == 20);
  BOOST_TEST(values.at(1) == 400);
}

BOOST_AUTO_TEST_CASE(several_values_are_differentiated_in_one_walk) {
  Graph graph;
  const Value x = input(graph, "x", f64_scalar);
  const Value h = sin(x);
  const std::vector<Value> ys{h, square(h)}, seeds{fill_like(x, 3), fill_like(x, 5)};
  const Value d = vector_jacobian_product(ys, seeds, {&x, 1}).front();
  BOOST_TEST(value_of(d, 0.3) == std::cos(0.3) * (3 + 10 * std::sin(0.3)),
             boost::test_tools::tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(a_gradient_crosses_casts_between_floating_types) {
  Graph graph;
  const Value x = input(graph, "x", f64_scalar);
  const Value d = gradient(square(cast(x, DType::f32)), x);
  BOOST_TEST((d.dtype() == DType::f64));
  BOOST_TEST(value_of(d, 1.5) == 3.0);
}

BOOST_AUTO_TEST_CASE(a_composition_is_differentiated_through_its_parts) {
  Graph graph;
  const Value x = input(graph, "x", f64_scalar);
  // Nested: quad_square(x) = 2 * twice_square(x) = 4 x^2.
  const Value inner = twice_square(sin(x));
  const Value outer = whorl::testing::quad_square(x);
  BOOST_TEST(value_of(gradient(inner, x), 0.3) == 4 * std::sin(0.3) * std::cos(0.3),
             boost::test_tools::tolerance(1e-14));
  const Value d = gradient(outer, x);
  BOOST_TEST(value_of(d, 0.3) == 8 * 0.3, boost::test_tools::tolerance(1e-14));
  BOOST_TEST(value_of(gradient(d, x), 0.3) == 8.0, boost::test_tools::tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(a_composition_may_be_its_input) {
  Graph graph;
  const Value x = input(graph, "x", f64_scalar);
  BOOST_TEST(value_of(gradient(square(whorl::testing::same(x)), x), 3.0) == 6.0);
}

BOOST_AUTO_TEST_CASE(a_chain_of_a_million_nodes_is_differentiated) {
  Graph graph;
  const Value x = input(graph, "x", f64_scalar);
  Value y = x;
  for (int i = 0; i < 1000000; ++i) y = neg(y);
  const Value d = gradient(y, x);
  BOOST_TEST(graph.size() == 2000002u);
  BOOST_TEST(value_of(d, 1.0) == 1.0);
}

BOOST_AUTO_TEST_CASE(one_node_with_a_hundred_thousand_consumers_is_differentiated) {
  Graph graph;
  const Value x = input(graph, "x", f64_scalar);
  Value y = x;
  for (int i = 0; i < 100000; ++i) y = y + x;
  BOOST_TEST(value_of(gradient(y, x), 1.0) == 100001.0);
}

BOOST_AUTO_TEST_SUITE_END()
