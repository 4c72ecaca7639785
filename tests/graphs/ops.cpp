// Ops by names of the file's own: chosen by who loads, checked, and gone when the graph is saved.
#include "engine/evaluate.hpp"
#include "tests/graphs/files.hpp"

using namespace whorl;
using namespace whorl::test;

namespace {

constexpr const char* text = R"(format_version: 1
ops { name: "activation" op: "relu" }
ops { name: "combine" op: "add" }
inputs { name: "x" type: "f32[3]" }
functions {
  name: "layer"
  inputs { name: "a" }
  nodes { name: "b" op: "activation" inputs: "a" }
  outputs { name: "b" }
}
nodes { name: "inside" call: "layer" inputs: "x" }
nodes { name: "outside" op: "activation" inputs: "x" }
nodes { name: "both" op: "combine" inputs: ["inside", "outside"] }
outputs { name: "both" }
)";

std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> names;
  for (NodeId id = 0; id < graph.size(); ++id) names.emplace_back(graph.op(id).name);
  return names;
}

Graph load(const std::map<std::string, std::string>& ops) {
  LoadOptions options;
  options.ops = ops;
  return parse_graph(text, "g", options);
}

std::string error(const std::map<std::string, std::string>& ops) {
  return graph_error_of([&] { load(ops); });
}

// The error of a file with this entry in its second line.
std::string entry_error(std::string_view entry) {
  return load_error_of(
      fmt::format("format_version: 1\n{}\ninputs {{ name: \"x\" type: \"f32[3]\" "
                  "}}\noutputs {{ name: \"x\" }}\n",
                  entry));
}

Tensor value(const Graph& graph) {
  return evaluate(graph, {{"x", Tensor::of<float>({3}, {-2, 0, 3})}}).at("both").clone();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ops)

BOOST_AUTO_TEST_CASE(ops_are_the_files_unless_others_are_chosen) {
  using Ops = std::vector<std::string>;
  BOOST_CHECK(ops_of(load({})) == (Ops{"input", "relu", "relu", "add"}));
  BOOST_CHECK(ops_of(load({{"activation", "tanh"}})) == (Ops{"input", "tanh", "tanh", "add"}));
  BOOST_CHECK(ops_of(load({{"activation", "abs"}, {"combine", "mul"}})) ==
              (Ops{"input", "abs", "abs", "mul"}));
  BOOST_CHECK(value(load({})).same_bits(Tensor::of<float>({3}, {0, 0, 6})));
  BOOST_CHECK(value(load({{"activation", "abs"}, {"combine", "mul"}}))
                  .same_bits(Tensor::of<float>({3}, {4, 0, 9})));
}

BOOST_AUTO_TEST_CASE(a_saved_graph_has_plain_ops) {
  const Graph graph = load({{"activation", "tanh"}});
  const std::string saved = to_pbtxt(graph);
  BOOST_CHECK(saved.find("activation") == saved.npos);
  BOOST_CHECK(saved.find("combine") == saved.npos);
  BOOST_CHECK(saved.find("op: \"tanh\"") != saved.npos);
  check_same(graph, parse_graph(saved, "text"));
  check_same(graph, parse_graph(to_binary(graph), "binary"));
}

BOOST_AUTO_TEST_CASE(a_choice_that_cannot_be_is_refused) {
  BOOST_CHECK_EQUAL(error({{"activations", "tanh"}}),
                    "[load] g: there is no op name 'activations' to stand for 'tanh', did you mean "
                    "'activation'?");
  BOOST_CHECK_EQUAL(error({{"relu", "tanh"}}),
                    "[load] g: there is no op name 'relu' to stand for 'tanh'");
  BOOST_CHECK_EQUAL(error({{"activation", "tanhh"}}),
                    "[load] g:2: op name 'activation' stands for 'tanhh', which is no op, did you "
                    "mean 'tanh'?");
  BOOST_CHECK_EQUAL(error({{"combine", ""}}),
                    "[load] g:3: op name 'combine' stands for '', which is no op");
  // Names do not stand for names.
  BOOST_CHECK_EQUAL(error({{"activation", "combine"}}),
                    "[load] g:2: op name 'activation' stands for 'combine', which is no op");
  // An op that takes something else is seen where it is used.
  BOOST_CHECK_EQUAL(error({{"combine", "relu"}}),
                    "[load] g:13: node 'both' (relu): takes 1 input (x), got 2");
}

BOOST_AUTO_TEST_CASE(the_name_of_an_op_is_a_name_and_not_an_op) {
  BOOST_CHECK_EQUAL(entry_error("ops { name: \"a b\" op: \"relu\" }"),
                    "[load] g:2: op name 'a b': it is made of letters, digits and '_', a letter "
                    "first");
  BOOST_CHECK_EQUAL(entry_error("ops { op: \"relu\" }"),
                    "[load] g:2: op name '': it is made of letters, digits and '_', a letter "
                    "first");
  BOOST_CHECK_EQUAL(entry_error("ops { name: \"tanh\" op: \"relu\" }"),
                    "[load] g:2: op name 'tanh' is that of an op; give it another");
  BOOST_CHECK_EQUAL(entry_error("ops { name: \"a\" op: \"rlu\" }"),
                    "[load] g:2: op name 'a' stands for 'rlu', which is no op, did you mean "
                    "'relu'?");
  BOOST_CHECK_EQUAL(entry_error("ops { name: \"a\" }"),
                    "[load] g:2: op name 'a' stands for '', which is no op");
  BOOST_CHECK_EQUAL(
      entry_error("ops { name: \"a\" op: \"relu\" } ops { name: \"a\" op: \"tanh\" }"),
      "[load] g:2: op name 'a' is given twice");
  BOOST_CHECK_EQUAL(entry_error("ops { name: \"a\" op: \"relu\" }"), "");
}

BOOST_AUTO_TEST_CASE(the_stored_networks_take_other_activations_and_sizes) {
  for (const char* name : {"mlp1", "mlp2"})
    for (const char* activation : {"relu", "tanh", "sigmoid"}) {
      LoadReport report;
      LoadOptions options;
      options.report = &report;
      options.sizes = {{"rows", 5}, {"features", 4}, {"classes", 3}};
      options.ops = {{"activation", activation}};
      const Graph graph = load_graph(std::filesystem::path(WHORL_SOURCE_DIR) / "graphs" /
                                         "energies" / fmt::format("{}.pbtxt", name),
                                     options);
      BOOST_CHECK(report.warnings.empty());
      const std::vector<std::string> found = ops_of(graph);
      BOOST_CHECK_EQUAL(std::count(found.begin(), found.end(), activation),
                        name == std::string_view("mlp1") ? 1 : 2);
      check_same(graph, parse_graph(to_pbtxt(graph), "text"));
    }
}

BOOST_AUTO_TEST_SUITE_END()
