// Neural networks: energies against loops, gradients against differences.
#include "models/mlp.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numbers>

#include "autodiff/numeric.hpp"
#include "engine/evaluate.hpp"
#include "engine/ops.hpp"
#include "engine/random.hpp"
#include "tests/support/errors.hpp"

using namespace whorl;
using boost::test_tools::tolerance;
using whorl::testing::error_text;

namespace {

constexpr int rows = 7;

Feeds feeds_of(const Graph& graph) {
  Feeds feeds;
  std::uint32_t stream = 0;
  for (NodeId id : graph.input_nodes()) {
    Tensor tensor(graph.type(id));
    if (tensor.dtype() == DType::f64)
      fill_normal<double>({.seed = 3, .stream = stream++}, 0, tensor.values<double>());
    else
      for (int i = 0; i < rows; ++i) tensor.data<std::int32_t>()[i] = i % 3;
    feeds.emplace(std::string(graph.name(id)), tensor);
  }
  return feeds;
}

double activated(Activation activation, double x) {
  if (activation == Activation::relu) return x > 0 ? x : 0;
  return activation == Activation::tanh ? std::tanh(x) : 1 / (1 + std::exp(-x));
}

// Minus the log-likelihood of all rows.
double plain_likelihood(const Mlp& model, const Feeds& feeds) {
  double total = 0;
  for (int row = 0; row < rows; ++row) {
    std::vector<double> h;
    for (int i = 0; i < model.layers[0]; ++i)
      h.push_back(feeds.at("x").at(row * model.layers[0] + i));
    for (std::size_t l = 1; l < model.layers.size(); ++l) {
      const Tensor& w = feeds.at(fmt::format("W{}", l));
      const Tensor& b = feeds.at(fmt::format("b{}", l));
      std::vector<double> next;
      for (std::int64_t j = 0; j < model.layers[l]; ++j) {
        double z = b.at(j);
        for (std::int64_t i = 0; i < model.layers[l - 1]; ++i)
          z += h[static_cast<std::size_t>(i)] * w.at(i * model.layers[l] + j);
        next.push_back(l + 1 < model.layers.size() ? activated(model.activation, z) : z);
      }
      h = next;
    }
    double mass = 0;
    for (double z : h) mass += std::exp(z);
    total += std::log(mass) - h[static_cast<std::size_t>(feeds.at("y").data<std::int32_t>()[row])];
  }
  return total;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(mlp)

BOOST_AUTO_TEST_CASE(the_energy_is_minus_the_log_joint) {
  for (Activation activation : {Activation::relu, Activation::sigmoid, Activation::tanh}) {
    const Mlp model{{4, 5, 6, 3}, activation, 1.5};
    const Graph graph = model.energy_graph(DType::f64, rows);
    const Feeds feeds = feeds_of(graph);
    const std::vector<Tensor> values =
        evaluate(graph, feeds, {graph.outputs()[0].node, graph.outputs()[1].node});
    double prior = 0;
    std::int64_t count = 0;
    for (const auto& [name, tensor] : feeds) {
      if (name == "x" || name == "y") continue;
      for (std::int64_t i = 0; i < tensor.elements(); ++i, ++count)
        prior += tensor.at(i) * tensor.at(i) / (2 * 1.5 * 1.5) +
                 std::log(1.5 * std::sqrt(2 * std::numbers::pi));
    }
    BOOST_TEST(count == model.parameter_count());
    BOOST_TEST(values[0].at(0) == prior, tolerance(1e-13));
    BOOST_TEST(values[1].at(0) == plain_likelihood(model, feeds), tolerance(1e-13));
  }
}

BOOST_AUTO_TEST_CASE(the_gradient_is_that_of_differences) {
  for (Activation activation : {Activation::relu, Activation::sigmoid, Activation::tanh}) {
    const Mlp model{{4, 5, 3}, activation};
    Graph graph = model.energy_graph(DType::f64, rows);
    const Value u = minibatch_energy(
        {graph.value(graph.outputs()[0].node), graph.value(graph.outputs()[1].node)}, rows, 100);
    const std::vector<NodeId> wrt{*graph.find("W1"), *graph.find("b1"), *graph.find("W2"),
                                  *graph.find("b2")};
    BOOST_TEST(check_gradient(graph, feeds_of(graph), u.id, wrt).worst < 1e-7);
  }
}

BOOST_AUTO_TEST_CASE(parameters_come_layer_by_layer) {
  Graph graph;
  const Mlp model{{784, 40, 40, 10}};
  std::string names;
  for (Value parameter : model.parameters(graph, DType::f32))
    names += fmt::format("{}{} ", graph.name(parameter.id), to_string(parameter.shape()));
  BOOST_TEST(names == "W1[784,40] b1[40] W2[40,40] b2[40] W3[40,10] b3[10] ");
  BOOST_TEST(model.parameter_count() == 33450);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
  Graph graph;
  const Mlp model{{4, 3}};
  const std::vector<Value> weights = model.parameters(graph, DType::f64);
  const Value x = input(graph, "x", {DType::f64, {rows, 4}});
  BOOST_TEST(error_text([&] { Mlp{{4}}.parameter_count(); }) ==
             "[mlp] there are 1 layers; expected the inputs and the classes");
  BOOST_TEST(error_text([&] {
               Mlp{{4, 0, 2}}.parameters(graph, DType::f64);
             }) == "[mlp] a layer has no units");
  BOOST_TEST(error_text([&] {
               model.logits({weights.data(), 1}, x);
             }) == "[mlp] there are 1 parameters; expected 2, W and b of each layer");
  BOOST_TEST(error_text([&] {
               model.logits(std::vector{weights[0], weights[0]}, x);
             }) == "[mlp] parameter 1 is f64[4,3]; expected the shape [3]");
  BOOST_TEST(error_text([&] { model.logits(weights, weights[1]); }) ==
             "[mlp] x is f64[3]; expected [rows,4]");
  BOOST_TEST(error_text([&] { model.energy(weights, x, x); }) ==
             "[mlp] y is f64[7,4]; expected i32[7], a label for each row of x");
}

BOOST_AUTO_TEST_SUITE_END()
