// Meta-training on digits: roll-outs of 100 steps of 20 networks 784-20-10, minibatches of 500,
// truncation 20, cross-chain loss at every fifth step, Adam; beside the bare steps of the sampler
// without an engine, gradients by the sampler's weights left out.
//
//   bench_mnist_train [REFERENCE...]
//
// Each REFERENCE is a program for the same case, see references.hpp.
// WHORL_PROFILE, if set, prints what the steps of the plan take, added up by name.
#include "bench/bench.hpp"
#include "bench/mnist.hpp"
#include "bench/references.hpp"
#include "engine/executor.hpp"
#include "engine/plan.hpp"
#include "losses/kl.hpp"
#include "samplers/chains.hpp"
#include "samplers/meta_training.hpp"

using namespace whorl;

namespace {

const std::vector<std::int64_t> layers{784, 20, 10};
constexpr std::int64_t steps = 100, truncation = 20, loss_every = 5;

std::vector<MetaLoss> cross_chain(Graph&, const std::vector<Moment>& moments) {
  std::vector<Snapshot> snapshots;
  for (std::size_t t = loss_every; t < moments.size(); t += loss_every)
    snapshots.push_back({moments[t].state.at("position"), moments[t].statistics.at("gradient")});
  return {{"cross", cross_chain_loss(snapshots)}};
}

Graph training_graph(const Step& step) {
  MetaTrainingOptions options;
  options.unroll = {bench::chain_count, steps, truncation};
  options.trained = {std::string(curl_weights), std::string(diffusion_weights)};
  return meta_training_graph(step, options, cross_chain);
}

class Training {
 public:
  Training(const Step& step, const bench::Digits& digits, int threads, bool profile) {
    double start = bench::seconds_now();
    const Graph graph = training_graph(step);
    built = bench::seconds_now() - start;
    start = bench::seconds_now();
    const auto plan = compile(graph);
    compiled = bench::seconds_now() - start;
    executor_ = std::make_unique<Executor>(plan, ExecutorOptions{threads, profile});
    nodes = graph.size();
    for (NodeId id : graph.input_nodes()) {
      const std::string name(graph.name(id));
      if (name == "x" || name == "y") continue;
      feeds_.emplace(name, Tensor(graph.type(id)));
    }
    for (const StepParameter& parameter : step.parameters)
      feeds_.insert_or_assign(parameter.name, parameter.value);
    fill_start({Start::Kind::normal, 0, 0.2}, {1, 1}, feeds_.at("position"));
    for (float& size : feeds_.at("step_sizes").values<float>())
      size = static_cast<float>(bench::learned_step_size);
    for (std::int64_t t = 0; t < steps; ++t)
      bench::batch_of(t, feeds_.at("batches").values<std::int32_t>().subspan(
                             static_cast<std::size_t>(t * bench::batch_rows), bench::batch_rows));
    for (const auto& [name, tensor] : feeds_) executor_->bind(name, tensor);
    executor_->bind("x", digits.x);
    executor_->bind("y", digits.y);
  }
  void run() { executor_->run(); }
  Executor& executor() { return *executor_; }
  double built = 0, compiled = 0;
  std::size_t nodes = 0;

 private:
  std::map<std::string, Tensor, std::less<>> feeds_;
  std::unique_ptr<Executor> executor_;
};

// "%12:mul+%13:add" as "mul+add", so that the same loop of all steps has one name.
std::string without_numbers(const std::string& name) {
  std::string bare;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name[at] != '%') {
      bare += name[at];
    } else {
      at = std::min(name.find(':', at), name.size());
    }
  }
  return bare;
}

void show_profile(Training& training) {
  const std::vector<double> seconds = bench::best_profile(4, training.executor());
  const std::vector<StepProfile> profile = training.executor().profile();
  std::map<std::string, std::pair<double, int>> by_name;
  double total = 0;
  for (std::size_t at = 0; at < seconds.size(); ++at) {
    auto& [sum, count] = by_name[without_numbers(profile[at].name)];
    sum += seconds[at];
    total += seconds[at];
    ++count;
  }
  std::vector<std::pair<double, std::string>> lines;
  for (const auto& [name, found] : by_name)
    lines.emplace_back(found.first, fmt::format("{:5} x {:.110}", found.second, name));
  std::sort(lines.rbegin(), lines.rend());
  for (const auto& [sum, line] : lines)
    if (sum > total / 500) fmt::print("{:9.1f} us a step  {}\n", sum / steps * 1e6, line);
  fmt::print("{:9.1f} us a step\n", total / steps * 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Digits digits;
  RecipeOptions options;
  options.gradient = bench::digits_gradient();
  const LearnedSampler sampler = bench::digits_sampler();
  const Step step = recipe_step(
      bench::digits_energy(layers),
      complete_recipe(learned_dynamics(sampler, {}, bench::learned_step_size)), options);
  if (std::getenv("WHORL_PROFILE")) {
    Training training(step, digits, 1, true);
    show_profile(training);
    return 0;
  }
  const std::map<std::string, double> references = bench::run_references(argc, argv);
  std::vector<double> times;
  for (int threads : {1, 2}) {
    Training engine(step, digits, threads, false);
    bench::DigitsByHand by_hand(digits, layers, threads);
    const bench::LearnedByHand learned(sampler);
    if (threads == 1)
      fmt::print("{} nodes, built in {:.2f} s, compiled in {:.2f} s, {} steps, {:.0f} MB\n",
                 engine.nodes, engine.built, engine.compiled, engine.executor().plan().steps.size(),
                 1e-6 * static_cast<double>(engine.executor().memory_bytes()));
    const auto [one, other] = bench::best_of_both(
        5, [&] { engine.run(); },
        [&] {
          for (std::int64_t t = 0; t < steps; ++t)
            by_hand.step(t, [&](std::int64_t chain, std::int64_t n, float* theta, float* p,
                                const float* g, const float* z) {
              learned(-by_hand.mean_loss[static_cast<std::size_t>(chain)], n, theta, p, g, z);
            });
        });
    bench::report(fmt::format("training / steps by hand, {} threads", threads), one / steps,
                  other / steps, 1e3, "ms");
    bench::report_case("C4/mnist-train", threads, 1e3 * one / steps, references);
    times.push_back(one);
  }
  fmt::print("2 threads are {:.2f} times as fast as 1\n", times[0] / times[1]);
}
