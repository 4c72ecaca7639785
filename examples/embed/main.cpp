// What a program does with Whorl: it builds a graph, differentiates it, runs it for many chains
// from several threads, adds an op of its own, loads a graph from a file, handles an error, and
// samples in two parts as if in one.
//
// The exit code is 0 only if every number is right.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <whorl/autodiff/numeric.hpp>
#include <whorl/autodiff/tape.hpp>
#include <whorl/engine/compile.hpp>
#include <whorl/engine/executor.hpp>
#include <whorl/engine/ops.hpp>
#include <whorl/engine/passes.hpp>
#include <whorl/engine/random.hpp>
#include <whorl/graphs/graph_file.hpp>

#include "cumulative_sum.hpp"
#include "interrupted.hpp"

namespace {

using namespace whorl;

void check(bool right, const char* what) {
  std::printf("%-58s %s\n", what, right ? "ok" : "WRONG");
  if (!right) std::exit(EXIT_FAILURE);
}

constexpr std::int64_t rows = 200, columns = 3, chains = 8;

Tensor normal_numbers(const Shape& shape, std::uint32_t stream) {
  Tensor tensor({DType::f32, shape});
  fill_normal<float>({.seed = 1, .stream = stream}, 0, tensor.values<float>());
  return tensor;
}

// The energy of a logistic regression for one chain: U(w) = -log p(y | x, w) - log N(w; 0, 1), and
// its gradient by w.
Graph make_energy() {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {rows, columns}});
  const Value y = input(graph, "y", {DType::f32, {rows}});
  const Value w = input(graph, "w", {DType::f32, {columns}}, "parameter");
  const Value energy = sum(bernoulli_cross_entropy(matmul(x, w), y)) + 0.5 * sum(square(w));
  graph.add_output("U", energy.id);
  graph.add_output("dU", gradient(energy, w).id);
  return graph;
}

// At w = 0 every label has probability 1/2: U = rows log 2 and dU = sum_n (1/2 - y_n) x_n.
void check_energy_at_zero(const Graph& graph, const Tensor& x, const Tensor& y) {
  Executor executor(compile(graph));
  executor.bind("x", x);
  executor.bind("y", y);
  executor.bind("w", Tensor({DType::f32, {columns}}));
  executor.run();
  check(std::abs(executor.output("U").at(0) - rows * std::log(2.0)) < 1e-3, "energy at zero");
  double worst = 0;
  for (std::int64_t j = 0; j < columns; ++j) {
    double wanted = 0;
    for (std::int64_t n = 0; n < rows; ++n) wanted += (0.5 - y.at(n)) * x.at(n * columns + j);
    worst = std::max(worst, std::abs(executor.output("dU").at(j) - wanted));
  }
  check(worst < 1e-3, "gradient at zero");
}

// One plan for all chains, shared by four threads; each has an executor of its own.
void check_threads(const Graph& graph, const Tensor& x, const Tensor& y) {
  const auto plan = compile(batch(graph, {"w"}, chains));
  const Tensor w = normal_numbers({chains, columns}, 3);
  std::vector<Tensor> results(4);
  std::vector<std::thread> threads;
  for (Tensor& result : results)
    threads.emplace_back([&] {
      Executor executor(plan, {.threads = 2});
      executor.bind("x", x);
      executor.bind("y", y);
      executor.bind("w", w);
      for (int i = 0; i < 100; ++i) executor.run();
      result = executor.output("dU").clone();
    });
  for (std::thread& thread : threads) thread.join();
  bool same = results[0].shape() == Shape{chains, columns};
  for (const Tensor& result : results) same = same && result.same_bits(results[0]);
  check(same, "same bits from four threads that share one plan");
}

// Differences in f64 agree with the rule, and with the gradient of the gradient.
void check_own_op() {
  Graph graph;
  const Value z = input(graph, "z", {DType::f64, {2, 4}}, "parameter");
  const Value energy = sum(square(cumulative_sum(z)) * sin(z));
  const Feeds feeds{{"z", Tensor::of<double>({2, 4}, {.3, -1.2, .8, .1, 2, -.5, .4, 1})}};
  check(check_gradient(graph, feeds, energy.id, {z.id}).worst < 1e-7, "gradient of an own op");
  const Value slope = sum(square(gradient(energy, z)));
  check(check_gradient(graph, feeds, slope.id, {z.id}).worst < 1e-5, "second order of an own op");
}

void check_file() {
  const Graph graph = load_graph(EXAMPLE_DIR "/walk.pbtxt");
  Executor executor(compile(batch(graph, {"z"}, 2)));
  executor.bind("z", Tensor::of<double>({2, 5}, {1, 1, 1, 1, 1, 1, -1, 1, -1, 1}));
  executor.run();
  const Tensor& energy = executor.output("U");
  check(energy.at(0) == 1 + 4 + 9 + 16 + 25 && energy.at(1) == 3, "graph file with an own op");
}

void check_interrupted() {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / fmt::format("embed-{}", ::getpid());
  fs::create_directories(folder / "one");
  fs::create_directories(folder / "two");
  const bool same = uninterrupted_draws(folder / "one") == interrupted_draws(folder / "two");
  fs::remove_all(folder);
  check(same, "the same draws in two parts as in one");
}

void check_error() {
  Graph graph;
  const Value a = input(graph, "a", {DType::f32, {20, 785}});
  const Value b = input(graph, "b", {DType::f32, {784, 10}});
  try {
    matmul(a, b);
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
    return check(error.kind() == ErrorKind::graph && graph.size() == 2,
                 "an error leaves the graph as it was");
  }
  check(false, "an error was expected");
}

}  // namespace

int main() {
  try {
    register_cumulative_sum();
    const Tensor x = normal_numbers({rows, columns}, 1);
    Tensor y = normal_numbers({rows}, 2);
    for (float& label : y.values<float>()) label = label > 0 ? 1.0f : 0.0f;
    const Graph graph = make_energy();
    check_energy_at_zero(graph, x, y);
    check_threads(graph, x, y);
    check_own_op();
    check_file();
    check_error();
    check_interrupted();
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
}
