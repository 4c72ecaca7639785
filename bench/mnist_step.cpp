// Steps of samplers on a Bayesian network for digits: 784-40-40-10 ReLU, minibatches of 500 out of
// 60000 rows, 20 chains, with the statistics that `whorl sample` keeps; beside the same steps
// without an engine, which keep none.
//
//   bench_mnist_step [REFERENCE...]
//
// Each REFERENCE is a program for the same cases, see references.hpp.
// WHORL_SHOW_PLAN and WHORL_PROFILE, if set, print the plans and what their steps take.
#include "bench/bench.hpp"
#include "bench/mnist.hpp"
#include "bench/references.hpp"
#include "bench/step.hpp"
#include "samplers/builtin.hpp"
#include "samplers/chains.hpp"

using namespace whorl;

namespace {

const std::vector<std::int64_t> layers{784, 40, 40, 10};
constexpr double friction = 0.01, sghmc_rate = 0.01;
const double sghmc_size = std::sqrt(sghmc_rate / bench::data_rows);

struct Case {
  std::string name;
  Step step;
  double step_size;
};

std::vector<Case> cases() {
  const Energy energy = bench::digits_energy(layers);
  const GradientSource gradient = bench::digits_gradient();
  BuiltinSettings settings;
  settings.friction = friction / sghmc_size;
  settings.data_size = bench::data_rows;
  std::vector<Case> all;
  all.push_back({"sghmc", builtin_step("sghmc", energy, settings, gradient), sghmc_size});
  all.push_back({"sgld", builtin_step("sgld", energy, settings, gradient), 0.2 / bench::data_rows});
  all.push_back(
      {"psgld", builtin_step("psgld", energy, settings, gradient), 1.4e-3 / bench::data_rows});
  RecipeOptions options;
  options.gradient = gradient;
  const Dynamics learned = learned_dynamics(bench::digits_sampler(), {}, bench::learned_step_size);
  all.push_back({"nnsghmc-exact", recipe_step(energy, complete_recipe(learned), options),
                 bench::learned_step_size});
  return all;
}

class Sampling {
 public:
  Sampling(const Case& chosen, const bench::Digits& digits, int threads)
      : step_size_(chosen.step_size),
        chains_(chosen.step, {.chains = bench::chain_count,
                              .seed = 42,
                              .threads = threads,
                              .statistics = bench::statistics_of(chosen.step)}) {
    chains_.bind("x", digits.x);
    chains_.bind("y", digits.y);
    chains_.start("position", {Start::Kind::normal, 0, 0.01});
  }
  void run() {
    chains_.advance([&](std::int64_t) { return step_size_; }, bench::batch_of);
  }

 private:
  double step_size_;
  Chains chains_;
};

class ByHand {
 public:
  ByHand(const std::string& name, const bench::Digits& digits, int threads)
      : name_(name), nets_(digits, layers, threads), learned_(bench::digits_sampler()) {}
  void run() {
    const float eta = static_cast<float>(sghmc_size);
    const float keep = 1 - static_cast<float>(friction),
                sd = static_cast<float>(std::sqrt(2 * friction));
    if (name_ == "sghmc") {
      nets_.step(step_++, [&](std::int64_t, std::int64_t n, float* theta, float* p, const float* g,
                              const float* z) {
        for (std::int64_t i = 0; i < n; ++i) {
          p[i] = keep * p[i] - eta * (g[i] + theta[i]) + sd * z[i];
          theta[i] += eta * p[i];
        }
      });
    } else {
      nets_.step(step_++, [&](std::int64_t chain, std::int64_t n, float* theta, float* p,
                              const float* g, const float* z) {
        learned_(-nets_.mean_loss[static_cast<std::size_t>(chain)], n, theta, p, g, z);
      });
    }
  }

 private:
  std::string name_;
  bench::DigitsByHand nets_;
  bench::LearnedByHand learned_;
  std::int64_t step_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const bench::Digits digits;
  const std::vector<Case> all = cases();
  if (bench::is_shown()) {
    for (const Case& chosen : all)
      for (int threads : {1, 2})
        bench::show_step(
            fmt::format("{}, {} threads", chosen.name, threads),
            {chosen.step, chosen.step_size, {{"x", digits.x}, {"y", digits.y}}, bench::batch_of},
            bench::chain_count, threads, 100);
    return 0;
  }
  const std::map<std::string, double> references = bench::run_references(argc, argv);
  std::map<std::string, double> times;
  for (int threads : {1, 2})
    for (const Case& chosen : all) {
      const std::string name = "C3/mnist-sample/" + chosen.name;
      Sampling engine(chosen, digits, threads);
      double time = 0;
      if (chosen.name == "sghmc" || chosen.name == "nnsghmc-exact") {
        ByHand by_hand(chosen.name, digits, threads);
        const auto [one, other] = bench::best_of_both(
            60, [&] { engine.run(); }, [&] { by_hand.run(); });
        bench::report(fmt::format("{}, {} threads", chosen.name, threads), one, other, 1e3, "ms");
        time = one;
      } else {
        time = bench::best_of(60, [&] { engine.run(); });
      }
      times[fmt::format("{}/{}", chosen.name, threads)] = time;
      bench::report_case(name, threads, 1e3 * time, references);
    }
  for (int threads : {1, 2})
    fmt::print("nnsghmc-exact / sghmc, {} threads: {:.2f}\n", threads,
               times.at(fmt::format("nnsghmc-exact/{}", threads)) /
                   times.at(fmt::format("sghmc/{}", threads)));
  for (const Case& chosen : all)
    fmt::print("{:<16} 2 threads are {:.2f} times as fast as 1\n", chosen.name,
               times.at(chosen.name + "/1") / times.at(chosen.name + "/2"));
}
