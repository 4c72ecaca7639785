// The pass `nets`: golden pairs, the same numbers as before, and gradients of what it makes.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "autodiff/coordinate.hpp"
#include "autodiff/tape.hpp"
#include "engine/evaluate.hpp"
#include "engine/ops.hpp"
#include "engine/passes.hpp"

using namespace whorl;

namespace {

constexpr std::int64_t n = 6, chains = 3;

std::size_t count(const Graph& graph, std::string_view op) {
  std::size_t found = 0;
  for (NodeId id = 0; id < graph.size(); ++id) found += graph.op(id).name == op;
  return found;
}

Tensor waves(const Type& type, int seed) {
  Tensor tensor(type);
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    tensor.data<double>()[i] = std::sin(static_cast<double>(3 * i + seed));
  return tensor;
}
Feeds feeds_for(const Graph& graph) {
  Feeds feeds;
  for (NodeId id : graph.input_nodes())
    feeds.emplace(graph.name(id), waves(graph.type(id), static_cast<int>(id) + 1));
  return feeds;
}
void check_same_numbers(const Graph& before, const Graph& after) {
  const auto old_values = evaluate(before, feeds_for(before));
  const auto new_values = evaluate(after, feeds_for(before));
  BOOST_REQUIRE(old_values.size() == new_values.size());
  for (const auto& [name, value] : old_values) {
    const Tensor& other = new_values.at(name);
    BOOST_REQUIRE(value.type() == other.type());
    for (std::int64_t i = 0; i < value.elements(); ++i)
      BOOST_TEST(value.at(i) == other.at(i), boost::test_tools::tolerance(1e-12));
  }
}

// One chain with a clamped network Q(u, p), its derivatives by autodiff, and an update of both.
struct Chain {
  Graph graph;
  Value u = input(graph, "u", {DType::f64, {}});
  Value p = input(graph, "p", {DType::f64, {n}});
  Value w = input(graph, "w", {DType::f64, {coordinate_net_weights(2, {4})}});
  Value wide_u, q;

  explicit Chain(const std::string& activation) {
    wide_u = stop_gradient(broadcast(u, p.shape()));
    const Value stopped = stop_gradient(p);
    const Value net = coordinate_net({0.5 * wide_u + 0.1, stopped}, w, {{4}, activation, {}});
    q = clamp(reshape(slice(net, 0, 0, 1), p.shape()), -1.2, 1.2);
    const Value by_u = coordinate_derivative(q, wide_u), by_p = coordinate_derivative(q, stopped);
    graph.add_output("next", (p + q * by_p - square(by_u)).id);
  }
};

Value loss(Graph& graph) { return sum(square(graph.value(graph.outputs()[0].node))); }

}  // namespace

BOOST_AUTO_TEST_SUITE(nets)

BOOST_AUTO_TEST_CASE(nets_that_differ_in_wrt_become_one) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {2}});
  const Value y = input(graph, "y", {DType::f32, {2}});
  const Value w = input(graph, "w", {DType::f32, {13}});
  const auto part = [&](const std::vector<std::int64_t>& wrt, const char* activation) {
    const auto last = static_cast<std::int64_t>(wrt.size());
    const Value net = coordinate_net({exp(x), y}, w, {{3}, activation, wrt});
    return reshape(slice(net, 0, last, last + 1), x.shape());
  };
  graph.add_output("by_y", part({1}, "relu").id);
  graph.add_output("by_x", part({0}, "relu").id);
  graph.add_output("value", part({}, "relu").id);
  graph.add_output("other", part({0}, "tanh").id);
  BOOST_TEST(to_text(merge_nets(graph)) ==
             R"(%0 = input() {dtype=f32, shape=[2], role="data"} : f32[2]  # x
%1 = input() {dtype=f32, shape=[2], role="data"} : f32[2]  # y
%2 = input() {dtype=f32, shape=[13], role="data"} : f32[13]  # w
%3 = exp(%0) : f32[2]
%4 = coordinate_net(%2, %3, %1) {hidden=[3], activation="relu", wrt=[0,1], axis=0} : f32[3,2]
%5 = slice(%4) {axis=0, begin=0, end=1, step=1} : f32[1,2]
%6 = slice(%4) {axis=0, begin=1, end=2, step=1} : f32[1,2]
%7 = slice(%4) {axis=0, begin=2, end=3, step=1} : f32[1,2]
%8 = reshape(%7) {shape=[2]} : f32[2]
%9 = reshape(%6) {shape=[2]} : f32[2]
%10 = reshape(%5) {shape=[2]} : f32[2]
%11 = coordinate_net(%2, %3, %1) {hidden=[3], activation="tanh", wrt=[0], axis=0} : f32[2,2]
%12 = slice(%11) {axis=0, begin=1, end=2, step=1} : f32[1,2]
%13 = reshape(%12) {shape=[2]} : f32[2]
output by_y = %8
output by_x = %9
output value = %10
output other = %13
)");
}

