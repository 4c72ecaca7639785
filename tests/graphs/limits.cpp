// Large files, and limits that are set lower.
#include "tests/graphs/files.hpp"

using namespace whorl;
using namespace whorl::test;

namespace {

const std::string head = "format_version: 1\ninputs { name: \"x\" type: \"f32[2]\" }\n";

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(limits)

BOOST_AUTO_TEST_CASE(a_chain_of_almost_a_million_nodes_loads) {
  constexpr int length = 999'999;
  std::string text = head;
  for (int i = 0; i < length; ++i)
    text += fmt::format("nodes {{ name: \"_{}\" op: \"neg\" inputs: \"{}\" }}\n", i + 1,
                        i == 0 ? "x" : fmt::format("_{}", i));
  text += fmt::format("outputs {{ name: \"y\" node: \"_{}\" }}\n", length);
  const Graph graph = parse_graph(std::move(text), "g");
  BOOST_CHECK_EQUAL(graph.size(), 1'000'000u);
  const std::string binary = to_binary(graph);
  BOOST_CHECK_EQUAL(parse_graph(binary, "g").size(), 1'000'000u);
}

BOOST_AUTO_TEST_CASE(a_chain_written_backwards_loads) {
  std::string text = head + "outputs { name: \"n0\" }\n";
  constexpr int length = 100'000;
  for (int i = 0; i < length; ++i)
    text += fmt::format("nodes {{ name: \"n{}\" op: \"neg\" inputs: \"{}\" }}\n", i,
                        i + 1 == length ? "x" : fmt::format("n{}", i + 1));
  const Graph graph = parse_graph(std::move(text), "g");
  BOOST_CHECK_EQUAL(graph.outputs()[0].node, graph.size() - 1);
}

BOOST_AUTO_TEST_CASE(wide_and_unused_graphs_load_with_a_note) {
  std::string text =
      head + "nodes { name: \"y\" op: \"neg\" inputs: \"x\" }\noutputs { name: \"y\" }\n";
  for (int i = 0; i < 200'000; ++i)
    text += fmt::format("nodes {{ name: \"n{}\" op: \"neg\" inputs: \"x\" }}\n", i);
  LoadReport report;
  LoadOptions options;
  options.report = &report;
  const Graph graph = parse_graph(std::move(text), "g", options);
  BOOST_CHECK_EQUAL(graph.size(), 200'002u);
  BOOST_REQUIRE_EQUAL(report.warnings.size(), 1u);
  BOOST_CHECK_EQUAL(
      report.warnings[0],
      "[load] g: W-UNUSED no output needs 200000 of 200002 nodes: node 2 'n0' (neg), "
      "node 3 'n1' (neg), node 4 'n2' (neg), node 5 'n3' (neg), node 6 'n4' (neg), ...");
}

BOOST_AUTO_TEST_CASE(a_ladder_with_2_to_60_paths_loads) {
  std::string text = head + "outputs { name: \"n60\" }\n";
  for (int i = 1; i <= 60; ++i) {
    const std::string below = i == 1 ? "x" : fmt::format("n{}", i - 1);
    text += fmt::format("nodes {{ name: \"n{}\" op: \"add\" inputs: [\"{}\", \"{}\"] }}\n", i,
                        below, below);
  }
  BOOST_CHECK_EQUAL(parse_graph(std::move(text), "g").size(), 61u);
}

BOOST_AUTO_TEST_CASE(a_cycle_of_a_hundred_thousand_nodes_is_printed_in_part) {
  std::string text = head;
  constexpr int length = 100'000;
  for (int i = 0; i < length; ++i)
    text +=
        fmt::format("nodes {{ name: \"n{}\" op: \"neg\" inputs: \"n{}\" }}\n", i, (i + 1) % length);
  BOOST_CHECK_EQUAL(
      load_error_of(std::move(text)),
      "[load] g:3: node 'n0' (neg) needs itself, in a cycle of 100000: n0 <- n1 <- n2 "
      "<- n3 <- n4 <- n5 <- n6 <- n7 <- n8 <- n9 <- n10 <- n11 <- n12 <- n13 <- n14 <- "
      "n15 <- n16 <- n17 <- n18 <- n19 <- ... (99980 more)");
}

BOOST_AUTO_TEST_CASE(a_million_iterations_fit_and_one_node_more_does_not) {
  const auto text = [](int count) {
    return fmt::format(
        "{}nodes {{ name: \"s\" repeat {{ function: \"f\" count: {} }} inputs: \"x\" }}\n"
        "functions {{ name: \"f\" inputs {{ name: \"a\" }} nodes {{ name: \"_0\" op: "
        "\"neg\" inputs: \"a\" }} outputs {{ name: \"a\" node: \"_0\" }} }}\n",
        head, count);
  };
  BOOST_CHECK_EQUAL(parse_graph(text(999'999), "g").size(), 1'000'000u);
  BOOST_CHECK_EQUAL(load_error_of(text(1'000'000)),
                    "[load] g: calls and repeats expand to 1000001 nodes, more than the limit of "
                    "1000000");
}

BOOST_AUTO_TEST_CASE(broadcasts_that_loading_inserts_count_as_nodes) {
  LoadOptions options;
  options.limits.nodes = 3;
  const std::string text = head +
                           "inputs { name: \"s\" type: \"f32[]\" }\n"
                           "nodes { name: \"y\" op: \"add\" inputs: [\"x\", \"s\"] }\n";
  BOOST_CHECK_EQUAL(
      load_error_of(text, options),
      "[load] g:4: node 'y' (add): the expanded graph has more nodes than the limit of 3");
}

BOOST_AUTO_TEST_CASE(constants_in_a_repeat_count_once_per_iteration) {
  LoadOptions options;
  options.limits.constant_bytes = 100;
  const std::string text =
      head +
      "nodes { name: \"s\" repeat { function: \"f\" count: 20 } inputs: \"x\" }\n"
      "functions { name: \"f\" inputs { name: \"a\" } constants { name: \"c\" type: \"f32[2]\" "
      "values: [1, 2] } nodes { name: \"b\" op: \"add\" inputs: [\"a\", \"c\"] } outputs { name: "
      "\"b\" } }\n";
  BOOST_CHECK_EQUAL(
      load_error_of(text, options),
      "[load] g:4: constant 's/12/c': the constants would need 104 bytes with all calls "
      "and repeats expanded, more than the limit of 100");
}

BOOST_AUTO_TEST_CASE(limits_can_be_lowered_one_by_one) {
  const std::string text = head +
                           "nodes { name: \"name\" op: \"sum\" inputs: \"x\" attr { name: "
                           "\"axes\" ints: [0] } }\noutputs { name: \"name\" }\n";
  const auto refused = [&](std::int64_t LoadLimits::*limit, std::int64_t value) {
    LoadOptions options;
    options.limits.*limit = value;
    return load_error_of(text, options);
  };
  BOOST_CHECK(load_error_of(text).empty());
  BOOST_CHECK(contains(refused(&LoadLimits::file_bytes, 100), "bytes, more than the limit of 100"));
  BOOST_CHECK(contains(refused(&LoadLimits::nodes, 1), "more nodes than the limit of 1"));
  BOOST_CHECK(contains(refused(&LoadLimits::edges, 0), "more than the limit of 0") ||
              contains(refused(&LoadLimits::edges, 0), "than the limit of 0"));
  BOOST_CHECK(contains(refused(&LoadLimits::outputs, 0), "1 outputs, more than the limit of 0"));
  BOOST_CHECK(contains(refused(&LoadLimits::rank, 0), "the rank is more than the limit of 0"));
  BOOST_CHECK(contains(refused(&LoadLimits::name_bytes, 3), "more than the limit of 3"));
  BOOST_CHECK(contains(refused(&LoadLimits::list, 0), "1 numbers, more than the limit of 0"));
  BOOST_CHECK(contains(refused(&LoadLimits::nesting, 1), "nested deeper than 1 levels"));
  BOOST_CHECK(contains(refused(&LoadLimits::value_bytes, 7), "would need 8 bytes"));
}

BOOST_AUTO_TEST_CASE(a_limit_cannot_be_raised) {
  LoadOptions options;
  options.limits.nesting = 1'000'000'000;
  BOOST_CHECK(contains(load_error_of(std::string(200, '{'), options), "deeper than 64 levels"));
}

BOOST_AUTO_TEST_CASE(a_file_above_the_limit_is_refused_before_it_is_read) {
  const ScratchDirectory directory;
  write_bytes(directory / "big.pbtxt", head);
  std::filesystem::resize_file(directory / "big.pbtxt", (std::uintmax_t{64} << 20) + 1);
  BOOST_CHECK_EQUAL(graph_error_of([&] { load_graph(directory / "big.pbtxt"); }),
                    fmt::format("[load] {}: the file has 67108865 bytes, more than the limit of "
                                "67108864",
                                (directory / "big.pbtxt").string()));
}

BOOST_AUTO_TEST_SUITE_END()
