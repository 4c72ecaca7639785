// Random graphs, written to a file and read again: the same graph, in text and in binary.
#include <boost/test/unit_test.hpp>

#include "engine/ops.hpp"
#include "generator.hpp"
#include "graphs/graph_file.hpp"

using namespace whorl;
using namespace whorl::testing;

namespace {

// Ids, ops, inputs, attribute bits, types, names, outputs, metadata.
void check_same_graph(const Graph& a, const Graph& b, std::uint64_t seed) {
  BOOST_REQUIRE(a.size() == b.size());
  for (NodeId id = 0; id < a.size(); ++id) {
    const auto x = a.inputs(id), y = b.inputs(id);
    const bool same = &a.op(id) == &b.op(id) &&
                      std::equal(x.begin(), x.end(), y.begin(), y.end()) &&
                      a.attributes(id) == b.attributes(id) && a.type(id) == b.type(id) &&
                      a.name(id) == b.name(id);
    BOOST_TEST(same, "seed " << seed << ": " << a.label(id) << " became " << b.label(id));
  }
  BOOST_TEST(to_text(a) == to_text(b));
  BOOST_TEST((a.metadata() == b.metadata()));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stored)

BOOST_AUTO_TEST_CASE(a_graph_that_was_stored_and_loaded_is_the_same_graph) {
  for (std::uint64_t seed = 0; seed < 250; ++seed)
    for (DType dtype : {DType::f64, DType::f32}) {
      const RandomGraph g = random_graph(seed, small_options(seed, dtype));
      const Graph text = parse_graph(to_pbtxt(*g.graph), "text");
      const Graph binary = parse_graph(to_binary(*g.graph), "binary");
      check_same_graph(*g.graph, text, seed);
      check_same_graph(*g.graph, binary, seed);
      BOOST_TEST(canonical_hash(text) == canonical_hash(*g.graph));
      BOOST_TEST(canonical_hash(binary) == canonical_hash(*g.graph));
      const auto expected = evaluate(*g.graph, g.feeds), found = evaluate(text, g.feeds);
      for (const auto& [name, tensor] : expected)
        BOOST_TEST(found.at(name).same_bits(tensor), "seed " << seed << " output " << name);
    }
}

BOOST_AUTO_TEST_SUITE_END()
