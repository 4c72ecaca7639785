// What is written is what was there: text and binary, bits, names, metadata, hashes.
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "engine/evaluate.hpp"
#include "engine/ops.hpp"
#include "tests/graphs/files.hpp"

using namespace whorl;
using namespace whorl::test;

namespace {

Graph sample_graph() {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {4, 3}});
  const Value w = input(graph, "w", {DType::f32, {3}}, "parameter");
  const Value product = x * w;
  const Value late = input(graph, "late", {DType::f64, {}});
  const Value total = sum(product, {1}, true);
  graph.set_name(total.id, "layer/total");
  graph.add_output("u", sum(total).id);
  graph.add_output("v", cast(late, DType::f32).id);
  graph.metadata()["title"] = "a \"title\"\nwith two lines and größe";
  graph.metadata()["name"] = "sample";
  return graph;
}

void check_both_ways(const Graph& graph) {
  check_same(graph, parse_graph(to_pbtxt(graph), "text"));
  check_same(graph, parse_graph(to_binary(graph), "binary"));
}

template <class T, class Bits>
Tensor random_bits(const Shape& shape, std::mt19937_64& random) {
  Tensor tensor({dtype_of<T>, shape});
  for (T& element : tensor.values<T>()) element = std::bit_cast<T>(static_cast<Bits>(random()));
  return tensor;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(round_trip)

BOOST_AUTO_TEST_CASE(a_graph_is_the_same_after_text_and_after_binary) {
  check_both_ways(sample_graph());
}

BOOST_AUTO_TEST_CASE(constants_keep_every_bit_even_of_nans) {
  std::mt19937_64 random(7);
  Graph graph;
  constant(graph, random_bits<float, std::uint32_t>({20, 50}, random));
  constant(graph, random_bits<double, std::uint64_t>({1000}, random));
  constant(graph, random_bits<std::int32_t, std::uint32_t>({3, 0}, random));
  constant(graph, random_bits<std::int32_t, std::uint32_t>({1000}, random));
  constant(graph, Tensor::of<bool>({3}, {true, false, true}));
  constant(graph, Tensor::scalar(-0.0f));
  check_both_ways(graph);
}

BOOST_AUTO_TEST_CASE(finite_floats_are_written_as_numbers_and_keep_every_bit) {
  std::mt19937_64 random(8);
  Graph graph;
  for (int i = 0; i < 50; ++i) {
    Tensor f32 = random_bits<float, std::uint32_t>({200}, random);
    Tensor f64 = random_bits<double, std::uint64_t>({200}, random);
    for (float& x : f32.values<float>())
      if (std::isnan(x)) x = std::numeric_limits<float>::denorm_min();
    for (double& x : f64.values<double>())
      if (std::isnan(x)) x = std::numeric_limits<double>::denorm_min();
    constant(graph, f32);
    constant(graph, f64);
  }
  const std::string text = to_pbtxt(graph);
  BOOST_CHECK(text.find("raw:") == std::string::npos);
  check_same(graph, parse_graph(text, "text"));
}

BOOST_AUTO_TEST_CASE(number_attributes_keep_every_bit) {
  Graph graph;
  for (double value :
       {0.0, -0.0, 0.1, 1e-310, std::numeric_limits<double>::infinity(),
        std::bit_cast<double>(0x7ff8000000000001u), std::bit_cast<double>(0xfff8000000000000u)})
    fill(graph, {DType::f64, {2}}, value);
  check_both_ways(graph);
}

BOOST_AUTO_TEST_CASE(short_floats_are_written_short) {
  Graph graph;
  constant(graph, Tensor::of<float>({3}, {0.1f, 1e30f, 3.0f}));
  const std::string text = to_pbtxt(graph);
  BOOST_CHECK_MESSAGE(text.find("values: [0.1, 1e+30, 3]") != std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(a_saved_text_reads_as_one_would_write_it) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {4, 3}});
  const Value y = sum(square(x), {1});
  graph.set_name(y.id, "y");
  graph.add_output("u", y.id);
  graph.metadata()["title"] = "squares";
  BOOST_CHECK_EQUAL(to_pbtxt(graph),
                    R"(format_version: 1
metadata { key: "title" value: "squares" }
inputs { name: "x" type: "f32[4,3]" role: "data" }
nodes { name: "_1" op: "square" inputs: "x" }
nodes { name: "y" op: "sum" inputs: "_1" attr { name: "axes" ints: [1] } attr { name: "keep" b: false } }
outputs { name: "u" node: "y" }
)");
}

BOOST_AUTO_TEST_CASE(text_and_binary_of_one_graph_have_one_hash) {
  const Graph graph = sample_graph();
  const std::string hash = canonical_hash(graph);
  BOOST_CHECK_EQUAL(hash.size(), 32u);
  BOOST_CHECK_EQUAL(canonical_hash(parse_graph(to_pbtxt(graph), "text")), hash);
  BOOST_CHECK_EQUAL(canonical_hash(parse_graph(to_binary(graph), "binary")), hash);
}

