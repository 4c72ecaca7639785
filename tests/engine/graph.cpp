// Graph: what append accepts, what it refuses, and that a refusal changes nothing.
#include "engine/graph.hpp"

#include "tests/engine/op_checks.hpp"

namespace whorl {
namespace {

using testing::message_of;

// Everything that can be seen of a graph.
std::string seen(const Graph& graph) {
  std::string text = to_text(graph) + fmt::format("{} edges\n", graph.edge_count());
  for (const auto& [key, value] : graph.metadata()) text += key + "=" + value + "\n";
  return text;
}

struct Small {
  Graph graph;
  NodeId x, i, y;
  Small() {
    x = input(graph, "x", {DType::f32, {2, 3}}).id;
    i = input(graph, "i", {DType::i32, {2}}).id;
    y = add(graph.value(x), graph.value(x)).id;
    graph.set_name(y, "twice");
    graph.add_output("y", y);
    graph.metadata()["title"] = "small";
  }
};

BOOST_AUTO_TEST_SUITE(graph)

BOOST_AUTO_TEST_CASE(a_failed_append_leaves_the_graph_as_it_was) {
  Small s;
  Graph& g = s.graph;
  const std::string before = seen(g);
  const OpDef &add_row = *find_op("add"), &sum_row = *find_op("sum"), &exp_row = *find_op("exp");
  const OpDef& concat_row = *find_op("concat");
  const auto refuses = [&](auto&& f, std::string_view expected) {
    BOOST_TEST(message_of(f) == expected);
    BOOST_TEST(seen(g) == before);
    BOOST_TEST(g.size() == 3u);
  };
  refuses([&] { g.append(add_row, std::vector<NodeId>{s.x}); },
          "[add] takes 2 inputs (a, b), got 1");
  refuses(
      [&] {
        g.append(exp_row, std::vector<NodeId>{s.x, s.x});
      },
      "[exp] takes 1 input (x), got 2");
  refuses(
      [&] {
        g.append(concat_row, {},
                 make_attributes("concat", concat_row.attrs(), {{"axis", std::int64_t{0}}}));
      },
      "[concat] takes at least 1 input (xs), got 0");
  refuses([&] { g.append(exp_row, std::vector<NodeId>{3}); },
          "[exp] input 3 does not exist: the graph has 3 nodes");
  refuses([&] { g.append(exp_row, std::vector<NodeId>{s.i}); },
          "[exp] input 'x' is i32; expected f32 or f64 (use cast); inputs x=i32[2]");
  refuses(
      [&] {
        g.append(add_row, std::vector<NodeId>{s.x, s.i});
      },
      "[add] the inputs' types differ; inputs a=f32[2,3] b=i32[2]");
  refuses([&] { g.append(exp_row, std::vector<NodeId>{s.x}, {}, "twice"); },
          "[exp] name 'twice' is taken by node 2 'twice' (add)");
  refuses([&] { g.append(exp_row, std::vector<NodeId>{s.x}, {}, "a b"); },
          "[exp] name 'a' has the character 0x20 at position 1; allowed are letters, digits and "
          "_ . / -");
  refuses(
      [&] {
        g.append(sum_row, std::vector<NodeId>{s.x},
                 make_attributes("sum", sum_row.attrs(), {{"axes", std::vector<std::int64_t>{5}}}));
      },
      "[sum] axis 5 is out of range for rank 2; inputs x=f32[2,3]");
  refuses([&] { g.append(concat_row, std::vector<NodeId>{s.x}); },
          "[concat] attribute 'axis' is missing: expected an integer");
  refuses([&] { input(g, "x", {}); }, "[input] name 'x' is taken by node 0 'x' (input)");
  refuses([&] { input(g, "", {}); }, "[input] a name is empty");
  refuses([&] { g.set_name(s.y, "x"); }, "[graph] name 'x' is taken by node 0 'x' (input)");
  refuses([&] { g.add_output("y", s.x); },
          "[graph] output name 'y' is given twice: node 2 'twice' (add) and node 0 'x' (input)");
  refuses([&] { g.add_output("z", 9); }, "[graph] output 'z': node 9 does not exist");
}

BOOST_AUTO_TEST_CASE(names_have_an_alphabet_and_a_length) {
  for (const char* good : {"a", "layer1/w.0", "A-b_c"})
    BOOST_TEST(message_of([&] { check_name("graph", good); }) == "");
  BOOST_TEST(message_of([] { check_name("graph", std::string(512, 'a')); }) == "");
  BOOST_TEST(message_of([] { check_name("graph", std::string(513, 'a')); }) ==
             "[graph] a name has 513 characters, more than the limit of 512: '" +
                 std::string(40, 'a') + "...'");
  BOOST_TEST(message_of([] { check_name("graph", "../up"); }) ==
             "[graph] name '../up' contains '..'");
  BOOST_TEST(message_of([] { check_name("graph", std::string_view("a\0b", 3)); }) ==
             "[graph] name 'a' has the character 0x00 at position 1; allowed are letters, digits "
             "and _ . / -");
  BOOST_TEST(message_of([] { check_name("graph", "\xc3\xa9"); }) ==
             "[graph] name '' has the character 0xc3 at position 0; allowed are letters, digits "
             "and _ . / -");
}

BOOST_AUTO_TEST_CASE(a_node_can_be_renamed_and_its_old_name_is_free_again) {
  Small s;
  s.graph.set_name(s.y, "double");
  s.graph.set_name(s.y, "double");
  BOOST_TEST(!s.graph.find("twice").has_value());
  BOOST_TEST((s.graph.find("double") == s.y));
  s.graph.set_name(s.x, "twice");
  BOOST_TEST(s.graph.label(s.x) == "node 0 'twice' (input)");
}

BOOST_AUTO_TEST_CASE(a_graph_is_printed_one_node_a_line) {
  Small s;
  const Value total = sum(s.graph.value(s.y), {1}, true);
  BOOST_TEST(to_text(s.graph) ==
             "%0 = input() {dtype=f32, shape=[2,3], role=\"data\"} : f32[2,3]  # x\n"
             "%1 = input() {dtype=i32, shape=[2], role=\"data\"} : i32[2]  # i\n"
             "%2 = add(%0, %0) : f32[2,3]  # twice\n"
             "%3 = sum(%2) {axes=[1], keep=true} : f32[2,1]\n"
             "output y = %2\n");
  BOOST_TEST(total.shape() == Shape({2, 1}));
  BOOST_TEST((s.graph.input_nodes() == std::vector<NodeId>{0, 1}));
}

BOOST_AUTO_TEST_CASE(elementwise_inputs_are_broadcast_against_each_other) {
  Graph graph;
  const Value a = input(graph, "a", {DType::f32, {2, 1}});
  const Value b = input(graph, "b", {DType::f32, {3}});
  const Value y = a * b;
  BOOST_TEST(y.shape() == Shape({2, 3}));
  const Feeds feeds{{"a", Tensor::of<float>({2, 1}, {1, 10})},
                    {"b", Tensor::of<float>({3}, {1, 2, 3})}};
  const Tensor found = evaluate(graph, feeds, {y.id}).front();
  BOOST_TEST(found.values<float>() == (std::vector<float>{1, 2, 3, 10, 20, 30}),
             boost::test_tools::per_element());
  const std::size_t size = graph.size();
  const Value c = input(graph, "c", {DType::f32, {2}});
  BOOST_TEST(message_of([&] { add(b, c); }) ==
             "[add] shapes do not broadcast: 3 and 2 on one axis; shapes [3] [2]");
  BOOST_TEST(graph.size() == size + 1);
}

BOOST_AUTO_TEST_CASE(values_of_two_graphs_do_not_mix) {
  Graph a, b;
  const Value x = input(a, "x", {}), y = input(b, "y", {});
  BOOST_TEST(message_of([&] { add(x, y); }) == "[add] the inputs belong to different graphs");
}

BOOST_AUTO_TEST_CASE(a_feed_must_be_there_and_have_the_type) {
  Small s;
  BOOST_TEST(message_of([&] { evaluate(s.graph, {}, {s.y}); }) ==
             "[run] input 'x' is not fed: expected f32[2,3]");
  BOOST_TEST(message_of([&] {
               evaluate(s.graph, {{"x", Tensor({DType::f64, {2, 3}})}}, {s.y});
             }) == "[run] input 'x' is fed with f64[2,3]; expected f32[2,3]");
}

BOOST_AUTO_TEST_CASE(the_op_table_finds_rows_and_refuses_a_second_one_of_the_same_name) {
  BOOST_TEST((find_op("add") != nullptr));
  BOOST_TEST((find_op("ad") == nullptr));
  for (const OpDef* op : all_ops()) BOOST_TEST((find_op(op->name) == op));
  static const OpDef impostor = *find_op("add");
  BOOST_TEST(message_of([] { register_op(impostor); }) ==
             "[register_op] an op named 'add' exists already");
  register_op(*find_op("add"));  // the same row again does no harm
}

BOOST_AUTO_TEST_CASE(every_op_has_attributes_and_samples_that_fit_it) {
  for (const OpDef* op : all_ops()) {
    for (const Sample& sample : op->samples()) {
      const Attributes attributes = testing::sample_attributes(*op, sample);
      const auto inputs = testing::sample_inputs(*op, sample, DType::f64);
      std::vector<Type> types;
      for (const Tensor& tensor : inputs) types.push_back(tensor.type());
      BOOST_TEST(message_of([&] { op->infer({op, types, attributes, {}}); }) == "", op->name);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace whorl
