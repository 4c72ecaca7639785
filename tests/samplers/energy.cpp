// Energies of a prior, a likelihood and logits: their parts, predictions, and what samplers that
// look at means see of them. The numbers come from loops.
#include "samplers/energy.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "engine/algorithms.hpp"
#include "engine/evaluate.hpp"
#include "engine/ops.hpp"
#include "errors.hpp"
#include "samplers/chains.hpp"
#include "samplers/dynamics.hpp"
#include "samplers/finite_difference.hpp"
#include "samplers/learned.hpp"
#include "samplers/psgld.hpp"

namespace whorl {

using namespace testing;
using boost::test_tools::tolerance;

namespace {

constexpr std::int64_t rows = 4, size = 3;
constexpr double scale = 2.5;  // of the likelihood
constexpr std::array<std::array<double, 2>, rows> features{
    {{1, -0.5}, {0.25, 2}, {-1.5, 0.75}, {0.5, 0.5}}};
constexpr std::array<double, rows> labels{1, 0, 0, 1};
constexpr std::array<double, size> theta{0.7, -1.2, 0.4};  // w, then b

// Logistic regression with a normal prior of precision 3 and the constant 10.
Graph logistic(bool with_logits) {
  Graph graph;
  const Value w = input(graph, "w", {DType::f64, {2}}, "parameter");
  const Value b = input(graph, "b", {DType::f64, {}}, "parameter");
  const Value x = input(graph, "x", {DType::f64, {rows, 2}});
  const Value y = input(graph, "y", {DType::f64, {rows}});
  const Value z = matmul(x, w) + b;
  graph.add_output("prior", (1.5 * (sum(square(w)) + square(b)) + 10).id);
  if (with_logits) graph.add_output("logits", z.id);
  graph.add_output("likelihood", sum(softplus(z) - y * z).id);
  return graph;
}

Feeds data() {
  Tensor x({DType::f64, {rows, 2}}), y({DType::f64, {rows}});
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < 2; ++j) x.data<double>()[2 * i + j] = features[i][j];
    y.data<double>()[i] = labels[i];
  }
  return {{"x", x}, {"y", y}};
}

double logit(std::size_t i) {
  return features[i][0] * theta[0] + features[i][1] * theta[1] + theta[2];
}
double prior() {
  double sum = 10;
  for (double t : theta) sum += 1.5 * t * t;
  return sum;
}
double prior_gradient(std::size_t j) { return 3 * theta[j]; }
double likelihood() {
  double sum = 0;
  for (std::size_t i = 0; i < rows; ++i)
    sum += std::log1p(std::exp(logit(i))) - labels[i] * logit(i);
  return sum;
}
double likelihood_gradient(std::size_t j) {
  double sum = 0;
  for (std::size_t i = 0; i < rows; ++i)
    sum += (1 / (1 + std::exp(-logit(i))) - labels[i]) * (j == 2 ? 1 : features[i][j]);
  return sum;
}
double softplus_of(double x) { return std::log1p(std::exp(x)); }

// The values of nodes at theta and the momentum (1, 2, 3).
std::vector<Tensor> values(const Graph& graph, const std::vector<Value>& wanted) {
  Feeds feeds = data();
  feeds.emplace("position", Tensor::of<double>({size}, {theta[0], theta[1], theta[2]}));
  feeds.emplace("momentum", Tensor::of<double>({size}, {1, 2, 3}));
  feeds.emplace("step_size", Tensor::scalar(0.1));
  std::vector<NodeId> ids;
  for (Value value : wanted) ids.push_back(value.id);
  // The weights are those of the sampler below.
  feeds.emplace(std::string(curl_weights), Tensor::of<double>({9}, {1, 0, -1, 0, 0, 0, 1, -1, 0}));
  feeds.emplace(std::string(diffusion_weights),
                Tensor::of<double>({11}, {0, 0, 1, 0, 0, -1, 0, 0, 1, -1, 0}));
  return evaluate(graph, feeds, ids);
}

