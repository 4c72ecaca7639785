// Steps of samplers on a Bayesian recurrent network: 88 keys, 200 gated recurrent units, one
// sequence of 200 or of 800 frames a step, for one chain and for eight, with the statistics that
// `whorl sample` keeps. Lengths come at run time, as for sequences of different lengths.
//
//   bench_gru_step [REFERENCE...]
//
// Each REFERENCE is a program for the same cases, see references.hpp; it has no h_0 among its
// parameters, keeps no statistics, and sees the same frames in every step.
// At the end stands the memory by frames and chains, which is to be linear in either.
// WHORL_SHOW_PLAN and WHORL_PROFILE, if set, print the plans and what their steps take.
#include <cmath>

#include "bench/bench.hpp"
#include "bench/gru.hpp"
#include "bench/references.hpp"
#include "bench/step.hpp"
#include "models/gru.hpp"
#include "samplers/builtin.hpp"
#include "samplers/chains.hpp"
#include "samplers/learned.hpp"

using namespace whorl;

namespace {

// 87 pieces of 872 frames.
constexpr std::int64_t data_rows = 87 * 872;
constexpr double friction = 0.01, rate = 0.001;
const double step_size = std::sqrt(rate / data_rows);
constexpr int repeats = 30;
const std::vector<std::string> samplers{"sghmc", "nnsghmc-exact"};

// Networks of 10 units, which see means over the data; a curl near 1 makes it a sampler that is not
// far from SGHMC.
LearnedSampler learned_sampler() {
  LearnedSampler sampler;
  sampler.curl.hidden = sampler.diffusion.hidden = {10};
  sampler.curl.inputs = {{}, {}};
  sampler.diffusion.inputs = {{}, {}, {70, 0}};
  sampler.curl.low = -5;
  sampler.curl.high = 5;
  sampler.diffusion.transform = Transform::absolute;
  sampler.diffusion.scale = 20;
  sampler.c = 100;
  sampler.alpha_times_step_size = 0.002;
  sampler.energy_input = EnergyInput::mean_log_joint;
  sampler.mean_gradient = true;
  draw_weights(sampler, 1);
  sampler.curl.weights.back() = 1;
  return sampler;
}

Step step_for(const std::string& sampler, std::int64_t frames) {
  // A scale of its own for every sequence takes the place of this one.
  const Energy energy(Gru{bench::keys, bench::units}.energy_graph(DType::f32, frames),
                      static_cast<double>(data_rows) / static_cast<double>(frames));
  const GradientSource gradient{
      .minibatch = {.rows = data_rows, .size = frames, .inputs = {"x"}, .length = "length"}};
  if (sampler == "sghmc")
    return builtin_step("sghmc", energy, {.friction = friction / step_size}, gradient);
  RecipeOptions options;
  options.gradient = gradient;
  const Dynamics learned =
      learned_dynamics(learned_sampler(), {.rows = static_cast<double>(data_rows)}, step_size);
  return recipe_step(energy, complete_recipe(learned), options);
}

// A sequence that fills its graph, at another place in every step.
void sequence_of(std::int64_t step, std::span<std::int32_t> into) {
  const auto length = static_cast<std::int64_t>(into.size()) - 1;
  const std::int64_t first = 7919 * step % (data_rows - length + 1);
  into[0] = static_cast<std::int32_t>(length);
  for (std::int64_t t = 0; t < length; ++t)
    into[static_cast<std::size_t>(t + 1)] = static_cast<std::int32_t>(first + t);
}

Chains chains_of(const Step& step, std::int64_t chains, int threads) {
  return Chains(
      step,
      {.chains = chains, .seed = 42, .threads = threads, .statistics = bench::statistics_of(step)});
}

double seconds_of(const Step& step, const Tensor& x, std::int64_t count, int threads) {
  Chains chains = chains_of(step, count, threads);
  chains.bind("x", x);
  chains.start("position", {Start::Kind::normal, 0, bench::weight_sd});
  return bench::best_of(
      repeats, [&] { chains.advance([](std::int64_t) { return step_size; }, sequence_of); });
}

void print_memory() {
  for (const std::string& sampler : samplers) {
    fmt::print("\nmemory of {} in MB, 1 thread\n{:>8}", sampler, "");
    for (int chains : {1, 2, 4, 8}) fmt::print("{:>9}", fmt::format("K = {}", chains));
    for (std::int64_t frames : {200, 400, 800}) {
      const Step step = step_for(sampler, frames);
      fmt::print("\n{:>8}", fmt::format("T = {}", frames));
      for (int chains : {1, 2, 4, 8}) {
        const std::int64_t bytes = chains_of(step, chains, 1).memory_bytes();
        fmt::print("{:>9.2f}", 1e-6 * static_cast<double>(bytes));
      }
    }
    fmt::print("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  Tensor x({DType::f32, {data_rows, bench::keys}});
  bench::fill_frames(1, x);
  if (bench::is_shown()) {
    for (const std::string& sampler : samplers)
      for (std::int64_t frames : bench::frame_counts) {
        const Step step = step_for(sampler, frames);
        for (std::int64_t chains : bench::chain_counts)
          for (int threads : {1, 2})
            bench::show_step(
                fmt::format("{}, T = {}, K = {}, {} threads", sampler, frames, chains, threads),
                {step, step_size, {{"x", x}}, sequence_of}, chains, threads, repeats);
      }
    return 0;
  }
  const std::map<std::string, double> references = bench::run_references(argc, argv);
  for (std::int64_t chains : bench::chain_counts)
    for (std::int64_t frames : bench::frame_counts) {
      std::map<std::string, double> times;
      for (const std::string& sampler : samplers) {
        const Step step = step_for(sampler, frames);
        for (int threads : {1, 2}) {
          const double time = seconds_of(step, x, chains, threads);
          times[fmt::format("{}/{}", sampler, threads)] = time;
          bench::report_case(bench::gru_case(frames, chains, sampler), threads, 1e3 * time,
                             references);
        }
      }
      for (const std::string& sampler : samplers)
        fmt::print("{:<16} 2 threads are {:.2f} times as fast as 1\n", sampler,
                   times.at(sampler + "/1") / times.at(sampler + "/2"));
      for (int threads : {1, 2})
        fmt::print("nnsghmc-exact / sghmc, {} threads: {:.2f}\n", threads,
                   times.at(fmt::format("nnsghmc-exact/{}", threads)) /
                       times.at(fmt::format("sghmc/{}", threads)));
    }
  print_memory();
}
