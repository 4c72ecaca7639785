// Meta-gradients of the sampler library: against an independent program, and against differences.
#include "samplers/meta_training.hpp"

#include <boost/test/unit_test.hpp>
#include <numbers>

#include "autodiff/numeric.hpp"
#include "autodiff/tape.hpp"
#include "engine/compile.hpp"
#include "engine/executor.hpp"
#include "engine/ops.hpp"
#include "losses/kl.hpp"
#include "samplers/learned.hpp"
#include "tests/support/vectors/metagradient.hpp"

using namespace whorl;
namespace given = whorl::testing::metagradient_vectors;

namespace {

// The two-dimensional Gaussian of the vectors, whose constant has a single log 2 pi.
Energy vector_energy() {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {2}}, "parameter");
  const Value precision = constant(
      graph, Tensor::of<double>({2}, {1 / given::covariance[0], 1 / given::covariance[3]}));
  const double determinant = given::covariance[0] * given::covariance[3];
  graph.add_output("U", (0.5 * sum(square(x - 3) * precision) +
                         0.5 * std::log(2 * std::numbers::pi * determinant))
                            .id);
  return Energy(std::move(graph));
}

LearnedSampler vector_sampler() {
  LearnedSampler sampler;
  for (Network* network : {&sampler.curl, &sampler.diffusion})
    network->hidden = {given::hidden, given::hidden};
  sampler.curl.inputs.resize(2);
  sampler.diffusion.inputs.resize(3);
  sampler.curl.low = -5;
  sampler.diffusion.transform = Transform::absolute;
  sampler.curl.high = sampler.diffusion.high = 5;
  sampler.curl.weights.assign(std::begin(given::q_weights), std::end(given::q_weights));
  sampler.diffusion.weights.assign(std::begin(given::d_weights), std::end(given::d_weights));
  return sampler;
}

Snapshot snapshot(const Unrolled& unrolled, std::size_t t) {
  const Moment& after = unrolled.moments[t + 1];
  return {after.state.at("position"), after.statistics.at("gradient")};
}

struct VectorRollout {
  Graph graph;
  Unrolled unrolled;
  Feeds feeds;
  std::unordered_map<NodeId, Tensor> noise;

  VectorRollout() {
    RecipeOptions options;
    options.gradient.injected_noise = 1;
    const Step step =
        recipe_step(vector_energy(), complete_recipe(learned_dynamics(vector_sampler())), options);
    unrolled = unroll(graph, step, {given::chains, given::steps, 5});
    const Shape state{given::chains, given::coordinates};
    feeds.emplace("position", Tensor::of<double>(state, given::start_position));
    feeds.emplace("momentum", Tensor::of<double>(state, given::start_momentum));
    feeds.emplace("seed", Tensor(Type{DType::i32, {2}}));
    feeds.emplace("step", Tensor(Type{DType::i32, {}}));
    Tensor sizes(Type{DType::f64, {given::steps}});
    for (double& size : sizes.values<double>()) size = 0.01;
    feeds.emplace("step_sizes", sizes);
    for (const StepParameter& parameter : step.parameters)
      feeds.emplace(parameter.name, parameter.value);
    freeze_noise(state);
  }

  // Random nodes stand in the order of the step: the gradient's noise, then the momentum's.
  void freeze_noise(const Shape& state) {
    std::size_t draw = 0;
    for (NodeId id = 0; id < graph.size(); ++id) {
      if (!graph.op(id).is(Traits::random)) continue;
      const auto size = static_cast<std::size_t>(state.elements());
      noise.emplace(
          id, Tensor::of<double>(state, std::span(given::noise).subspan(size * draw++, size)));
    }
    BOOST_TEST(draw == 2u * given::steps);
  }

  double distance(Value value, std::span<const double> wanted) const {
    const Tensor found = evaluate(graph, feeds, {value.id}, {.frozen = &noise}).front();
    BOOST_TEST(found.elements() == static_cast<std::int64_t>(wanted.size()));
    double worst = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      worst = std::max(worst, std::abs(found.values<double>()[i] - wanted[i]));
    return worst;
  }

