// Requests that have no answer: each is refused with a sentence that names the node.
#include <boost/test/unit_test.hpp>

#include "autodiff/tape.hpp"
#include "engine/ops.hpp"
#include "tests/autodiff/own_ops.hpp"
#include "tests/support/errors.hpp"

using namespace whorl;
using whorl::testing::error_text;

namespace {

struct Fixture {
  Graph graph;
  Value x = input(graph, "x", {DType::f32, {3}});
  Value n = input(graph, "n", {DType::i32, {3}});
  Value w = input(graph, "w", {DType::f32, {}});

  // The message, after a check that the failed request left the graph as it was.
  std::string refused(Value y, Value wrt, const GradientOptions& options = {}) {
    const std::size_t before = graph.size();
    const std::string text = error_text([&] { gradient(y, wrt, options); });
    BOOST_TEST(graph.size() == before);
    return text;
  }
  Value named(Value v, std::string_view name) {
    graph.set_name(v.id, name);
    return v;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(gradient_errors, Fixture)

BOOST_AUTO_TEST_CASE(a_value_that_is_not_a_scalar_needs_a_seed) {
  BOOST_TEST(refused(named(square(x), "y"), x) ==
             "[gradient] of node 3 'y' (square) is f32[3], not a scalar; give a seed");
}

BOOST_AUTO_TEST_CASE(a_seed_must_have_the_values_type) {
  BOOST_TEST(refused(square(x), x, {.seed = w}) ==
             "[gradient] the seed of node 3 (square) is f32[]; expected f32[3]");
}

BOOST_AUTO_TEST_CASE(integers_and_bools_have_no_gradient) {
  BOOST_TEST(refused(sum(n), x) ==
             "[gradient] of node 3 (sum) is i32[]; only f32 and f64 have gradients");
  BOOST_TEST(refused(less(w, w), w) ==
             "[gradient] of node 4 (less) is bool[]; only f32 and f64 have gradients");
  BOOST_TEST(refused(w, n) ==
             "[gradient] with respect to node 1 'n' (input) is i32[3]; only f32 and f64 have "
             "gradients");
}

BOOST_AUTO_TEST_CASE(a_variable_that_the_value_does_not_depend_on_is_named) {
  BOOST_TEST(refused(sum(x), w) ==
             "[gradient] node 3 (sum) does not depend on node 2 'w' (input); set allow_unused to "
             "get zeros");
}

BOOST_AUTO_TEST_CASE(the_stop_gradient_that_cuts_every_path_is_named) {
  const Value cut = named(stop_gradient(x), "cut");
  BOOST_TEST(refused(sum(cut * cut), x) ==
             "[gradient] every path from node 0 'x' (input) to node 5 (sum) is cut: by node 3 "
             "'cut' (stop_gradient), which stops the gradient; set allow_unused to get zeros");
}

BOOST_AUTO_TEST_CASE(the_comparison_or_cast_that_cuts_every_path_is_named) {
  const Value low = less(x, fill_like(x, 0));
  BOOST_TEST(refused(sum(cast(low, DType::f32)), x) ==
             "[gradient] every path from node 0 'x' (input) to node 6 (sum) is cut: by node 4 "
             "(less), whose result is bool; set allow_unused to get zeros");
  const Value whole = cast(w, DType::i32);
  BOOST_TEST(refused(cast(whole, DType::f32), w) ==
             "[gradient] every path from node 2 'w' (input) to node 8 (cast) is cut: by node 7 "
             "(cast), whose result is i32; set allow_unused to get zeros");
}

BOOST_AUTO_TEST_CASE(a_stop_gradient_is_named_rather_than_a_comparison_beside_it) {
  const Value low = cast(less(w, fill_like(w, 0)), DType::f32);
  const Value y = low + stop_gradient(w);
  BOOST_TEST(refused(y, w).find("(stop_gradient)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(one_open_path_is_enough) {
  const Value y = w * stop_gradient(w) + cast(less(w, w), DType::f32);
  BOOST_TEST(error_text([&] { gradient(y, w); }) == "");
}

BOOST_AUTO_TEST_CASE(an_op_without_a_gradient_on_a_needed_path_is_named_with_its_reason) {
  const Value m = named(whorl::testing::untaught(w), "m");
  BOOST_TEST(refused(m * w, w) ==
             "[gradient] node 3 'm' (test_untaught) has no gradient: nobody taught it; put "
             "stop_gradient before it if it is meant to be constant");
}

BOOST_AUTO_TEST_CASE(an_op_without_a_gradient_under_stop_gradient_is_a_constant) {
  const Value y = whorl::testing::untaught(stop_gradient(w)) * w;
  BOOST_TEST(error_text([&] { gradient(y, w); }) == "");
}

BOOST_AUTO_TEST_CASE(an_op_without_a_gradient_beside_the_path_does_not_matter) {
  const Value other = whorl::testing::untaught(w);
  BOOST_TEST(error_text([&] { gradient(square(w), w); }) == "");
  BOOST_TEST(error_text([&] { gradient(square(w) + other, other); }) == "");
}

BOOST_AUTO_TEST_CASE(a_rule_that_gives_another_type_is_named) {
  const Value y = whorl::testing::wrong_rule(x);
  const std::string text = error_text([&] { gradient(sum(y), x); });
  BOOST_TEST(text ==
             "[gradient] the rule of node 3 (test_wrong_rule) gives f32[] for input 0; expected "
             "f32[3]");
}

BOOST_AUTO_TEST_CASE(values_of_two_graphs_do_not_mix) {
  Graph other;
  const Value stranger = input(other, "x", {DType::f32, {}});
  BOOST_TEST(refused(w, stranger) == "[gradient] the values belong to different graphs");
  BOOST_TEST(refused(w, Value{}) == "[gradient] a value is empty");
}

BOOST_AUTO_TEST_SUITE_END()
