// The recurrent network: its energy against loops, its gradient against differences.
#include "models/gru.hpp"

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

constexpr std::int64_t frames = 6;
const std::vector<std::string> names{"w_x", "w_h", "b_x", "b_h", "w_o", "b_o", "h_0"};

// Frames of zeros and ones; behind `length` stands what would change the energy if it were read.
Feeds feeds_of(const Graph& graph, const Gru& model, std::int64_t length) {
  Feeds feeds;
  std::uint32_t stream = 0;
  for (const std::string& name : names) {
    Tensor tensor(graph.type(*graph.find(name)));
    fill_normal<double>({.seed = 7, .stream = stream++}, 0, tensor.values<double>());
    feeds.emplace(name, tensor);
  }
  Tensor x({DType::f64, {frames, model.keys}});
  for (std::int64_t i = 0; i < x.elements(); ++i)
    x.data<double>()[i] = i / model.keys >= length ? 7.5 : i % 3 == 0 || i % 7 == 2 ? 1 : 0;
  feeds.emplace("x", x);
  feeds.emplace("length", Tensor::of<std::int32_t>({}, {static_cast<std::int32_t>(length)}));
  return feeds;
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// -log p of the first `length` frames.
std::vector<double> plain_losses(const Gru& model, const Feeds& feeds, std::int64_t length) {
  const std::int64_t keys = model.keys, units = model.hidden, wide = 3 * units;
  const auto at = [&](const char* name, std::int64_t i) { return feeds.at(name).at(i); };
  std::vector<double> h, losses;
  for (std::int64_t j = 0; j < units; ++j) h.push_back(at("h_0", j));
  for (std::int64_t t = 0; t < length; ++t) {
    std::vector<double> a, c, next;
    for (std::int64_t j = 0; j < wide; ++j) {
      a.push_back(at("b_x", j));
      c.push_back(at("b_h", j));
      for (std::int64_t i = 0; t > 0 && i < keys; ++i)
        a.back() += at("x", (t - 1) * keys + i) * at("w_x", i * wide + j);
      for (std::int64_t i = 0; i < units; ++i)
        c.back() += h[static_cast<std::size_t>(i)] * at("w_h", i * wide + j);
    }
    const auto n_units = static_cast<std::size_t>(units);
    for (std::size_t j = 0; j < n_units; ++j) {
      const double r = logistic(a[j] + c[j]), z = logistic(a[n_units + j] + c[n_units + j]);
      const double n = std::tanh(a[2 * n_units + j] + r * c[2 * n_units + j]);
      next.push_back((1 - z) * n + z * h[j]);
    }
    h = next;
    double loss = 0;
    for (std::int64_t k = 0; k < keys; ++k) {
      double logit = at("b_o", k);
      for (std::int64_t j = 0; j < units; ++j)
        logit += h[static_cast<std::size_t>(j)] * at("w_o", j * keys + k);
      const double p = logistic(logit);
      loss -= at("x", t * keys + k) == 1 ? std::log(p) : std::log(1 - p);
    }
    losses.push_back(loss);
  }
  return losses;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gru_model)

BOOST_AUTO_TEST_CASE(the_energy_is_minus_the_log_joint_of_the_frames_that_count) {
  const Gru model{.keys = 5, .hidden = 4, .prior_sd = 1.5};
  const Graph graph = model.energy_graph(DType::f64, frames);
  for (std::int64_t length : {std::int64_t{1}, std::int64_t{2}, std::int64_t{4}, frames}) {
    const Feeds feeds = feeds_of(graph, model, length);
    const auto values = evaluate(graph, feeds);
    double prior = 0, likelihood = 0;
    std::int64_t count = 0;
    for (const std::string& name : names)
      for (std::int64_t i = 0; i < feeds.at(name).elements(); ++i, ++count)
        prior += feeds.at(name).at(i) * feeds.at(name).at(i) / (2 * 1.5 * 1.5) +
                 std::log(1.5 * std::sqrt(2 * std::numbers::pi));
    BOOST_TEST(count == model.parameter_count());
    BOOST_TEST(values.at("prior").at(0) == prior, tolerance(1e-12));
    const std::vector<double> losses = plain_losses(model, feeds, length);
    BOOST_TEST(values.at("losses").shape() == Shape{frames});
    for (std::int64_t t = 0; t < frames; ++t) {
      const double loss = t < length ? losses[static_cast<std::size_t>(t)] : 0;
      BOOST_TEST(values.at("losses").at(t) == loss, tolerance(1e-12));
      likelihood += loss;
    }
    BOOST_TEST(values.at("likelihood").at(0) == likelihood, tolerance(1e-12));
  }
}

BOOST_AUTO_TEST_CASE(the_terms_of_the_energy_are_the_outputs_of_its_graph) {
  const Gru model{.keys = 3, .hidden = 2};
  Graph graph = model.energy_graph(DType::f64, frames);
  std::vector<Value> weights;
  for (const std::string& name : names) weights.push_back(graph.value(*graph.find(name)));
  const EnergyTerms terms =
      model.energy(weights, graph.value(*graph.find("x")), graph.value(*graph.find("length")));
  const std::vector<Tensor> values = evaluate(
      graph, feeds_of(graph, model, 4),
      {graph.outputs()[0].node, graph.outputs()[1].node, terms.prior.id, terms.likelihood.id});
  BOOST_TEST(values[2].same_bits(values[0]));
  BOOST_TEST(values[3].same_bits(values[1]));
}

BOOST_AUTO_TEST_CASE(the_gradient_is_that_of_differences) {
  const Gru model{.keys = 5, .hidden = 4};
  Graph graph = model.energy_graph(DType::f64, frames);
  const Value u = minibatch_energy(
      {graph.value(graph.outputs()[0].node), graph.value(graph.outputs()[1].node)}, frames, 20);
  for (std::int64_t length : {std::int64_t{1}, std::int64_t{4}, frames})
    // One at a time, so that none hides behind a larger one.
    for (const std::string& name : names)
      BOOST_TEST(
          check_gradient(graph, feeds_of(graph, model, length), u.id, {*graph.find(name)}).worst <
              1e-7,
          name << " of " << length << " frames");
}

BOOST_AUTO_TEST_CASE(parameters_come_in_the_order_of_the_op) {
  Graph graph;
  const Gru model;
  std::string found;
  for (Value parameter : model.parameters(graph, DType::f32))
    found += fmt::format("{}{} ", graph.name(parameter.id), to_string(parameter.shape()));
  BOOST_TEST(found == "w_x[88,600] w_h[200,600] b_x[600] b_h[600] w_o[200,88] b_o[88] h_0[200] ");
  BOOST_TEST(model.parameter_count() == 191888);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
  Graph graph;
  const Gru model{.keys = 3, .hidden = 2};
  const std::vector<Value> weights = model.parameters(graph, DType::f64);
  const Value x = input(graph, "x", {DType::f64, {frames, 3}});
  const Value length = input(graph, "length", {DType::i32, {}});
  BOOST_TEST(error_text([&] { Gru{.keys = 0}.parameter_count(); }) ==
             "[gru] there are 0 keys and 200 hidden units; expected at least 1");
  BOOST_TEST(error_text([&] { Gru{.keys = 3, .hidden = -1}.parameters(graph, DType::f64); }) ==
             "[gru] there are 3 keys and -1 hidden units; expected at least 1");
  BOOST_TEST(error_text([&] { Gru{.hidden = 0}.energy_graph(DType::f64, frames); }) ==
             "[gru] there are 88 keys and 0 hidden units; expected at least 1");
  BOOST_TEST(error_text([&] {
               model.losses({weights.data(), 6}, x, length);
             }) == "[gru] there are 6 parameters; expected 7");
  const char* shapes[] = {"[3,6]", "[2,6]", "[6]", "[6]", "[2,3]", "[3]", "[2]"};
  for (std::size_t k = 0; k < weights.size(); ++k) {
    std::vector<Value> wrong = weights;
    wrong[k] = x;
    BOOST_TEST(error_text([&] { model.energy(wrong, x, length); }) ==
               fmt::format("[gru] parameter '{}' is f64[6,3]; expected the shape {}", names[k],
                           shapes[k]));
  }
  BOOST_TEST(error_text([&] { model.losses(weights, weights[2], length); }) ==
             "[gru] x is f64[6]; expected [frames,3]");
  BOOST_TEST(error_text([&] { model.losses(weights, weights[0], length); }) ==
             "[gru] x is f64[3,6]; expected [frames,3]");
  BOOST_TEST(error_text([&] { model.losses(weights, x, x); }) ==
             "[gru] length is f64[6,3]; expected i32[]");
  BOOST_TEST(error_text([&] {
               model.losses(weights, x, input(graph, "lengths", {DType::i32, {1}}));
             }) == "[gru] length is i32[1]; expected i32[]");
}

BOOST_AUTO_TEST_SUITE_END()
