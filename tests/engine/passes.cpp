// Golden pairs, text in and text out, for every pass but algebra, and the door that runs them.
#include "engine/passes.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "engine/evaluate.hpp"
#include "engine/ops.hpp"

using namespace whorl;

namespace {

const Type matrix{DType::f32, {2, 3}};

template <class... Parts>
std::string lines(Parts... parts) {
  std::string text;
  ((text += parts, text += '\n'), ...);
  return text;
}

constexpr auto x_line = "%0 = input() {dtype=f32, shape=[2,3], role=\"data\"} : f32[2,3]  # x";
constexpr auto y_line = "%1 = input() {dtype=f32, shape=[2,3], role=\"data\"} : f32[2,3]  # y";

// Compositions of the one before: twice(x) = x + x, and an op that is composed of itself.
struct Composed {
  static constexpr std::array<std::string_view, 1> inputs{"x"};
  static constexpr DTypeSet dtypes = floats;
  static Type infer(const Site& site) { return site.in[0]; }
  static std::vector<Sample> samples() { return {}; }
};
struct Twice : Composed {
  static Value compose(const Composition& c) { return c.x() + c.x(); }
};
constinit const OpDef twice_op = define<Twice>("twice");
struct FourTimes : Composed {
  static Value compose(const Composition& c) { return call(twice_op, {call(twice_op, {c.x()})}); }
};
constinit const OpDef four_times_op = define<FourTimes>("four_times");
struct Endless : Composed {
  static Value compose(const Composition& c);
};
constinit const OpDef endless_op = define<Endless>("endless");
Value Endless::compose(const Composition& c) { return call(endless_op, {c.x()}); }

auto says(ErrorKind kind, std::string text) {
  return [=](const Error& error) {
    BOOST_TEST(error.what() == text);
    return error.kind() == kind;
  };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(passes)

BOOST_AUTO_TEST_CASE(lower_replaces_nested_compositions_and_keeps_names) {
  Graph graph;
  const Value x = input(graph, "x", matrix);
  const Value y = call(four_times_op, {x});
  graph.set_name(y.id, "net/y");
  graph.add_output("out", (-y).id);
  graph.metadata()["title"] = "four";
  const Graph lowered = lower(graph);
  BOOST_TEST(to_text(lowered) == lines(x_line, "%1 = add(%0, %0) : f32[2,3]",
                                       "%2 = add(%1, %1) : f32[2,3]  # net/y",
                                       "%3 = neg(%2) : f32[2,3]", "output out = %3"));
  BOOST_TEST(lowered.metadata().at("title") == "four");
}

BOOST_AUTO_TEST_CASE(lower_gives_up_on_an_op_that_is_composed_of_itself) {
  Graph graph;
  graph.add_output("out", call(endless_op, {input(graph, "x", matrix)}).id);
  BOOST_CHECK_EXCEPTION(lower(graph), Error,
                        says(ErrorKind::graph,
                             "[lower] node 1 (endless) is composed of itself, or of parts nested "
                             "deeper than 16"));
}

BOOST_AUTO_TEST_CASE(remove_dead_keeps_what_outputs_need_and_all_inputs) {
  Graph graph;
  const Value x = input(graph, "x", matrix);
  const Value dead = exp(x);
  const Value y = input(graph, "y", matrix);
  graph.add_output("out", neg(x).id);
  sqrt(dead + y);
  BOOST_TEST(to_text(remove_dead(graph)) ==
             lines(x_line, y_line, "%2 = neg(%0) : f32[2,3]", "output out = %2"));
}

BOOST_AUTO_TEST_CASE(merge_common_makes_equal_nodes_one) {
  Graph graph;
  const Value x = input(graph, "x", matrix);
  const Value y = input(graph, "y", matrix);
  const Value a = x + y;
  const Value b = y + x;  // commutes
  const Value c = clamp(a, 0, 1), d = clamp(b, 0, 1), e = clamp(b, 0, 2);
  graph.set_name(d.id, "d");
  graph.add_output("same", (c - d).id);
  graph.add_output("other", (d - e).id);
  BOOST_TEST(to_text(merge_common(graph)) ==
             lines(x_line, y_line, "%2 = add(%0, %1) : f32[2,3]",
                   "%3 = clamp(%2) {low=0, high=1} : f32[2,3]  # d",
                   "%4 = clamp(%2) {low=0, high=2} : f32[2,3]", "%5 = sub(%3, %3) : f32[2,3]",
                   "%6 = sub(%3, %4) : f32[2,3]", "output same = %5", "output other = %6"));
}

BOOST_AUTO_TEST_CASE(merge_common_tells_apart_what_differs) {
  Graph graph;
  const Value x = input(graph, "x", matrix), y = input(graph, "y", matrix);
  graph.add_output("a", (x - y).id);
  graph.add_output("b", (y - x).id);
  graph.add_output("c", fill(graph, matrix, 0.0).id);
  graph.add_output("d", fill(graph, matrix, -0.0).id);
  graph.add_output("e", fill(graph, {DType::f64, {2, 3}}, 0.0).id);
  graph.add_output("f", constant(graph, Tensor::of<float>({2}, {1, 2})).id);
  graph.add_output("g", constant(graph, Tensor::of<float>({2}, {1, 3})).id);
  BOOST_TEST(to_text(merge_common(graph)) == to_text(graph));
}

BOOST_AUTO_TEST_CASE(merge_common_makes_equal_constants_one) {
  Graph graph;
  const Value a = constant(graph, Tensor::of<float>({2}, {1, 2}));
  const Value b = constant(graph, Tensor::of<float>({2}, {1, 2}));
  graph.add_output("a", a.id);
  graph.add_output("b", b.id);
  BOOST_TEST(merge_common(graph).size() == 1u);
}

BOOST_AUTO_TEST_CASE(fold_constants_computes_what_is_known) {
  Graph graph;
  const Value x = input(graph, "x", matrix);
  const Value c = constant(graph, Tensor::of<float>({3}, {1, 2, 3}));
  const Value total = sum(c * c);  // 14
  graph.set_name(total.id, "total");
  graph.add_output("out", (x * broadcast(total, {2, 3})).id);
  graph.add_output("squares", (c * c).id);
  BOOST_TEST(to_text(remove_dead(fold_constants(graph))) ==
             lines(x_line, "%1 = fill() {dtype=f32, shape=[], value=14} : f32[]  # total",
                   "%2 = broadcast(%1) {shape=[2,3], axes=[]} : f32[2,3]",
                   "%3 = mul(%0, %2) : f32[2,3]",
                   "%4 = constant() {value=f32[3]{1,4,9}, allow_nonfinite=true} : f32[3]",
                   "output out = %3", "output squares = %4"));
}

BOOST_AUTO_TEST_CASE(fold_constants_keeps_generators_however_big) {
  Graph graph;
  const Type huge{DType::f32, {1 << 20, 1 << 10}};
  const Value big = exp(fill(graph, huge, 0)) + fill(graph, huge, 1);
  graph.add_output("fill", big.id);
  graph.add_output("iota", iota(graph, {DType::i32, {1 << 20}}, 0).id);
  const Value c = constant(graph, Tensor::of<float>({2}, {1, 2}));
  graph.add_output("repeated", broadcast(c, {1 << 20, 2}).id);
  graph.add_output("too_big", exp(broadcast(c, {1 << 20, 2})).id);
  BOOST_TEST(to_text(remove_dead(fold_constants(graph))) ==
             lines("%0 = fill() {dtype=f32, shape=[1048576,1024], value=2} : f32[1048576,1024]",
                   "%1 = iota() {dtype=i32, shape=[1048576], axis=0} : i32[1048576]",
                   "%2 = constant() {value=f32[2]{1,2}, allow_nonfinite=true} : f32[2]",
                   "%3 = broadcast(%2) {shape=[1048576,2], axes=[1]} : f32[1048576,2]",
                   "%4 = broadcast(%2) {shape=[1048576,2], axes=[1]} : f32[1048576,2]",
                   "%5 = exp(%4) : f32[1048576,2]", "output fill = %0", "output iota = %1",
                   "output repeated = %3", "output too_big = %5"));
}

BOOST_AUTO_TEST_CASE(fold_constants_sums_up_a_constant_that_is_too_big_to_copy) {
  Graph graph;
  Tensor big({DType::f32, {1 << 19}});
  big.data<float>()[7] = 3;
  graph.add_output("sum", sum(constant(graph, big)).id);
  BOOST_TEST(to_text(remove_dead(fold_constants(graph))) ==
             lines("%0 = fill() {dtype=f32, shape=[], value=3} : f32[]", "output sum = %0"));
}

BOOST_AUTO_TEST_CASE(fold_constants_keeps_signs_of_zero_integers_at_the_edge_and_small_iotas) {
  Graph graph;
  const Value zero = -fill(graph, matrix, 0.0);
  const Value low =
      fill(graph, {DType::i32, {2}}, -2147483647.0) - fill(graph, {DType::i32, {2}}, 1);
  graph.add_output("zero", zero.id);
  graph.add_output("low", low.id);
  graph.add_output("count", (-iota(graph, {DType::i32, {3}}, 0)).id);
  const Graph folded = fold_constants(graph);
  const auto before = evaluate(graph, {}), after = evaluate(folded, {});
  for (const auto& [name, value] : before) BOOST_TEST(value.same_bits(after.at(name)), name);
  BOOST_TEST(after.at("low").at(0) == -2147483648.0);
  BOOST_TEST(std::signbit(after.at("zero").at(0)));
  BOOST_TEST(folded.op(folded.outputs()[2].node).name == "constant");
}

BOOST_AUTO_TEST_CASE(fold_constants_leaves_a_node_that_fails_to_the_run) {
  Graph graph;
  const Value bad = fill(graph, matrix, std::numeric_limits<double>::infinity());
  graph.add_output("out", assert_finite(bad).id);
  BOOST_TEST(to_text(fold_constants(graph)) == to_text(graph));
}

BOOST_AUTO_TEST_CASE(simplify_runs_all_passes_and_reports_each) {
  Graph graph;
  const Value x = input(graph, "x", matrix);
  const Value one = constant(graph, Tensor::scalar(1.0f));
  const Value a = exp(x * broadcast(one, {2, 3})), b = exp(stop_gradient(x));
  graph.add_output("out", (a * b).id);
  std::vector<PassReport> report;
  BOOST_TEST(to_text(simplify(graph, {}, &report)) == lines(x_line, "%1 = exp(%0) : f32[2,3]",
                                                            "%2 = square(%1) : f32[2,3]",
                                                            "output out = %2"));
  BOOST_REQUIRE(report.size() == standard_passes().size());
  BOOST_TEST(report.front().name == "lower");
  BOOST_TEST(report.front().nodes_before == graph.size());
  BOOST_TEST(report.back().name == "dead");
  BOOST_TEST(report.back().nodes_after == 3u);
}

BOOST_AUTO_TEST_CASE(simplify_skips_passes_by_name) {
  Graph graph;
  const Value x = input(graph, "x", matrix);
  const Value a = exp(x), b = exp(x);
  graph.add_output("out", (a * b).id);
  BOOST_TEST(to_text(simplify(graph, {"common"})) ==
             lines(x_line, "%1 = exp(%0) : f32[2,3]", "%2 = exp(%0) : f32[2,3]",
                   "%3 = mul(%1, %2) : f32[2,3]", "output out = %3"));
  BOOST_TEST(to_text(simplify(graph, {"common", "dead", "algebra", "constant"})) == to_text(graph));
}

BOOST_AUTO_TEST_CASE(simplify_refuses_unknown_passes_and_to_skip_lower) {
  BOOST_CHECK_EXCEPTION(
      simplify(Graph{}, {"comon"}), Error,
      says(ErrorKind::usage, "[simplify] unknown pass 'comon', did you mean 'common'?"));
  BOOST_CHECK_EXCEPTION(
      simplify(Graph{}, {"lower"}), Error,
      says(ErrorKind::usage, "[simplify] pass 'lower' cannot be skipped: compositions do not run"));
}

BOOST_AUTO_TEST_CASE(simplify_of_a_simplified_graph_changes_nothing) {
  Graph graph;
  const Value x = input(graph, "x", matrix);
  const Value s = input(graph, "s", {DType::f32, {}});
  const Value scaled = x * (broadcast(s, {2, 3}) * 2.0);
  graph.add_output("out", sum(exp(scaled) + scaled / 4.0).id);
  const Graph once = simplify(graph);
  BOOST_TEST(to_text(simplify(once)) == to_text(once));
}

BOOST_AUTO_TEST_CASE(a_chain_of_a_hundred_thousand_nodes_goes_through_all_passes) {
  Graph graph;
  Value x = input(graph, "x", {DType::f32, {}});
  const Value y = x;
  for (int i = 0; i < 50000; ++i) x = x * y + y;
  graph.add_output("out", x.id);
  BOOST_TEST(simplify(graph).size() == graph.size());
}

BOOST_AUTO_TEST_SUITE_END()
