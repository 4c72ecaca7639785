// Frozen differences: what they say of right and of wrong gradients.
#include "autodiff/numeric.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "engine/ops.hpp"
#include "tests/autodiff/own_ops.hpp"
#include "tests/support/errors.hpp"

using namespace whorl;

namespace {

struct Fixture {
  Graph graph;
  Value x = input(graph, "x", {DType::f64, {2}});
  Feeds feeds{{"x", Tensor::of<double>({2}, {3, 0.5})}};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(numeric, Fixture)

BOOST_AUTO_TEST_CASE(differences_are_of_fourth_order) {
  const Value y = sum(exp(x));
  const auto error = [&](double h) {
    const Tensor d = numeric_gradient(graph, feeds, y.id, x.id, nullptr, {h});
    return std::abs(d.at(1) - std::exp(0.5));
  };
  BOOST_TEST(error(0.1) / error(0.05) == 16.0, boost::test_tools::tolerance(0.02));
  BOOST_TEST(error(5e-4) < 1e-11);
}

BOOST_AUTO_TEST_CASE(a_stopped_value_stays_at_the_base_point) {
  const Value y = sum(x * stop_gradient(x));
  const Tensor d = numeric_gradient(graph, feeds, y.id, x.id);
  BOOST_TEST(d.at(0) == 3.0, boost::test_tools::tolerance(1e-11));  // and not 6
  BOOST_TEST(check_gradient(graph, feeds, y.id, {x.id}).worst < 1e-10);
}

BOOST_AUTO_TEST_CASE(a_node_inside_the_graph_may_move) {
  const Value h = square(x);
  const Value y = sum(h * x);
  const Tensor d = numeric_gradient(graph, feeds, y.id, h.id);
  BOOST_TEST(d.at(0) == 3.0, boost::test_tools::tolerance(1e-10));  // x stays
}

BOOST_AUTO_TEST_CASE(a_slope_moves_all_variables_at_once) {
  const Value z = input(graph, "z", {DType::f64, {}});
  feeds.emplace("z", Tensor::scalar(2.0));
  const Value y = sum(square(x)) * z;
  const double slope = numeric_slope(graph, feeds, y.id, {x.id, z.id},
                                     {Tensor::of<double>({2}, {1, 1}), Tensor::scalar(10.0)});
  BOOST_TEST(slope == 2 * (6 + 1) + 10 * 9.25, boost::test_tools::tolerance(1e-11));
}

BOOST_AUTO_TEST_CASE(a_wrong_rule_is_found) {
  const Value y = sum(whorl::testing::doubled_rule(x));
  const GradientCheck found = check_gradient(graph, feeds, y.id, {x.id});
  BOOST_TEST(found.worst == 0.5, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(found.x == x.id);
  BOOST_TEST(found.symbolic.at(0) == 2 * found.numeric.at(0), boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(a_check_leaves_the_graph_as_it_was) {
  const Value y = sin(x);
  const std::size_t before = graph.size();
  BOOST_TEST(check_gradient(graph, feeds, y.id, {x.id}).worst < 1e-10);
  BOOST_TEST(graph.size() == before);
}

BOOST_AUTO_TEST_CASE(a_gradient_that_is_not_a_number_is_as_wrong_as_can_be) {
  const Value y = sum(x * log(x - x));
  BOOST_TEST(std::isinf(check_gradient(graph, feeds, y.id, {x.id}).worst));
}

BOOST_AUTO_TEST_CASE(single_precision_on_the_way_is_refused_and_named) {
  const Value y = sum(cast(cast(x, DType::f32), DType::f64));
  BOOST_TEST(whorl::testing::error_text([&] { numeric_gradient(graph, feeds, y.id, x.id); }) ==
             "[numeric] node 1 (cast) is f32; differences need f64 from end to end");
}

BOOST_AUTO_TEST_CASE(a_value_that_is_not_a_scalar_needs_a_seed) {
  BOOST_TEST(whorl::testing::error_text([&] { numeric_gradient(graph, feeds, x.id, x.id); }) ==
             "[numeric] node 0 'x' (input) is f64[2], not a scalar; give a seed");
}

BOOST_AUTO_TEST_SUITE_END()