  void check_gradient(Value loss, std::span<const double> by_q, std::span<const double> by_d) {
    const auto& weights = unrolled.parameters;
    const std::vector<Value> found = gradient(
        loss, {weights.find(curl_weights)->second, weights.find(diffusion_weights)->second});
    BOOST_TEST(distance(found[0], by_q) < 1e-9);
    BOOST_TEST(distance(found[1], by_d) < 1e-9);
  }
};

// A sampler without corners, so that differences see none.
LearnedSampler smooth_sampler() {
  LearnedSampler sampler;
  for (Network* network : {&sampler.curl, &sampler.diffusion}) {
    network->hidden = {5};
    network->activation = "tanh";
  }
  sampler.curl.inputs.resize(2);
  sampler.diffusion.inputs.resize(3);
  sampler.diffusion.transform = Transform::softplus;
  sampler.alpha = 0.3;
  sampler.beta = 1;
  sampler.c = 0.1;
  sampler.energy_input = EnergyInput::asinh;
  sampler.scale_gradient = true;
  draw_weights(sampler, 3);
  return sampler;
}

Energy quartic_energy(DType dtype) {
  Graph graph;
  const Value x = input(graph, "x", {dtype, {3}}, "parameter");
  graph.add_output("U", (0.5 * sum(square(x)) + 0.1 * sum(square(square(x)))).id);
  return Energy(std::move(graph));
}

MetaTrainingOptions small_training(bool separate) {
  MetaTrainingOptions options;
  options.unroll = {6, 8, 4};
  options.clip = 1;
  options.separate_updates = separate;
  options.trained = {std::string(curl_weights), std::string(diffusion_weights)};
  options.statistics = {"energy"};
  return options;
}

std::vector<MetaLoss> both_losses(Graph& graph, const std::vector<Moment>& moments) {
  std::vector<Snapshot> snapshots;
  for (std::size_t t = 1; t < moments.size(); ++t)
    snapshots.push_back({moments[t].state.at("position"), moments[t].statistics.at("gradient")});
  const Value chains = constant(graph, Tensor::of<std::int32_t>({2}, {1, 4}));
  return {{"cross", cross_chain_loss(snapshots)}, {"in", in_chain_loss(snapshots, chains)}};
}

Step smooth_step(DType dtype, bool differentiable) {
  RecipeOptions options;
  options.gradient.injected_noise = 0.5;
  options.gradient.differentiable = differentiable;
  return recipe_step(quartic_energy(dtype), complete_recipe(learned_dynamics(smooth_sampler())),
                     options);
}