// relu(x) - relu(-x) = x: Q is the energy as the networks see it, and D the softplus of the
// gradient.
LearnedSampler transparent_sampler() {
  LearnedSampler sampler;
  sampler.curl.hidden = sampler.diffusion.hidden = {2};
  sampler.curl.inputs.resize(2);
  sampler.diffusion.inputs.resize(3);
  sampler.curl.weights = {1, 0, -1, 0, 0, 0, 1, -1, 0};
  sampler.diffusion.weights = {0, 0, 1, 0, 0, -1, 0, 0, 1, -1, 0};
  sampler.diffusion.transform = Transform::softplus;
  return sampler;
}

// Q, D and the correction of the momentum at theta.
std::vector<Tensor> seen(const LearnedSampler& sampler, const TaskStatistics& task) {
  const Energy energy(logistic(true), scale);
  StepBuilder step(energy, {});
  const Value momentum = step.state("momentum", step.vector());
  const State state{{step.position(), momentum}, step.energy(), step.gradient()};
  const Terms terms = complete_recipe(learned_dynamics(sampler, task)).terms(step, state, 1);
  return values(step.graph(), {terms.by_gradient, terms.diffusion, terms.correction});
}

std::string step_error(const Energy& energy, const LearnedSampler& sampler,
                       const TaskStatistics& task) {
  const std::string exact =
      error_text([&] { recipe_step(energy, complete_recipe(learned_dynamics(sampler, task))); });
  const std::string differences =
      error_text([&] { finite_difference_step(energy, sampler, task); });
  BOOST_TEST(exact == differences);
  return exact;
}

Energy round_energy() {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {size}}, "parameter");
  graph.add_output("U", (0.5 * sum(square(x))).id);
  return Energy(std::move(graph));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(energy)

BOOST_AUTO_TEST_CASE(an_energy_tells_its_prior_apart) {
  const Energy energy(logistic(true), scale);
  Graph graph;
  const Value position = input(graph, "position", {DType::f64, {size}});
  const Energy::Parts parts = energy.parts(position);
  const std::vector<Tensor> found = values(graph, {parts.energy, parts.prior});
  BOOST_TEST(found[0].at(0) == prior() + scale * likelihood(), tolerance(1e-14));
  BOOST_TEST(found[1].at(0) == prior(), tolerance(1e-14));
  BOOST_TEST(!round_energy().parts(position).prior);
}

BOOST_AUTO_TEST_CASE(a_step_has_the_prior_and_its_gradient) {
  const Energy energy(logistic(false), scale);
  StepBuilder step(energy, {});
  const auto found =
      values(step.graph(), {step.energy(), step.prior(), step.gradient(), step.prior_gradient()});
  BOOST_TEST(found[0].at(0) == prior() + scale * likelihood(), tolerance(1e-14));
  BOOST_TEST(found[1].at(0) == prior(), tolerance(1e-14));
  for (std::size_t j = 0; j < size; ++j) {
    const auto at = static_cast<std::int64_t>(j);
    BOOST_TEST(found[2].at(at) == prior_gradient(j) + scale * likelihood_gradient(j),
               tolerance(1e-13));
    BOOST_TEST(found[3].at(at) == prior_gradient(j), tolerance(1e-14));
  }

  const Energy round = round_energy();
  StepBuilder single(round, {});
  BOOST_TEST(!single.prior());
  BOOST_TEST(!single.prior_gradient());
}

BOOST_AUTO_TEST_CASE(a_prior_that_does_not_know_the_parameters_has_no_gradient) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {size}}, "parameter");
  graph.add_output("prior", fill(graph, {DType::f64, {}}, 2).id);
  graph.add_output("likelihood", sum(square(x)).id);
  const Energy energy(std::move(graph));
  StepBuilder step(energy, {});
  const auto found = values(step.graph(), {step.prior(), step.prior_gradient()});
  BOOST_TEST(found[0].at(0) == 2);
  for (std::int64_t j = 0; j < size; ++j) BOOST_TEST(found[1].at(j) == 0);
}

