// Named sizes: chosen by who loads, checked, and gone when the graph is saved; and the energies
// that are written with them.
#include <cmath>

#include "engine/evaluate.hpp"
#include "samplers/energy.hpp"
#include "tests/graphs/files.hpp"

using namespace whorl;
using namespace whorl::test;

namespace {

constexpr const char* text = R"(format_version: 1
sizes { name: "rows" value: 4 }
sizes { name: "columns" value: 2 }
inputs { name: "x" type: "f32[rows, columns]" }
inputs { name: "k" type: "f32[3]" }
functions {
  name: "twice"
  inputs { name: "a" type: "f32[rows,columns]" }
  nodes { name: "b" op: "add" inputs: ["a", "a"] }
  outputs { name: "b" }
}
nodes { name: "y" call: "twice" inputs: "x" type: "f32[rows,columns]" }
nodes { name: "flat" op: "fill" attr { name: "shape" sizes: ["rows", "1"] } attr { name: "value" f: 1 } }
outputs { name: "y" }
outputs { name: "flat" }
)";

std::filesystem::path energy_path(std::string_view name) {
  return std::filesystem::path(WHORL_SOURCE_DIR) / "graphs" / "energies" /
         fmt::format("{}.pbtxt", name);
}

Graph energy(std::string_view name, std::int64_t rows, std::int64_t features) {
  LoadReport report;
  LoadOptions options;
  options.report = &report;
  options.sizes = {{"rows", rows}, {"features", features}};
  Graph graph = load_graph(energy_path(name), options);
  for (const std::string& warning : report.warnings) BOOST_ERROR(warning);
  return graph;
}

const Feeds two_rows{{"x", Tensor::of<float>({2, 2}, {1, 2, -1, 0.5f})},
                     {"y", Tensor::of<float>({2}, {1, 0})},
                     {"w", Tensor::of<float>({2}, {0.5f, -1})},
                     {"b", Tensor::scalar(0.25f)}};
// x . w + b of the two rows.
constexpr double first = 0.5 - 2 + 0.25, second = -0.5 - 0.5 + 0.25;

}  // namespace

BOOST_AUTO_TEST_SUITE(sizes)

BOOST_AUTO_TEST_CASE(sizes_have_the_files_values_unless_others_are_chosen) {
  const auto type = [](const LoadOptions& options, std::string_view output) {
    const Graph graph = parse_graph(text, "g", options);
    for (const Graph::Output& found : graph.outputs())
      if (found.name == output) return to_string(graph.type(found.node));
    return std::string();
  };
  BOOST_CHECK_EQUAL(type({}, "y"), "f32[4,2]");
  LoadOptions options;
  options.sizes = {{"rows", 7}};
  BOOST_CHECK_EQUAL(type(options, "y"), "f32[7,2]");
  BOOST_CHECK_EQUAL(type(options, "flat"), "f32[7,1]");
}

BOOST_AUTO_TEST_CASE(a_size_that_the_file_does_not_have_is_refused) {
  LoadOptions options;
  options.sizes = {{"row", 7}};
  BOOST_CHECK_EQUAL(load_error_of(text, options),
                    "[load] g: there is no size 'row' to set to 7, did you mean 'rows'?");
  options.sizes = {{"rows", -7}};
  BOOST_CHECK_EQUAL(load_error_of(text, options),
                    "[load] g:2: size 'rows' is -7; it must not be negative");
}

BOOST_AUTO_TEST_CASE(a_saved_graph_has_numbers) {
  const Graph graph = parse_graph(text, "g");
  BOOST_CHECK(to_pbtxt(graph).find("rows") == std::string::npos);
  check_same(graph, parse_graph(to_pbtxt(graph), "text"));
  check_same(graph, parse_graph(to_binary(graph), "binary"));
}

BOOST_AUTO_TEST_CASE(a_file_tells_its_sizes_and_who_uses_them) {
  const ScratchDirectory directory;
  write_bytes(directory / "g.pbtxt", text);
  const DeclaredSizes sizes = declared_sizes(directory / "g.pbtxt");
  BOOST_CHECK(sizes.values == (std::map<std::string, std::int64_t>{{"rows", 4}, {"columns", 2}}));
  BOOST_CHECK(sizes.inputs == (std::map<std::string, std::vector<std::string>>{
                                  {"x", {"rows", "columns"}}, {"k", {"3"}}}));
}

BOOST_AUTO_TEST_CASE(logistic_regression_is_its_formula_for_any_size) {
  const auto found = evaluate(energy("logistic_regression", 2, 2), two_rows);
  BOOST_CHECK_CLOSE(found.at("prior").at(0), (0.25 + 1 + 0.0625) / 2, 1e-5);
  BOOST_CHECK_CLOSE(found.at("likelihood").at(0),
                    std::log1p(std::exp(first)) - first + std::log1p(std::exp(second)), 1e-5);
  BOOST_CHECK_EQUAL(Energy(energy("logistic_regression", 9, 5)).size(), 6);
}

BOOST_AUTO_TEST_CASE(linear_regression_is_its_formula_for_any_size) {
  Feeds feeds = two_rows;
  feeds.emplace("log_sigma", Tensor::scalar(-0.5f));
  const auto found = evaluate(energy("linear_regression", 2, 2), feeds);
  BOOST_CHECK_CLOSE(found.at("prior").at(0), (0.25 + 1 + 0.0625 + 0.25) / 2, 1e-5);
  const double squares = (first - 1) * (first - 1) + second * second;
  BOOST_CHECK_CLOSE(found.at("likelihood").at(0), squares * std::exp(1) / 2 - 1, 1e-4);
  BOOST_CHECK_EQUAL(Energy(energy("linear_regression", 9, 5), 10).size(), 7);
}

BOOST_AUTO_TEST_SUITE_END()