template <class T>
Feeds some_feeds(const Graph& graph, const Step& step) {
  Feeds feeds;
  for (NodeId id : graph.input_nodes()) {
    Tensor tensor(graph.type(id));
    if (is_float(tensor.dtype()))
      for (std::int64_t i = 0; i < tensor.elements(); ++i)
        tensor.data<T>()[i] = static_cast<T>(std::sin(1.0 + 0.7 * static_cast<double>(i)));
    feeds.emplace(std::string(graph.name(id)), tensor);
  }
  for (T& size : feeds.at("step_sizes").template values<T>()) size = T(0.05);
  for (const StepParameter& parameter : step.parameters)
    feeds.insert_or_assign(parameter.name, parameter.value);
  return feeds;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(meta_training)

BOOST_AUTO_TEST_CASE(the_path_is_that_of_an_independent_program) {
  const VectorRollout rollout;
  BOOST_TEST(rollout.distance(rollout.unrolled.state.at("position"), given::last_position) < 1e-12);
  BOOST_TEST(rollout.distance(rollout.unrolled.state.at("momentum"), given::last_momentum) < 1e-12);
}

BOOST_AUTO_TEST_CASE(the_cross_chain_metagradient_is_that_of_an_independent_program) {
  VectorRollout rollout;
  std::vector<Snapshot> every_second;
  for (std::size_t t = 0; t + 1 < given::steps; t += 2)
    every_second.push_back(snapshot(rollout.unrolled, t));
  rollout.check_gradient(cross_chain_loss(every_second), given::cross_by_q, given::cross_by_d);
}

BOOST_AUTO_TEST_CASE(the_in_chain_metagradient_is_that_of_an_independent_program) {
  VectorRollout rollout;
  const Value chains = constant(rollout.graph, Tensor::of<std::int32_t>({3}, {1, 3, 5}));
  const std::vector<Snapshot> points{snapshot(rollout.unrolled, 4), snapshot(rollout.unrolled, 7),
                                     snapshot(rollout.unrolled, 10)};
  rollout.check_gradient(in_chain_loss(points, chains), given::in_by_q, given::in_by_d);
}

BOOST_AUTO_TEST_CASE(a_whole_meta_step_agrees_with_frozen_differences) {
  for (bool differentiable : {false, true}) {
    Graph graph;
    const Step step = smooth_step(DType::f64, differentiable);
    const Unrolled unrolled = unroll(graph, step, {6, 8, 4});
    const std::vector<MetaLoss> losses = both_losses(graph, unrolled.moments);
    const Feeds feeds = some_feeds<double>(graph, step);
    for (const MetaLoss& loss : losses) {
      const GradientCheck check =
          check_gradient(graph, feeds, loss.value.id,
                         {unrolled.parameters.find(curl_weights)->second.id,
                          unrolled.parameters.find(diffusion_weights)->second.id});
      BOOST_TEST(check.worst < 1e-6, loss.name << " differs by " << check.worst);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_truncated_gradient_is_that_of_a_chain_that_begins_at_the_cut) {
  // Five steps cut before the third: what comes before the cut is a constant beginning.
  const Step step = smooth_step(DType::f64, false);
  Graph cut, whole, tail;
  const Unrolled with_cut = unroll(cut, step, {4, 5, 3}), first = unroll(whole, step, {4, 2, 0}),
                 last = unroll(tail, step, {4, 3, 0});
  const auto loss_gradient = [](const Unrolled& unrolled) {
    return gradient(sum(square(unrolled.state.at("position"))),
                    unrolled.parameters.find(curl_weights)->second);
  };
  const Feeds feeds = some_feeds<double>(cut, step);
  const Tensor found = evaluate(cut, feeds, {loss_gradient(with_cut).id}).front();

  const std::vector<Tensor> middle =
      evaluate(whole, some_feeds<double>(whole, step),
               {first.state.at("position").id, first.state.at("momentum").id});
  Feeds later = some_feeds<double>(tail, step);
  later.insert_or_assign("position", middle[0]);
  later.insert_or_assign("momentum", middle[1]);
  later.insert_or_assign("step", Tensor::scalar<std::int32_t>(2));
  const Tensor wanted = evaluate(tail, later, {loss_gradient(last).id}).front();
  for (std::int64_t i = 0; i < wanted.elements(); ++i)
    BOOST_TEST(std::abs(found.at(i) - wanted.at(i)) < 1e-12);
}

BOOST_AUTO_TEST_CASE(an_update_gives_the_same_bits_on_any_number_of_threads) {
  for (bool separate : {false, true}) {
    const Step step = smooth_step(DType::f32, true);
    const Graph graph = meta_training_graph(step, small_training(separate), both_losses);
    Feeds feeds = some_feeds<float>(graph, step);
    for (const char* name : {"adam/count", "adam/rate"})
      *feeds.at(name).data<float>() = std::string_view(name) == "adam/rate" ? 0.01f : 0.0f;
    for (const std::string& name : {std::string(curl_weights), std::string(diffusion_weights)})
      for (float& v : feeds.at(name + "/v").values<float>()) v = v * v;
    std::map<std::string, Tensor> base;
    for (int threads : {1, 2, 4, 8}) {
      Executor executor(compile(graph), {.threads = threads});
      for (const auto& [name, tensor] : feeds) executor.bind(name, tensor);
      executor.run();
      for (const Graph::Output& output : graph.outputs()) {
        const Tensor& value = executor.output(output.name);
        const auto [there, fresh] = base.emplace(output.name, value.clone());
        BOOST_TEST(there->second.same_bits(value), output.name);
        if (fresh)
          for (std::int64_t i = 0; i < value.elements(); ++i)
            BOOST_TEST(std::isfinite(value.at(i)));
      }
    }
    // Updated twice or once, and in any case not where it was.
    BOOST_TEST(base.at("adam/count").at(0) == (separate ? 2 : 1));
    BOOST_TEST(!base.at(std::string(curl_weights)).same_bits(feeds.find(curl_weights)->second));
  }
}

BOOST_AUTO_TEST_SUITE_END()
