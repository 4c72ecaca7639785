// The example graphs load without warnings, survive saving, and compute what they say.
#include <cmath>

#include "engine/evaluate.hpp"
#include "tests/graphs/files.hpp"

using namespace whorl;
using namespace whorl::test;

namespace {

Graph example(std::string_view name) {
  LoadReport report;
  LoadOptions options;
  options.report = &report;
  const Graph graph = load_graph(std::filesystem::path(WHORL_SOURCE_DIR) / "graphs" / "examples" /
                                     fmt::format("{}.pbtxt", name),
                                 options);
  for (const std::string& warning : report.warnings) BOOST_ERROR(warning);
  check_same(graph, parse_graph(to_pbtxt(graph), "text"));
  check_same(graph, parse_graph(to_binary(graph), "binary"));
  return graph;
}

// Two features that are waves over the rows, and one that is constant.
Feeds regression_feeds() {
  Tensor x({DType::f32, {200, 3}}), y({DType::f32, {200}});
  for (int i = 0; i < 200; ++i) {
    x.data<float>()[3 * i] = std::sin(0.3f * static_cast<float>(i));
    x.data<float>()[3 * i + 1] = std::cos(0.7f * static_cast<float>(i));
    x.data<float>()[3 * i + 2] = 0.5f;
    y.data<float>()[i] = i % 3 == 0 ? 1 : 0;
  }
  return {{"x", x},
          {"y", y},
          {"w", Tensor::of<float>({3}, {0.5f, -1, 2})},
          {"b", Tensor::scalar(0.25f)}};
}

// Sums term(x_i . w + b, y_i) over the rows in double, and adds the prior's (w . w + b b) / 2.
template <class Term>
double expected_energy(const Feeds& feeds, Term&& term) {
  const auto at = [&](const char* name, std::int64_t i) { return feeds.find(name)->second.at(i); };
  double energy = at("b", 0) * at("b", 0) / 2;
  for (int j = 0; j < 3; ++j) energy += at("w", j) * at("w", j) / 2;
  for (int i = 0; i < 200; ++i) {
    double z = at("b", 0);
    for (int j = 0; j < 3; ++j) z += at("x", 3 * i + j) * at("w", j);
    energy += term(z, at("y", i));
  }
  return energy;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(examples)

BOOST_AUTO_TEST_CASE(logistic_regression_is_its_formula) {
  const Feeds feeds = regression_feeds();
  const double expected =
      expected_energy(feeds, [](double z, double y) { return std::log1p(std::exp(z)) - y * z; });
  const double found = evaluate(example("logistic_regression"), feeds).at("u").at(0);
  BOOST_CHECK_CLOSE(found, expected, 1e-4);
}

BOOST_AUTO_TEST_CASE(linear_regression_is_its_formula) {
  const Feeds feeds = regression_feeds();
  const double expected =
      expected_energy(feeds, [](double z, double y) { return (z - y) * (z - y) * 4 / 2; });
  const double found = evaluate(example("linear_regression"), feeds).at("u").at(0);
  BOOST_CHECK_CLOSE(found, expected, 1e-4);
}

BOOST_AUTO_TEST_CASE(leapfrog_turns_by_its_angle_and_keeps_the_energy) {
  const Feeds feeds{{"q", Tensor::of<float>({3}, {1, 0, -2})},
                    {"p", Tensor::of<float>({3}, {0, 1, 0.5f})}};
  const auto results = evaluate(example("leapfrog"), feeds);
  const double before = (1 + 4 + 1 + 0.25) / 2;
  const Tensor& energies = results.at("energies");
  BOOST_REQUIRE_EQUAL(energies.elements(), 10);
  for (int i = 0; i < 10; ++i) BOOST_CHECK_CLOSE(energies.at(i), before, 0.5);
  // Leapfrog at h turns (q, p) by acos(1 - h^2 / 2) a step, up to an error of order h^2.
  const double angle = 10 * std::acos(1 - 0.01 / 2);
  BOOST_CHECK_SMALL(results.at("q_end").at(0) - std::cos(angle), 2e-3);
  BOOST_CHECK_SMALL(results.at("p_end").at(1) - std::cos(angle), 2e-3);
}

BOOST_AUTO_TEST_CASE(langevin_steps_draw_new_noise_in_every_iteration) {
  const Graph graph = example("langevin");
  std::vector<NodeId> noise;
  for (int i = 0; i < 5; ++i) {
    const auto id = graph.find(fmt::format("path/{}/noise", i));
    BOOST_REQUIRE(id.has_value());
    noise.push_back(*id);
  }
  const Feeds feeds{{"q", Tensor::of<float>({3}, {0, 0, 0})},
                    {"seed", Tensor::of<std::int32_t>({2}, {1, 2})},
                    {"step", Tensor::scalar<std::int32_t>(7)}};
  const auto drawn = evaluate(graph, feeds, noise);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < i; ++j)
      BOOST_CHECK(
          !drawn[static_cast<std::size_t>(i)].same_bits(drawn[static_cast<std::size_t>(j)]));
}

BOOST_AUTO_TEST_SUITE_END()