BOOST_AUTO_TEST_CASE(the_hash_ignores_metadata_layout_and_comments_and_nothing_else) {
  const std::string text =
      "format_version: 1 inputs { name: 'x' type: 'f32[2]' } "
      "nodes { name: 'y' op: 'clamp' inputs: 'x' attr { name: 'low' f: 0 } attr { name: 'high' f: "
      "1 "
      "} } outputs { name: 'y' }";
  const auto hash = [](const std::string& t) { return canonical_hash(parse_graph(t, "g")); };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const auto at = changed.find(from);
    BOOST_REQUIRE(at != std::string::npos);
    return hash(changed.replace(at, from.size(), to));
  };
  BOOST_CHECK_EQUAL(hash("# a comment\r\n" + text + "\nname: 'other' metadata { key: 'a' }"),
                    hash(text));
  BOOST_CHECK_EQUAL(with("attr { name: 'low' f: 0 } attr { name: 'high' f: 1 }",
                         "attr { name: 'high' f: 1e0 } attr { name: 'low' f: 0 }"),
                    hash(text));
  BOOST_CHECK_NE(with("f: 0", "f: -0"), hash(text));
  BOOST_CHECK_NE(with("f: 1 ", "f: 1.0000000000000002 "), hash(text));
  BOOST_CHECK_NE(with("f32[2]", "f32[3]"), hash(text));
  BOOST_CHECK_NE(with("'f32[2]'", "'f32[2]' role: 'parameter'"), hash(text));
  BOOST_CHECK_NE(with("outputs { name: 'y' }", "outputs { name: 'u' node: 'y' }"), hash(text));
}

BOOST_AUTO_TEST_CASE(files_are_told_apart_by_content_not_by_extension) {
  const ScratchDirectory directory;
  const Graph graph = sample_graph();
  save_graph(graph, directory / "a.pbtxt");
  save_graph(graph, directory / "a.pb");
  check_same(graph, load_graph(directory / "a.pbtxt"));
  check_same(graph, load_graph(directory / "a.pb"));
  std::filesystem::rename(directory / "a.pb", directory / "b.pbtxt");
  check_same(graph, load_graph(directory / "b.pbtxt"));
}

BOOST_AUTO_TEST_CASE(saving_replaces_a_file_whole_and_leaves_nothing_else) {
  const ScratchDirectory directory;
  write_bytes(directory / "a.pb", "old");
  save_graph(sample_graph(), directory / "a.pb");
  check_same(sample_graph(), load_graph(directory / "a.pb"));
  int entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    BOOST_CHECK_EQUAL(entry.path().filename(), "a.pb");
    ++entries;
  }
  BOOST_CHECK_EQUAL(entries, 1);
}

BOOST_AUTO_TEST_CASE(a_failed_save_leaves_the_old_file_and_says_why) {
  const ScratchDirectory directory;
  const auto kind_of_save = [&](const Graph& graph, const std::filesystem::path& path) {
    try {
      save_graph(graph, path);
    } catch (const Error& error) {
      return error.kind();
    }
    BOOST_FAIL("was saved: " << path);
    return ErrorKind::internal;
  };
  BOOST_CHECK(kind_of_save(sample_graph(), directory / "a.txt") == ErrorKind::usage);
  BOOST_CHECK(kind_of_save(sample_graph(), directory / "no/a.pb") == ErrorKind::io);
  save_graph(sample_graph(), directory / "a.pb");
  Graph reserved = sample_graph();
  reserved.set_name(2, "_grad");
  BOOST_CHECK(kind_of_save(reserved, directory / "a.pb") == ErrorKind::graph);
  Graph metadata = sample_graph();
  metadata.metadata()["bad"] = "\xff";
  BOOST_CHECK(kind_of_save(metadata, directory / "a.pb") == ErrorKind::graph);
  check_same(sample_graph(), load_graph(directory / "a.pb"));
}

BOOST_AUTO_TEST_CASE(nodes_may_stand_in_any_order_and_keep_the_files_order_where_they_can) {
  const Graph graph = parse_graph(R"(format_version: 1
outputs { name: "u" node: "d" }
nodes { name: "d" op: "add" inputs: ["c", "b"] }
nodes { name: "b" op: "neg" inputs: ["x"] }
nodes { name: "a" op: "exp" inputs: ["x"] }
nodes { name: "c" op: "neg" inputs: ["a"] }
inputs { name: "x" type: "f32[]" })",
                                  "g");
  std::string order;
  for (NodeId id = 0; id < graph.size(); ++id) order += graph.name(id);
  BOOST_CHECK_EQUAL(order, "xbacd");
}

BOOST_AUTO_TEST_CASE(a_byte_order_mark_and_carriage_returns_are_accepted) {
  const Graph graph = parse_graph(
      "\xef\xbb\xbf"
      "format_version: 1\r\ninputs { name: \"x\" type: \"f32[]\" }\r\n",
      "g");
  BOOST_CHECK_EQUAL(graph.size(), 1u);
}

BOOST_AUTO_TEST_CASE(lists_of_nodes_keep_their_lines_in_messages) {
  BOOST_CHECK_EQUAL(load_error_of(R"(format_version: 1
inputs: [{ name: "x" type: "f32[]" }]
nodes: [
  { name: "a" op: "neg" inputs: "x" },
  { name: "b" op: "nge" inputs: "a" }
])"),
                    "[load] g:5: node 'b': unknown op 'nge', did you mean 'neg'?");
}

BOOST_AUTO_TEST_SUITE_END()
