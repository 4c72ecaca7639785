// The paper's Gaussian example: sampling steps (50 chains, 20 dimensions) and training steps (50
// chains, 10 dimensions, roll-outs of 100 steps with truncation 20, both losses, Adam).
//
//   bench_toy [REFERENCE...]
//
// Each REFERENCE is a program for the same cases, see references.hpp; the ratio is printed.
#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "bench/bench.hpp"
#include "bench/references.hpp"
#include "engine/executor.hpp"
#include "engine/ops.hpp"
#include "losses/kl.hpp"
#include "samplers/chains.hpp"
#include "samplers/dynamics.hpp"
#include "samplers/learned.hpp"
#include "samplers/meta_training.hpp"

using namespace whorl;

namespace {

Energy gaussian(std::int64_t n) {
  Tensor precision({DType::f32, {n, n}});
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      precision.data<float>()[i * n + j] =
          i == j ? 1.5f : 0.2f / static_cast<float>(1 + std::abs(i - j));
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {n}}, "parameter");
  const Value d = x - 3;
  graph.add_output("U", (0.5 * sum(d * matmul(d, constant(graph, precision)))).id);
  return Energy(std::move(graph));
}

// Networks with one hidden layer of 40 units.
LearnedSampler networks() {
  LearnedSampler sampler;
  sampler.curl.hidden = sampler.diffusion.hidden = {40};
  sampler.curl.inputs.resize(2);
  sampler.diffusion.inputs.resize(3);
  sampler.curl.low = -5;
  sampler.curl.high = sampler.diffusion.high = 5;
  sampler.diffusion.transform = Transform::absolute;
  sampler.beta = 1;
  draw_weights(sampler, 1);
  return sampler;
}

Step step_of(const Dynamics& dynamics, std::int64_t n) {
  RecipeOptions options;
  options.gradient.injected_noise = 1;
  return recipe_step(gaussian(n), complete_recipe(dynamics), options);
}

// Milliseconds per step.
double sampling(const Dynamics& dynamics, int threads) {
  constexpr std::int64_t group = 20, steps = 1000;
  Chains chains(
      step_of(dynamics, 20),
      {.chains = 50, .steps_per_run = group, .seed = 42, .threads = threads, .keep_path = true});
  chains.start("position", {Start::Kind::uniform, 0, 6});
  return 1e3 / static_cast<double>(steps) * bench::best_of(30, [&] {
           for (std::int64_t t = 0; t < steps; t += group)
             chains.advance([](std::int64_t) { return 0.025; });
         });
}

std::vector<MetaLoss> both_losses(Graph& graph, const std::vector<Moment>& moments) {
  const auto every = [&](std::size_t from, std::size_t by) {
    std::vector<Snapshot> snapshots;
    for (std::size_t t = from; t + 1 < moments.size(); t += by)
      snapshots.push_back(
          {moments[t + 1].state.at("position"), moments[t + 1].statistics.at("gradient")});
    return snapshots;
  };
  const Value chains = constant(graph, Tensor::of<std::int32_t>({7}, {3, 9, 15, 21, 27, 33, 39}));
  return {{"cross", cross_chain_loss(every(0, 2))}, {"in", in_chain_loss(every(50, 3), chains)}};
}

double training(int threads) {
  const Step step = step_of(learned_dynamics(networks()), 10);
  MetaTrainingOptions options;
  options.unroll = {50, 100, 20};
  options.trained = {std::string(curl_weights), std::string(diffusion_weights)};
  const Graph graph = meta_training_graph(step, options, both_losses);
  const double start = bench::seconds_now();
  const auto plan = compile(graph);
  const double compiled = bench::seconds_now() - start;
  Executor executor(plan, {.threads = threads});
  std::map<std::string, Tensor, std::less<>> feeds;
  for (NodeId id : graph.input_nodes())
    feeds.emplace(std::string(graph.name(id)), Tensor(graph.type(id)));
  for (const StepParameter& parameter : step.parameters)
    feeds.insert_or_assign(parameter.name, parameter.value);
  fill_start({Start::Kind::uniform, 0, 6}, {1, 1}, feeds.at("position"));
  for (float& size : feeds.at("step_sizes").values<float>()) size = 0.01f;
  for (const auto& [name, tensor] : feeds) executor.bind(name, tensor);
  const double seconds = bench::best_of(20, [&] { executor.run(); });
  if (threads == 1)
    fmt::print("training graph: {} nodes, compiled in {:.0f} ms, {:.1f} MB\n", graph.size(),
               1e3 * compiled, 1e-6 * static_cast<double>(executor.memory_bytes()));
  return 1e3 * seconds / 100;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, double> references = bench::run_references(argc, argv);
  for (int threads : {1, 2}) {
    const auto report = [&](const std::string& name, double time) {
      bench::report_case(name, threads, time, references);
    };
    report("C2/toy-sample/sghmc", sampling(sghmc_dynamics(1), threads));
    report("C2/toy-sample/nnsghmc", sampling(learned_dynamics(networks()), threads));
    report("C1/toy-train", training(threads));
  }
}
