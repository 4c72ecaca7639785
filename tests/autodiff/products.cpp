// Jacobian and Hessian products against matrices written by hand.
#include "autodiff/products.hpp"

#include <boost/test/unit_test.hpp>

#include "engine/evaluate.hpp"
#include "engine/ops.hpp"
#include "tests/support/errors.hpp"

using namespace whorl;

namespace {

struct Fixture {
  Graph graph;
  Value x = input(graph, "x", {DType::f64, {3}});
  Value v = input(graph, "v", {DType::f64, {3}});
  Feeds feeds{{"x", Tensor::of<double>({3}, {1, 2, 3})},
              {"v", Tensor::of<double>({3}, {1, 10, 100})}};

  void check(Value value, std::vector<double> expected) {
    const Tensor found = evaluate(graph, feeds, {value.id}).front();
    const auto values = found.values<double>();
    BOOST_TEST(std::vector<double>(values.begin(), values.end()) == expected,
               boost::test_tools::per_element());
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(products, Fixture)

BOOST_AUTO_TEST_CASE(a_jacobian_times_a_vector_takes_two_backward_walks) {
  // y_i = x_i sum(x): J = s I + x 1', J v = 6 v + 111 x.
  check(jacobian_vector_product(x * sum(x), x, v), {6 + 111, 60 + 222, 600 + 333});
}

BOOST_AUTO_TEST_CASE(a_jacobian_product_adds_over_variables) {
  const std::vector<Value> xs{x, v}, directions{v, x};
  // d(x v) = v dx + x dv = v v + x x.
  check(jacobian_vector_product(x * v, xs, directions), {1 + 1, 100 + 4, 10000 + 9});
}

BOOST_AUTO_TEST_CASE(a_jacobian_that_is_zero_gives_zeros) {
  check(jacobian_vector_product(sign(x), x, v), {0, 0, 0});
}

BOOST_AUTO_TEST_CASE(a_hessian_times_a_vector) {
  // y = sum(x^2) sum(x): H = 2 s I + 2 x 1' + 2 1 x'; x'v = 321, 1'v = 111, s = 6.
  const Value y = sum(square(x)) * sum(x);
  check(hessian_vector_product(y, x, v),
        {12 * 1 + 2 * 111 + 642, 12 * 10 + 4 * 111 + 642, 12 * 100 + 6 * 111 + 642});
}

BOOST_AUTO_TEST_CASE(the_hessian_of_a_linear_function_is_zero) {
  check(hessian_vector_product(sum(x), x, v), {0, 0, 0});
}

BOOST_AUTO_TEST_CASE(a_direction_that_depends_on_the_variable_counts_as_constant) {
  // H = 2 I.
  check(hessian_vector_product(sum(square(x)), x, x), {2, 4, 6});
}

BOOST_AUTO_TEST_CASE(a_direction_must_have_the_variables_type) {
  const Value scalar = sum(v);
  BOOST_TEST(whorl::testing::error_text([&] { jacobian_vector_product(x, x, scalar); }) ==
             "[jacobian_vector_product] the direction of node 0 'x' (input) is f64[]; expected "
             "f64[3]");
}

BOOST_AUTO_TEST_SUITE_END()