BOOST_AUTO_TEST_CASE(the_gradient_of_the_prior_has_no_noise) {
  const Energy energy(logistic(false), scale);
  const auto prior_gradient_with = [&](double noise) {
    StepBuilder step(energy, {.injected_noise = noise});
    return values(step.graph(), {step.prior_gradient()})[0].clone();
  };
  BOOST_TEST(prior_gradient_with(0).same_bits(prior_gradient_with(3)));
}

BOOST_AUTO_TEST_CASE(a_prediction_is_a_graph_of_the_flat_parameters_and_the_data) {
  const Graph graph = Energy(logistic(true), scale).prediction();
  std::vector<std::string> inputs;
  for (NodeId id : graph.input_nodes()) inputs.emplace_back(graph.name(id));
  BOOST_TEST(inputs == (std::vector<std::string>{"theta", "x", "y"}),
             boost::test_tools::per_element());
  BOOST_TEST_REQUIRE(graph.outputs().size() == 1u);
  // Of the energy nothing is left.
  BOOST_TEST(!needed_for(graph, {graph.outputs()[0].node})[*graph.find("y")]);
  for (NodeId id = 0; id < graph.size(); ++id) BOOST_TEST(graph.op(id).name != "softplus");
  Feeds feeds = data();
  feeds.emplace("theta", Tensor::of<double>({size}, {theta[0], theta[1], theta[2]}));
  const auto found = evaluate(graph, feeds);
  for (std::size_t i = 0; i < rows; ++i)
    BOOST_TEST(found.at("logits").at(static_cast<std::int64_t>(i)) == logit(i), tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(without_logits_there_is_no_prediction) {
  BOOST_TEST(error_text([] { Energy(logistic(false)).prediction(); }) ==
             "[predict] the energy has no output 'logits', from which predictions are made");
}

BOOST_AUTO_TEST_CASE(logits_may_be_beside_an_energy_of_one_output) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {size}}, "parameter");
  graph.add_output("logits", (2 * x).id);
  graph.add_output("U", (0.5 * sum(square(x))).id);
  const Energy energy(std::move(graph));
  Graph other;
  const Energy::Parts parts = energy.parts(input(other, "position", {DType::f64, {size}}));
  BOOST_TEST(!parts.prior);
  BOOST_TEST(values(other, {parts.energy})[0].at(0) == (0.7 * 0.7 + 1.2 * 1.2 + 0.4 * 0.4) / 2,
             tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(sampling_does_not_look_at_logits) {
  const auto end_of = [](bool with_logits) {
    const Energy energy(logistic(with_logits), scale);
    const Step step = recipe_step(energy, complete_recipe(sghmc_dynamics(1)));
    BOOST_TEST(!step.graph.find("logits"));
    for (const Graph::Output& output : step.graph.outputs()) BOOST_TEST(output.name != "logits");
    Chains chains(step, {.chains = 2, .seed = 3});
    for (const auto& [name, value] : data()) chains.bind(name, value);
    chains.start("position", {Start::Kind::uniform, -2, 2});
    for (int i = 0; i < 5; ++i) chains.advance([](std::int64_t) { return 0.1; });
    return chains.state("position").clone();
  };
  BOOST_TEST(end_of(true).same_bits(end_of(false)));
}

BOOST_AUTO_TEST_CASE(networks_see_means_with_the_prior_weighed) {
  LearnedSampler sampler = transparent_sampler();
  sampler.energy_input = EnergyInput::mean_log_joint;
  sampler.mean_gradient = true;
  const double n = 10;  // N
  for (std::int64_t trained : {0, 3, 6, 1}) {
    sampler.trained_size = trained;
    const double weight = trained == 0 ? 1 : static_cast<double>(trained) / size;
    const auto found = seen(sampler, {.rows = n});
    const double u = -(scale * likelihood() + weight * prior()) / n;
    for (std::size_t j = 0; j < size; ++j) {
      const auto at = static_cast<std::int64_t>(j);
      const double g = (scale * likelihood_gradient(j) + weight * prior_gradient(j)) / n;
      BOOST_TEST(found[0].at(at) == u, tolerance(1e-13));
      BOOST_TEST(found[1].at(at) == softplus_of(g), tolerance(1e-13));
      // Gamma of the momentum: dQ/dtheta = du/dtheta = -g.
      BOOST_TEST(found[2].at(at) == -g, tolerance(1e-12));
    }
  }
}

BOOST_AUTO_TEST_CASE(each_mean_is_taken_by_itself) {
  LearnedSampler sampler = transparent_sampler();
  sampler.trained_size = 6;
  const double u = prior() + scale * likelihood(), n = 10;
  const auto whole = [](std::size_t j) {
    return prior_gradient(j) + scale * likelihood_gradient(j);
  };
  // Neither: the size of the training does not matter.
  auto found = seen(sampler, {});
  BOOST_TEST(found[0].at(0) == u, tolerance(1e-13));
  BOOST_TEST(found[1].at(1) == softplus_of(whole(1)), tolerance(1e-13));
  BOOST_TEST(found[2].at(2) == whole(2), tolerance(1e-12));

  sampler.mean_gradient = true;
  found = seen(sampler, {.rows = n});
  BOOST_TEST(found[0].at(0) == u, tolerance(1e-13));
  BOOST_TEST(found[1].at(1) == softplus_of((whole(1) + prior_gradient(1)) / n), tolerance(1e-13));
  BOOST_TEST(found[2].at(2) == whole(2), tolerance(1e-12));

  sampler.mean_gradient = false;
  sampler.energy_input = EnergyInput::mean_log_joint;
  found = seen(sampler, {.rows = n});
  BOOST_TEST(found[0].at(0) == -(u + prior()) / n, tolerance(1e-13));
  BOOST_TEST(found[1].at(1) == softplus_of(whole(1)), tolerance(1e-13));
  BOOST_TEST(found[2].at(2) == -(whole(2) + prior_gradient(2)) / n, tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(means_need_rows_and_a_weighed_prior_needs_a_prior) {
  LearnedSampler energies = transparent_sampler(), gradients = transparent_sampler();
  energies.energy_input = EnergyInput::mean_log_joint;
  gradients.mean_gradient = true;
  for (LearnedSampler sampler : {energies, gradients}) {
    BOOST_TEST(sampler.needs_rows());
    BOOST_TEST(!sampler.needs_statistics());
    BOOST_TEST(step_error(round_energy(), sampler, {}) ==
               "[sampler] the sampler looks at means over rows of data, and the target has none");
    for (std::int64_t trained : {std::int64_t{0}, size}) {
      sampler.trained_size = trained;
      BOOST_TEST(step_error(round_energy(), sampler, {.rows = 2}) == "");
    }
    sampler.trained_size = 7;
    BOOST_TEST(
        step_error(round_energy(), sampler, {.rows = 2}) ==
        "[sampler] the sampler weighs the prior by its 7 weights in training over 3 here, so "
        "the energy must have the outputs 'prior' and 'likelihood'");
  }
  BOOST_TEST(!transparent_sampler().needs_rows());
}

BOOST_AUTO_TEST_CASE(moments_of_the_likelihood_need_a_prior_to_leave_out) {
  PsgldOptions options;
  options.likelihood_only = true;
  BOOST_TEST(error_text([&] { psgld_step(round_energy(), options); }) ==
             "[psgld] moments of the likelihood alone need an energy with the outputs 'prior' and "
             "'likelihood'");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
