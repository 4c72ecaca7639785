// Functions and repeats: what they expand to, and what they compute.
#include "engine/evaluate.hpp"
#include "tests/graphs/files.hpp"

using namespace whorl;
using namespace whorl::test;

namespace {

constexpr std::string_view step = R"(
functions { name: "step"
  inputs { name: "q" } inputs { name: "h" type: "f32[]" }
  nodes { name: "change" op: "mul" inputs: ["q", "h"] }
  nodes { name: "next" op: "add" inputs: ["q", "change"] }
  outputs { name: "next" } outputs { name: "change" } }
)";

Graph with_step(std::string_view body) {
  return parse_graph(fmt::format("format_version: 1\n"
                                 "inputs {{ name: \"x\" type: \"f32[2]\" }}\n"
                                 "constants {{ name: \"h\" type: \"f32[]\" values: [1] }}\n{}{}",
                                 body, step),
                     "g");
}

std::vector<double> run(const Graph& graph, std::string_view output) {
  const auto results = evaluate(graph, {{"x", Tensor::of<float>({2}, {1, 2})}});
  const Tensor& tensor = results.find(output)->second;
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) values.push_back(tensor.at(i));
  return values;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(functions)

BOOST_AUTO_TEST_CASE(a_call_is_inlined_under_its_name) {
  const Graph graph = with_step(R"(nodes { name: "s" call: "step" inputs: ["x", "h"] }
outputs { name: "u" node: "s:next" } outputs { name: "v" node: "s:1" })");
  BOOST_CHECK_EQUAL(to_text(graph),
                    R"(%0 = input() {dtype=f32, shape=[2], role="data"} : f32[2]  # x
%1 = constant() {value=f32[]{1}, allow_nonfinite=false} : f32[]  # h
%2 = broadcast(%1) {shape=[2], axes=[]} : f32[2]
%3 = mul(%0, %2) : f32[2]  # s/change
%4 = add(%0, %3) : f32[2]  # s/next
output u = %4
output v = %3
)");
}

BOOST_AUTO_TEST_CASE(a_repeat_carries_its_state_and_keeps_its_other_inputs) {
  const Graph graph = with_step(
      R"(nodes { name: "loop" repeat { function: "walk" count: 3 } inputs: ["x", "h"] }
functions { name: "walk" inputs { name: "q" } inputs { name: "h" }
  nodes { name: "s" call: "step" inputs: ["q", "h"] } outputs { name: "q" node: "s:next" } }
outputs { name: "u" node: "loop" })");
  BOOST_CHECK(run(graph, "u") == (std::vector<double>{8, 16}));
  BOOST_CHECK(graph.find("loop/0/s/next").has_value());
  BOOST_CHECK(graph.find("loop/2/s/change").has_value());
  BOOST_CHECK(!graph.find("loop/3/s/next").has_value());
}

BOOST_AUTO_TEST_CASE(outputs_beyond_the_state_are_stacked_over_the_iterations) {
  const Graph graph = with_step(
      R"(nodes { name: "loop" repeat { function: "step" count: 3 carry: 1 } inputs: ["x", "h"] }
outputs { name: "u" node: "loop:next" } outputs { name: "v" node: "loop:change" })");
  BOOST_CHECK(run(graph, "u") == (std::vector<double>{8, 16}));
  BOOST_CHECK(graph.type(graph.outputs()[1].node) == (Type{DType::f32, {3, 2}}));
  BOOST_CHECK(run(graph, "v") == (std::vector<double>{1, 2, 2, 4, 4, 8}));
}

BOOST_AUTO_TEST_CASE(an_iteration_can_know_its_number) {
  const Graph graph = with_step(
      R"(nodes { name: "loop" repeat { function: "count" count: 4 index: "t" } inputs: ["x"] }
functions { name: "count" inputs { name: "q" } inputs { name: "t" type: "i32[]" }
  nodes { name: "number" op: "cast" inputs: ["t"] attr { name: "dtype" dtype: "f32" } }
  nodes { name: "next" op: "add" inputs: ["q", "number"] } outputs { name: "next" } }
outputs { name: "u" node: "loop" })");
  BOOST_CHECK(run(graph, "u") == (std::vector<double>{1 + 6, 2 + 6}));
  BOOST_CHECK(graph.find("loop/3/t").has_value());
}

BOOST_AUTO_TEST_CASE(no_iterations_give_the_state_back) {
  const Graph graph = with_step(
      R"(nodes { name: "loop" repeat { function: "step" count: 0 carry: 2 } inputs: ["x", "h"] }
outputs { name: "u" node: "loop:next" })");
  BOOST_CHECK(run(graph, "u") == (std::vector<double>{1, 2}));
}

BOOST_AUTO_TEST_CASE(a_function_without_nodes_passes_its_inputs_on) {
  const Graph graph = with_step(R"(nodes { name: "s" call: "swap" inputs: ["x", "h"] }
functions { name: "swap" inputs { name: "a" } inputs { name: "b" }
  outputs { name: "b" } outputs { name: "a" } }
outputs { name: "u" node: "s:1" })");
  BOOST_CHECK_EQUAL(graph.size(), 2u);
  BOOST_CHECK_EQUAL(graph.outputs()[0].node, *graph.find("x"));
}

BOOST_AUTO_TEST_CASE(nodes_without_a_name_stay_without_in_every_copy) {
  const Graph graph =
      with_step(R"(nodes { name: "loop" repeat { function: "f" count: 2 } inputs: ["x"] }
functions { name: "f" inputs { name: "q" }
  nodes { name: "_1" op: "neg" inputs: ["q"] } outputs { name: "q" node: "_1" } }
outputs { name: "u" node: "loop" })");
  BOOST_CHECK_EQUAL(graph.name(graph.outputs()[0].node), "");
}

BOOST_AUTO_TEST_CASE(an_error_inside_a_repeat_names_the_iteration_and_the_line) {
  const std::string error = load_error_of(R"(format_version: 1
inputs { name: "x" type: "f32[2]" }
inputs { name: "h" type: "f32[3]" }
nodes { name: "loop" repeat { function: "f" count: 5 } inputs: ["x"] }
functions { name: "f" inputs { name: "q" }
  constants { name: "c" type: "f32[3]" values: [1, 2, 3] }
  nodes { name: "next" op: "add" inputs: ["q", "c"] }
  outputs { name: "next" } })");
  BOOST_CHECK_EQUAL(error,
                    "[load] g:7: node 'loop/0/next' (add): shapes do not broadcast: 2 and 3 on one "
                    "axis; shapes [2] [3]");
}

BOOST_AUTO_TEST_CASE(a_thousand_nested_functions_are_inlined) {
  std::string text =
      "format_version: 1\ninputs { name: \"x\" type: \"f32[]\" }\n"
      "nodes { name: \"a\" call: \"f0\" inputs: \"x\" }\noutputs { name: \"a\" }\n";
  constexpr int depth = 1000;
  for (int i = 0; i < depth; ++i)
    text += fmt::format(
        "functions {{ name: \"f{}\" inputs {{ name: \"q\" }} nodes {{ name: \"_0\" {} "
        "inputs: \"q\" }} outputs {{ name: \"q\" node: \"_0\" }} }}\n",
        i, i + 1 < depth ? fmt::format("call: \"f{}\"", i + 1) : "op: \"neg\"");
  const Graph graph = parse_graph(text, "g");
  BOOST_CHECK_EQUAL(graph.size(), 2u);
}

BOOST_AUTO_TEST_SUITE_END()
