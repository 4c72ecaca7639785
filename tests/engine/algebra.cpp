// Every rule of the algebra pass alone: text in, text out, and the same numbers.
#include "engine/passes/algebra.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include "engine/evaluate.hpp"
#include "engine/passes.hpp"
#include "tests/engine/algebra_cases.hpp"

using namespace whorl;
using namespace whorl::algebra_test;

namespace {

std::string without_inputs(const Graph& graph) {
  std::istringstream text(to_text(graph));
  std::string line, result;
  while (std::getline(text, line))
    if (line.find(" = input()") == std::string::npos) result += line + '\n';
  return result;
}

// The numbers of a feed; the special ones only where results are compared by their bits.
Tensor feed(const Type& type, Same same, unsigned seed) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const std::vector<double> special{-0.0, 1.5, inf, 0.0, -inf, std::nan(""), 3e38, -1e-30};
  const std::vector<double> plain{0.75, -1.5, 2.1, -0.3, 1.9, 0.4, -2.2};
  Tensor tensor(type);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const auto& list = same == Same::bits && type.dtype != DType::i32 ? special : plain;
    const double value = list[(static_cast<std::size_t>(i) * 3 + seed) % list.size()];
    dispatch(type.dtype, [&](auto zero) {
      using T = decltype(zero);
      tensor.data<T>()[i] = std::is_same_v<T, bool> ? T((i + seed) % 2) : static_cast<T>(value);
    });
  }
  return tensor;
}

void check_same(const Tensor& a, const Tensor& b, Same same) {
  BOOST_REQUIRE(a.type() == b.type());
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double p = a.at(i), q = b.at(i);
    if (std::isnan(p) && std::isnan(q)) continue;
    if (same == Same::bits) {
      BOOST_TEST((p == q && std::signbit(p) == std::signbit(q)), p << " and " << q);
    } else {
      BOOST_TEST((p == q || std::abs(p - q) <= 1e-6 * std::max(std::abs(p), 1.0)),
                 p << " and " << q);
    }
  }
}

Graph only_rule(const Graph& graph, std::string_view name) {
  for (const AlgebraRule& rule : algebra_rules())
    if (rule.name == name) return remove_dead(simplify_algebra(graph, std::span(&rule, 1)));
  BOOST_FAIL("no rule " << name);
  return {};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(algebra)

BOOST_AUTO_TEST_CASE(every_rule_gives_the_text_and_the_numbers_it_should) {
  for (const RuleCase& test : rule_cases()) {
    BOOST_TEST_CONTEXT("rule " << test.rule) {
      Build build;
      build.graph.add_output("out", test.build(build).id);
      const Graph after = only_rule(build.graph, test.rule);
      const std::string wanted =
          test.text == stays ? without_inputs(build.graph) : std::string(test.text.substr(1));
      BOOST_TEST(without_inputs(after) == wanted);
      for (unsigned seed = 0; seed < 8; ++seed) {
        Feeds feeds;
        for (NodeId id : build.graph.input_nodes())
          feeds.emplace(build.graph.name(id), feed(build.graph.type(id), test.same, seed + id));
        check_same(evaluate(build.graph, feeds).at("out"), evaluate(after, feeds).at("out"),
                   test.same);
      }
      // The whole table keeps the numbers too.
      const Graph all = simplify(build.graph);
      Feeds feeds;
      for (NodeId id : build.graph.input_nodes())
        feeds.emplace(build.graph.name(id), feed(build.graph.type(id), Same::nearly, id));
      check_same(evaluate(build.graph, feeds).at("out"), evaluate(all, feeds).at("out"),
                 Same::nearly);
    }
  }
}

BOOST_AUTO_TEST_CASE(every_rule_of_the_table_has_a_case) {
  std::set<std::string_view> tested, table;
  for (const RuleCase& test : rule_cases())
    if (test.text != stays) tested.insert(test.rule);
  for (const AlgebraRule& rule : algebra_rules())
    BOOST_TEST(table.insert(rule.name).second, "two rules are named " << rule.name);
  BOOST_TEST(tested == table, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(rules_build_on_each_other_in_one_walk) {
  Build b;
  // ((-x) * -1) / 1 reshaped there and back, minus zero.
  const Value there = reshape((-b.x * -1.0) / 1.0, L{6});
  b.graph.add_output("out", (reshape(there, L{2, 3}) - 0.0).id);
  BOOST_TEST(without_inputs(remove_dead(simplify_algebra(b.graph))) == "output out = %0\n");
}

BOOST_AUTO_TEST_CASE(a_long_chain_of_one_rule_is_walked_without_recursion) {
  Build b;
  Value x = b.x;
  for (int i = 0; i < 100001; ++i) x = -x;
  b.graph.add_output("out", x.id);
  BOOST_TEST(without_inputs(remove_dead(simplify_algebra(b.graph))) ==
             "%10 = neg(%0) : f32[2,3]\noutput out = %10\n");
}

BOOST_AUTO_TEST_SUITE_END()
