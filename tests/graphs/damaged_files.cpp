// Damage: truncation, flipped bits, wrong kinds of files, and messages that protobuf alone accepts.
#include <algorithm>
#include <random>

#include "engine/ops.hpp"
#include "tests/graphs/files.hpp"

using namespace whorl;
using namespace whorl::test;

namespace {

Graph small_graph() {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {3}});
  const Value y = x * constant(graph, Tensor::of<float>({3}, {1, 2, 3}));
  graph.set_name(y.id, "y");
  graph.add_output("u", sum(y).id);
  graph.metadata()["title"] = "small";
  return graph;
}

// The payload of what to_binary writes.
std::string payload() {
  const std::string bytes = to_binary(small_graph());
  return bytes.substr(24, bytes.size() - 32);
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(damaged_files)

BOOST_AUTO_TEST_CASE(the_container_is_what_its_description_says) {
  BOOST_CHECK(container(payload()) == to_binary(small_graph()));
}

BOOST_AUTO_TEST_CASE(an_empty_file_has_no_nodes) {
  BOOST_CHECK_EQUAL(load_error_of(""), "[load] g: the graph has no nodes");
  BOOST_CHECK_EQUAL(load_error_of(container("")), "[load] g: the graph has no nodes");
}

BOOST_AUTO_TEST_CASE(a_binary_file_cut_at_any_byte_is_refused) {
  const std::string bytes = to_binary(small_graph());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    BOOST_REQUIRE_MESSAGE(!load_error_of(bytes.substr(0, size)).empty(), "cut at " << size);
  BOOST_CHECK_EQUAL(load_error_of(bytes.substr(0, 5)),
                    "[load] g: the file is cut off: 5 bytes of a binary graph");
  BOOST_CHECK_EQUAL(load_error_of(bytes.substr(0, 20)),
                    "[load] g: the file is cut off: 20 bytes, the header alone has 24");
  BOOST_CHECK_EQUAL(
      load_error_of(bytes.substr(0, 30)),
      fmt::format("[load] g: the file is cut off: it declares {} bytes of graph, 6 bytes follow",
                  payload().size()));
}

BOOST_AUTO_TEST_CASE(a_binary_file_with_any_bit_flipped_is_refused) {
  const std::string bytes = to_binary(small_graph());
  std::size_t checksums = 0;
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const std::string error = load_error_of(damaged);
    BOOST_REQUIRE_MESSAGE(!error.empty(), "bit " << bit);
    checksums += contains(error, "the checksum differs");
  }
  // All of the payload's bits and those of the checksum itself.
  BOOST_CHECK_EQUAL(checksums, 8 * (payload().size() + 4));
}

BOOST_AUTO_TEST_CASE(a_text_cut_anywhere_or_with_a_bit_flipped_is_refused_or_is_a_graph) {
  const std::string text = to_pbtxt(small_graph());
  std::size_t refused = 0;
  for (std::size_t size = 0; size < text.size(); ++size)
    refused += !load_error_of(text.substr(0, size)).empty();
  BOOST_CHECK_GT(refused, text.size() / 2);
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string damaged = text;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    load_error_of(damaged);  // checks that nothing but a graph Error comes out
  }
}

BOOST_AUTO_TEST_CASE(bytes_after_the_end_are_refused) {
  BOOST_CHECK_EQUAL(load_error_of(to_binary(small_graph()) + "x"),
                    "[load] g: 1 bytes follow after the graph's end");
}

BOOST_AUTO_TEST_CASE(another_container_version_is_named) {
  std::string bytes = to_binary(small_graph());
  bytes[8] = 2;
  BOOST_CHECK_EQUAL(load_error_of(bytes),
                    "[load] g: container version 2 is not known; this Whorl reads version 1");
}

BOOST_AUTO_TEST_CASE(a_declared_length_costs_nothing_before_the_bytes_are_there) {
  std::string bytes = to_binary(small_graph());
  for (int i = 12; i < 20; ++i) bytes[static_cast<std::size_t>(i)] = '\x7f';
  BOOST_CHECK(contains(load_error_of(bytes), "the file is cut off: it declares"));
  // A nodes entry (field 5) that declares 2e9 bytes, in a payload of 6.
  BOOST_CHECK(contains(load_error_of(container("\x2a\x80\xa8\xd6\xb9\x07")),
                       "the payload is not a protobuf message"));
}

BOOST_AUTO_TEST_CASE(other_kinds_of_files_are_named) {
  const auto starts = [](std::string bytes, std::string_view what) {
    const std::string error = load_error_of(std::move(bytes));
    BOOST_CHECK_MESSAGE(contains(error, what), error);
  };
  using namespace std::string_literals;
  BOOST_CHECK_EQUAL(load_error_of("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s),
                    "[load] g: this looks like a PNG image, not like a graph; the file begins with "
                    "89 50 4e 47 0d 0a 1a 0a");
  starts("\x1f\x8b\x08\0\0\0\0\0"s, "a gzip archive");
  starts(
      "\x7f"
      "ELF\x02\x01\x01"s,
      "an ELF program");
  starts("PK\x03\x04\x14"s, "a zip archive");
  starts("\x93NUMPY\x01\0"s, "a NumPy array");
  starts("%PDF-1.7"s, "a PDF document");
  starts(
      "\xff\xfe"
      "f\0o\0"s,
      "UTF-16 text");
  BOOST_CHECK_EQUAL(
      load_error_of("format\0"s),
      "[load] g:1:7: byte 0x00 is not text; the file begins with 66 6f 72 6d 61 74 00");
  BOOST_CHECK_EQUAL(load_error_of("# a\n  \xc3("s),
                    "[load] g:2:3: byte 0xc3 is not UTF-8; the file begins with 23 20 61 0a 20 20 "
                    "c3 28");
}

BOOST_AUTO_TEST_CASE(a_bare_message_gets_a_hint) {
  BOOST_CHECK(contains(load_error_of(payload()), "a binary graph needs Whorl's container"));
}

BOOST_AUTO_TEST_CASE(random_bytes_are_refused) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 500; ++i) {
    std::string bytes(random() % 200 + 1, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    BOOST_REQUIRE(!load_error_of(bytes).empty());
    BOOST_REQUIRE(!load_error_of(container(bytes)).empty());
  }
}

