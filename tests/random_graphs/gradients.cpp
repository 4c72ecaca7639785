// Gradients of random graphs against frozen differences along random directions.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>

#include "autodiff/numeric.hpp"
#include "autodiff/tape.hpp"
#include "engine/ops.hpp"
#include "generator.hpp"
#include "random_source.hpp"

using namespace whorl;
using namespace whorl::testing;

namespace {

// A graph with its inputs' gradients and one direction for each input.
struct Directional {
  const RandomGraph& g;
  std::vector<NodeId> xs;
  std::vector<Tensor> directions;

  Directional(const RandomGraph& graph, RandomSource& random) : g(graph) {
    for (const Value& x : g.inputs) {
      xs.push_back(x.id);
      Tensor direction(x.type());
      for (double& d : direction.values<double>()) d = random.uniform(-1, 1);
      directions.push_back(direction);
    }
  }
  double by_rule() const {
    double slope = 0;
    const auto outputs = evaluate(*g.graph, g.feeds);
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const Tensor& d = outputs.at(fmt::format("d{}", i));
      for (std::int64_t k = 0; k < d.elements(); ++k) slope += d.at(k) * directions[i].at(k);
    }
    return slope;
  }
  double by_difference(double step) const {
    return numeric_slope(*g.graph, g.feeds, g.y.id, xs, directions, {step});
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(gradients)

BOOST_AUTO_TEST_CASE(gradients_agree_with_frozen_differences) {
  constexpr std::uint64_t graphs = 500;
  int compared = 0, at_corners = 0;
  double worst = 0;
  for (std::uint64_t seed = 0; seed < graphs; ++seed) {
    const RandomGraph g = random_graph(seed, small_options(seed, DType::f64));
    RandomSource random(seed);
    const Directional along(g, random);
    const double fine = along.by_difference(2e-5), coarse = along.by_difference(1e-4);
    const double scale = std::max({1.0, std::abs(fine), std::abs(coarse)});
    // Two steps that disagree tell of a corner (relu, max, a comparison) or of a jump close by.
    if (std::abs(fine - coarse) > 1e-6 * scale) {
      ++at_corners;
      continue;
    }
    const double error = std::abs(along.by_rule() - fine) / scale;
    BOOST_TEST(error < 1e-6, "seed " << seed << ": rule " << along.by_rule() << ", difference "
                                     << fine << "\n"
                                     << to_text(*g.graph));
    worst = std::max(worst, error);
    ++compared;
  }
  BOOST_TEST_MESSAGE(fmt::format("{} compared, {} at corners, worst relative error {:.1e}",
                                 compared, at_corners, worst));
  BOOST_TEST(compared >= 450);
}

// Second order: the slope of <gradient, r> for a fixed random r.
BOOST_AUTO_TEST_CASE(gradients_of_gradients_agree_with_frozen_differences) {
  constexpr std::uint64_t graphs = 200;
  int compared = 0;
  for (std::uint64_t seed = 1000; seed < 1000 + graphs; ++seed) {
    RandomGraph g = random_graph(seed, small_options(seed, DType::f64));
    RandomSource random(seed);
    Value functional;
    const auto first = gradient(g.y, g.inputs, {.allow_unused = true});
    for (const Value& dx : first) {
      Tensor weights(dx.type());
      for (double& w : weights.values<double>()) w = random.uniform(-1, 1);
      const Value term = sum(dx * constant(*g.graph, weights));
      functional = functional ? functional + term : term;
    }
    const auto second = gradient(functional, g.inputs, {.allow_unused = true});
    g.graph->clear_outputs();
    for (std::size_t i = 0; i < second.size(); ++i)
      g.graph->add_output(fmt::format("d{}", i), second[i].id);
    g.y = functional;
    const Directional along(g, random);
    const double fine = along.by_difference(2e-5), coarse = along.by_difference(1e-4);
    const double scale = std::max({1.0, std::abs(fine), std::abs(coarse)});
    if (!(std::abs(fine - coarse) <= 1e-5 * scale)) continue;
    BOOST_TEST(std::abs(along.by_rule() - fine) < 1e-5 * scale,
               "seed " << seed << ": rule " << along.by_rule() << ", difference " << fine);
    ++compared;
  }
  BOOST_TEST(compared >= 150);
}

// A generator that lost a family would test less without a word.
BOOST_AUTO_TEST_CASE(the_generator_uses_nearly_all_ops) {
  std::map<std::string_view, int> uses;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const RandomGraph g = random_graph(seed, small_options(seed, DType::f64));
    for (NodeId id = 0; id < g.graph->size(); ++id) ++uses[g.graph->op(id).name];
  }
  int unused = 0;
  for (const OpDef* op : all_ops())
    if (!uses.contains(op->name)) {
      BOOST_TEST_MESSAGE("not in a random graph: " << op->name);
      ++unused;
    }
  BOOST_TEST(unused <= 8);
}

BOOST_AUTO_TEST_SUITE_END()
