// Derivatives by coordinates, and the structures that they refuse.
#include "autodiff/coordinate.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "engine/evaluate.hpp"
#include "engine/ops.hpp"
#include "tests/autodiff/own_ops.hpp"
#include "tests/support/errors.hpp"

using namespace whorl;
using whorl::testing::error_text;

namespace {

struct Fixture {
  Graph graph;
  Value p = input(graph, "p", {DType::f64, {2, 2}});
  Value w = input(graph, "w", {DType::f64, {}});
  const std::vector<double> at{0.1, -0.4, 0.9, 1.3};

  Tensor value(Value v) {
    return evaluate(graph, {{"p", Tensor::of<double>({2, 2}, at)}, {"w", Tensor::scalar(0.5)}},
                    {v.id})
        .front();
  }
  std::string refused(Value f, Value x) {
    return error_text([&] { coordinate_derivative(f, x); });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(coordinate, Fixture)

BOOST_AUTO_TEST_CASE(elementwise_functions_have_a_diagonal_jacobian) {
  const Tensor d = value(coordinate_derivative(sin(p) * p + exp(w), p));
  for (std::size_t i = 0; i < at.size(); ++i)
    BOOST_TEST(d.at(static_cast<std::int64_t>(i)) == std::cos(at[i]) * at[i] + std::sin(at[i]),
               boost::test_tools::tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(a_reshape_on_the_way_keeps_coordinates_apart) {
  const Value f = reshape(square(reshape(p, Shape{4})), Shape{2, 2});
  const Tensor d = value(coordinate_derivative(f, p));
  for (std::size_t i = 0; i < at.size(); ++i)
    BOOST_TEST(d.at(static_cast<std::int64_t>(i)) == 2 * at[i]);
}

BOOST_AUTO_TEST_CASE(a_composition_is_judged_by_its_parts) {
  const Tensor d = value(coordinate_derivative(whorl::testing::twice_square(p), p));
  BOOST_TEST(d.at(3) == 4 * at[3]);
  BOOST_TEST(refused(whorl::testing::norm_sum(p), p).find("(test_norm_sum) mixes coordinates") !=
             std::string::npos);
}

// The derivative of a coordinate_net's value is what the net itself gives beside the value.
BOOST_AUTO_TEST_CASE(a_slice_of_a_coordinate_net_is_a_function_of_coordinates) {
  const std::int64_t count = coordinate_net_weights(2, {3});
  Tensor numbers({DType::f64, {count}});
  for (std::int64_t i = 0; i < count; ++i)
    numbers.data<double>()[i] = std::sin(static_cast<double>(3 * i + 1));
  const Value weights = constant(graph, numbers);
  const CoordinateNet shape{{3}, "tanh", {0}};
  const Value net = coordinate_net({p, cos(p) * w}, weights, shape);
  const Value f = reshape(slice(net, 0, 0, 1), p.shape());
  const Value by_first = reshape(slice(net, 0, 1, 2), p.shape());
  const Value stopped = stop_gradient(cos(p) * w);
  const Value g = reshape(slice(coordinate_net({p, stopped}, weights, shape), 0, 0, 1), p.shape());
  BOOST_TEST(refused(g, p).find("(stop_gradient) lies between") != std::string::npos);

  // With a second input that does not depend on p, d f / d p is the net's own derivative.
  const Value c = broadcast(w, p.shape());
  const Value alone = coordinate_net({p, c}, weights, shape);
  const Tensor found = value(coordinate_derivative(reshape(slice(alone, 0, 0, 1), p.shape()), p));
  const Tensor expected = value(reshape(slice(alone, 0, 1, 2), p.shape()));
  for (std::int64_t i = 0; i < 4; ++i)
    BOOST_TEST(found.at(i) == expected.at(i), boost::test_tools::tolerance(1e-13));
  BOOST_TEST(refused(f, p) == "");
  BOOST_TEST(refused(by_first, p) == "");
}

BOOST_AUTO_TEST_CASE(weights_that_depend_on_the_variable_mix_coordinates) {
  const std::int64_t count = coordinate_net_weights(1, {1});  // 4, as many as p has coordinates
  BOOST_REQUIRE(count == 4);
  const Value flat = reshape(p, Shape{4});
  const Value net = coordinate_net({broadcast(w, Shape{4})}, flat, {{1}, "tanh", {}});
  BOOST_TEST(refused(reshape(net, p.shape()), p).find("(coordinate_net) mixes coordinates") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_node_that_mixes_coordinates_is_named) {
  const Value total = sum(p);
  graph.set_name(total.id, "total");
  BOOST_TEST(refused(p * total, p) ==
             "[coordinate_derivative] node 2 'total' (sum) mixes coordinates on the way from node "
             "0 'p' (input) to node 4 (mul); every step must act coordinate by coordinate");
}

BOOST_AUTO_TEST_CASE(a_mixing_node_beside_the_path_does_not_matter) {
  const Value total = sum(p);
  BOOST_TEST(refused(square(p), p) == "");
  BOOST_TEST(refused(p * stop_gradient(broadcast(w, p.shape())), p) == "");
  BOOST_TEST(total.id == 2u);
}

BOOST_AUTO_TEST_CASE(a_stop_gradient_on_any_path_is_refused_and_named) {
  const Value stopped = stop_gradient(p);
  const std::string expected =
      "[coordinate_derivative] node 2 (stop_gradient) lies between node 0 'p' (input) and node 3 "
      "(mul): the derivative would silently be zero; differentiate with respect to the stopped "
      "value instead";
  BOOST_TEST(refused(p * stopped, p) == expected);
}

BOOST_AUTO_TEST_CASE(a_stopped_value_may_be_the_variable) {
  const Value stopped = stop_gradient(p);
  const Tensor d = value(coordinate_derivative(square(stopped), stopped));
  BOOST_TEST(d.at(2) == 2 * at[2]);
}

BOOST_AUTO_TEST_CASE(types_must_agree) {
  BOOST_TEST(
      refused(w, p) ==
      "[coordinate_derivative] f and x must have one floating-point type: node 1 'w' (input) "
      "is f64[] and node 0 'p' (input) is f64[2,2]");
}

BOOST_AUTO_TEST_CASE(a_function_of_something_else_is_an_error_or_zero) {
  const Value f = broadcast(w, p.shape());
  BOOST_TEST(refused(f, p).find("does not depend on node 0 'p'") != std::string::npos);
  BOOST_TEST(value(coordinate_derivative(f, p, true)).at(1) == 0.0);
}

BOOST_AUTO_TEST_SUITE_END()