BOOST_AUTO_TEST_CASE(unknown_fields_are_refused_at_any_depth) {
  // Field 99, varint 1, in the graph and in an input.
  BOOST_CHECK_EQUAL(load_error_of(container(payload() + "\x98\x06\x01")),
                    "[load] g: unknown field 99 of Graph: written by a newer Whorl or by another "
                    "program");
  const std::string input =
      "\x0a\x01x\x12\x05"
      "f32[]\x98\x06\x01";
  const std::string graph = std::string("\x08\x01\x1a") + static_cast<char>(input.size()) + input;
  BOOST_CHECK_EQUAL(load_error_of(container(graph)),
                    "[load] g: unknown field 99 of Input: written by a newer Whorl or by another "
                    "program");
}

BOOST_AUTO_TEST_CASE(fields_given_twice_and_other_encodings_are_refused) {
  const std::string refused =
      "[load] g: the payload is not encoded in the canonical way: a field is given twice or out of "
      "order";
  BOOST_CHECK_EQUAL(load_error_of(container("\x08\x01" + payload())), refused);
  BOOST_CHECK_EQUAL(load_error_of(container(payload().substr(2) + "\x08\x01")), refused);
  // The version 1 in two bytes instead of one.
  using namespace std::string_literals;
  BOOST_CHECK_EQUAL(load_error_of(container("\x08\x81\x00"s + payload().substr(2))), refused);
}

BOOST_AUTO_TEST_CASE(deep_nesting_is_refused_without_deep_recursion) {
  for (int depth : {100, 10'000, 1'000'000}) {
    std::string text = "format_version: 1\n", groups, messages;
    for (int i = 0; i < depth; ++i) text += "a{";
    BOOST_CHECK(contains(load_error_of(text), "braces are nested deeper than 64 levels"));
    // Unknown groups: field 15, wire type 3.
    groups.assign(static_cast<std::size_t>(depth), '\x7b');
    groups.append(static_cast<std::size_t>(depth), '\x7c');
    BOOST_CHECK(contains(load_error_of(container(groups)), "nested deeper than 64 levels"));
  }
}

BOOST_AUTO_TEST_CASE(bytes_that_are_not_text_do_not_reach_a_message) {
  const std::string input =
      "\x0a\x01\xff\x12\x05"
      "f32[]";
  const std::string graph = std::string("\x08\x01\x1a") + static_cast<char>(input.size()) + input;
  BOOST_CHECK_EQUAL(load_error_of(container(graph)),
                    "[load] g: input: name '' has the character 0xff at position 0; allowed are "
                    "letters, digits and _ . / -");
  BOOST_CHECK_EQUAL(load_error_of("format_version: 1 nodes { name: 'a' op: 'n\\033[2J\\377' }"),
                    "[load] g:1: node 'a': unknown op 'n\\x1b[2J\\xff'");
}

BOOST_AUTO_TEST_CASE(two_thousand_mutations_give_a_graph_or_an_error) {
  std::mt19937_64 random(11);
  const std::string text = file_bytes(std::filesystem::path(WHORL_SOURCE_DIR) / "graphs" /
                                      "examples" / "leapfrog.pbtxt");
  const std::string binary = payload();
  const std::vector<std::string> words{
      "nodes",  "{",       "}", "\"", "-1", "1e999", "repeat", "count",
      "inputs", "f32[-1]", "[", "#",  "\n", "nan",   ":",      "99999999999999999999"};
  const auto mutated = [&](std::string bytes) {
    for (std::uint64_t n = random() % 4 + 1; n > 0; --n) {
      const std::size_t at = random() % bytes.size(), size = random() % 20;
      switch (random() % 5) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, size);
          break;
        case 2:
          bytes.insert(at, bytes.substr(random() % bytes.size(), size));
          break;
        case 3:
          bytes.insert(at, words[random() % words.size()]);
          break;
        case 4:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8)));
          break;
      }
      if (bytes.empty()) bytes.push_back(' ');
    }
    return bytes;
  };
  std::size_t accepted = 0;
  for (int i = 0; i < 1000; ++i) {
    accepted += load_error_of(mutated(text)).empty();
    // With a right checksum, so that the damage reaches what lies behind it.
    accepted += load_error_of(container(mutated(binary))).empty();
  }
  BOOST_CHECK_LT(accepted, 1000u);
}

BOOST_AUTO_TEST_SUITE_END()