BOOST_AUTO_TEST_CASE(parts_of_a_batched_net_get_the_leading_axis) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {3, 2}});
  const Value w = input(graph, "w", {DType::f32, {10}});
  const OpDef& op = *find_op("coordinate_net");
  const Value net = call(op, {w, x},
                         make_attributes(op.name, op.attrs(),
                                         {{"hidden", std::vector<std::int64_t>{3}},
                                          {"wrt", std::vector<std::int64_t>{0}},
                                          {"axis", std::int64_t{1}}}));
  graph.set_name(net.id, "net");
  graph.add_output("by_x", slice(net, -2, 1, 2).id);
  BOOST_TEST(to_text(merge_nets(graph)) ==
             R"(%0 = input() {dtype=f32, shape=[3,2], role="data"} : f32[3,2]  # x
%1 = input() {dtype=f32, shape=[10], role="data"} : f32[10]  # w
%2 = coordinate_net(%1, %0) {hidden=[3], activation="relu", wrt=[0], axis=0} : f32[2,3,2]  # net
%3 = slice(%2) {axis=0, begin=1, end=2, step=1} : f32[1,3,2]
%4 = reshape(%3) {shape=[3,1,2]} : f32[3,1,2]
output by_x = %4
)");
  graph.add_output("all", net.id);
  BOOST_TEST(to_text(merge_nets(graph)) == to_text(graph));
}

BOOST_AUTO_TEST_CASE(a_net_that_is_read_as_a_whole_stays_what_it_was) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {n}}), y = input(graph, "y", {DType::f64, {n}});
  const Value w = input(graph, "w", {DType::f64, {13}});
  int made = 0;
  for (const std::vector<std::int64_t>& wrt :
       {std::vector<std::int64_t>{1, 0}, {1}, {}, {0, 1}, {0}}) {
    const Value net = coordinate_net({x, y}, w, {{3}, "softplus", wrt});
    graph.add_output(fmt::format("all_{}", made), net.id);
    graph.add_output(fmt::format("value_{}", made++), exp(slice(net, 0, 0, 1)).id);
  }
  const Graph merged = merge_nets(graph);
  BOOST_TEST(count(merged, "coordinate_net") == 1u);
  check_same_numbers(graph, merged);
}

BOOST_AUTO_TEST_CASE(derived_networks_of_a_chain_are_one_net_on_a_narrow_energy) {
  for (const char* activation : {"relu", "tanh", "softplus"}) {
    const Chain chain(activation);
    const Graph merged = merge_nets(chain.graph);
    BOOST_TEST(count(merged, "coordinate_net") == 1u);
    BOOST_TEST(count(merged, "stop_gradient") == count(chain.graph, "stop_gradient"));
    check_same_numbers(chain.graph, merged);
    const Graph batched = batch(chain.graph, {"u", "p"}, chains);
    for (const Graph& many :
         {merge_nets(batched), batch(merged, {"u", "p"}, chains), simplify(batched)}) {
      BOOST_TEST(count(many, "coordinate_net") == 1u);
      check_same_numbers(batched, many);
      for (NodeId id = 0; id < many.size(); ++id)
        if (many.op(id).name == "coordinate_net")
          BOOST_TEST((many.type(many.inputs(id)[1]).shape == Shape{chains, 1}));
    }
    const Graph front = merge_nets(batched);
    for (NodeId id = 0; id < front.size(); ++id)
      if (front.op(id).name == "coordinate_net")
        BOOST_TEST((front.type(id).shape == Shape{3, chains, n}));
  }
}

BOOST_AUTO_TEST_CASE(the_gradient_by_the_weights_of_a_merged_net_is_one_op) {
  for (const char* activation : {"relu", "tanh"}) {
    const Graph batched = batch(Chain(activation).graph, {"u", "p"}, chains);
    Graph plain = batched, merged = merge_nets(batched);
    for (Graph* graph : {&plain, &merged}) {
      const Value total = loss(*graph);
      graph->add_output("by_w", gradient(total, graph->value(*graph->find("w"))).id);
    }
    BOOST_TEST(count(plain, "coordinate_net_weights_gradient") == 3u);
    BOOST_TEST(count(merged, "coordinate_net_weights_gradient") == 1u);
    check_same_numbers(plain, merged);
    // The adjoints of the parts meet as neighbours: nothing is padded with zeros.
    const Graph simple = simplify(merged);
    BOOST_TEST(count(simple, "pad") == 0u);
    check_same_numbers(plain, simple);
  }
}

BOOST_AUTO_TEST_CASE(a_narrow_input_keeps_its_gradient) {
  Graph graph;
  const Value u = input(graph, "u", {DType::f64, {}});
  const Value p = input(graph, "p", {DType::f64, {n}});
  const Value w = input(graph, "w", {DType::f64, {coordinate_net_weights(2, {4})}});
  const Value net = coordinate_net({broadcast(square(u), p.shape()), p}, w, {{4}, "tanh", {}});
  graph.add_output("net", exp(net).id);
  Graph merged = merge_nets(graph);
  BOOST_TEST(count(merged, "broadcast") == 0u);
  for (Graph* g : {&graph, &merged})
    g->add_output("by_u", gradient(loss(*g), g->value(*g->find("u"))).id);
  check_same_numbers(graph, merged);
}

BOOST_AUTO_TEST_CASE(a_graph_without_nets_and_a_merged_graph_stay_as_they_are) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {n}});
  graph.add_output("same", (exp(x) * exp(x)).id);
  BOOST_TEST(to_text(merge_nets(graph)) == to_text(graph));
  const Graph once = merge_nets(Chain("relu").graph);
  BOOST_TEST(to_text(merge_nets(once)) == to_text(once));
}

BOOST_AUTO_TEST_SUITE_END()
