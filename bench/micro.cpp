// Elementwise work and small graphs, against loops written by hand without an engine:
//   a chain of ten elementwise ops over a million floats, with its gradient;
//   a thousand ops on 32 floats each, with their gradient;
//   the time to compile a graph of ten thousand nodes.
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "autodiff/tape.hpp"
#include "bench/bench.hpp"
#include "engine/executor.hpp"
#include "engine/kernels/vmath.hpp"
#include "engine/ops.hpp"
#include "engine/plan.hpp"

namespace {

using namespace whorl;

constexpr std::int64_t million = 1000000;

Value chain(Value x) {
  const Value t = tanh(x * 1.1 + 0.2);
  const Value s = sigmoid(t * x + x);
  return sum(square(exp(square(s)) - x));
}

// The same by hand: value and gradient of the chain in one pass.
double chain_by_hand(const float* __restrict x, float* __restrict g, std::int64_t n) {
  constexpr int lanes = 16;
  float lane[lanes] = {};
  for (std::int64_t i = 0; i + lanes <= n; i += lanes) {
    for (int j = 0; j < lanes; ++j) {
      const float v = x[i + j];
      const float t = vmath::tanh(std::fma(v, 1.1f, 0.2f));
      const float s = vmath::sigmoid(std::fma(t, v, v));
      const float e = vmath::exp(s * s);
      const float d = e - v;
      lane[j] += d * d;
      const float at_d = 2.0f * d;
      const float at_sum = at_d * e * 2.0f * s * s * (1.0f - s);
      g[i + j] =
          std::fma(at_sum, t + 1.0f, std::fma(at_sum * v * 1.1f, std::fma(-t, t, 1.0f), -at_d));
    }
  }
  double total = 0;
  for (float part : lane) total += static_cast<double>(part);
  return total;
}

void check(bool good, const char* what) {
  if (good) return;
  fmt::print(stderr, "the results differ: {}\n", what);
  std::exit(1);
}

void elementwise() {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {million}});
  const Value u = chain(x);
  graph.add_output("u", u.id);
  graph.add_output("g", gradient(u, x).id);
  const auto plan = compile(graph);
  if (std::getenv("WHORL_SHOW_PLAN")) fmt::print("{}", to_text(*plan));
  Tensor data({DType::f32, {million}});
  for (std::int64_t i = 0; i < million; ++i)
    data.data<float>()[i] = -1.0f + 2.0f * static_cast<float>(i) / static_cast<float>(million - 1);
  std::vector<float> by_hand(static_cast<std::size_t>(million));
  for (int threads : {1, 2}) {
    Executor executor(plan, {.threads = threads});
    executor.bind("x", data);
    tbb::task_arena arena(threads);
    double total[2] = {};
    const auto [engine, reference] = bench::best_of_both(
        100, [&] { executor.run(); },
        [&] {
          arena.execute([&] {
            tbb::parallel_for(0, threads, [&](int k) {
              const std::int64_t begin = million / threads * k;
              total[k] = chain_by_hand(data.data<float>() + begin, by_hand.data() + begin,
                                       million / threads);
            });
          });
        });
    check(std::abs(executor.output("u").at(0) / (total[0] + total[1]) - 1) < 1e-4, "chain");
    check(std::abs(executor.output("g").at(700000) - static_cast<double>(by_hand[700000])) < 1e-4,
          "gradient of the chain");
    bench::report(fmt::format("elementwise 10 x 1e6, {} thread{}", threads, threads > 1 ? "s" : ""),
                  engine, reference, 1e3, "ms");
  }
}

// A flat list of calls through pointers on memory planned beforehand.
struct TinyOp {
  void (*run)(float*, const TinyOp&);
  std::size_t a, b, out;
};

class TinyByHand {
 public:
  static constexpr std::size_t ops = 1000, width = 32;

  TinyByHand() : memory_((ops + 8) * width) {
    for (std::size_t i = 0; i < ops; ++i) {
      const bool adds = i % 2 == 1;
      forward_.push_back({adds ? add : mul, i * width, (adds ? c : w) * width, (i + 1) * width});
      backward_.push_back({adds ? add_back : mul_back, 0, 0, 0});
    }
    for (std::size_t i = 0; i < ops; ++i)
      backward_[ops - 1 - i] = {i % 2 ? add_back : mul_back, i * width, (i % 2 ? c : w) * width,
                                adjoint * width};
  }
  void run() {
    float* m = memory_.data();
    for (std::size_t j = 0; j < width; ++j) {
      m[j] = 0.5f;
      m[w * width + j] = 0.999f;
      m[c * width + j] = 0.001f;
      m[at_w * width + j] = m[at_c * width + j] = 0;
      m[adjoint * width + j] = 1;
    }
    for (const TinyOp& op : forward_) op.run(m, op);
    for (const TinyOp& op : backward_) op.run(m, op);
  }
  float gradient() const { return memory_[adjoint * width]; }

 private:
  static constexpr std::size_t w = ops + 1, c = ops + 2, adjoint = ops + 3, at_w = ops + 4,
                               at_c = ops + 5;
  static void mul(float* m, const TinyOp& op) {
    for (std::size_t j = 0; j < width; ++j) m[op.out + j] = m[op.a + j] * m[op.b + j];
  }
  static void add(float* m, const TinyOp& op) {
    for (std::size_t j = 0; j < width; ++j) m[op.out + j] = m[op.a + j] + m[op.b + j];
  }
  static void mul_back(float* m, const TinyOp& op) {
    for (std::size_t j = 0; j < width; ++j) m[at_w * width + j] += m[op.out + j] * m[op.a + j];
    for (std::size_t j = 0; j < width; ++j) m[op.out + j] *= m[op.b + j];
  }
  static void add_back(float* m, const TinyOp& op) {
    for (std::size_t j = 0; j < width; ++j) m[at_c * width + j] += m[op.out + j];
  }
  std::vector<float> memory_;
  std::vector<TinyOp> forward_, backward_;
};

Graph tiny_graph(int ops) {
  Graph graph;
  const Type type{DType::f32, {32}};
  const Value x = input(graph, "x", type);
  const Value w = input(graph, "w", type), c = input(graph, "c", type);
  Value y = x;
  for (int i = 0; i < ops; ++i) y = i % 2 ? y + c : y * w;
  const Value u = sum(y);
  const auto g = gradient(u, {x, w, c});
  graph.add_output("u", u.id);
  graph.add_output("gx", g[0].id);
  graph.add_output("gw", g[1].id);
  graph.add_output("gc", g[2].id);
  return graph;
}

void tiny() {
  const auto plan = compile(tiny_graph(TinyByHand::ops));
  Executor executor(plan);
  const auto filled = [](float value) {
    Tensor tensor({DType::f32, {32}});
    for (float& v : tensor.values<float>()) v = value;
    return tensor;
  };
  executor.bind("x", filled(0.5f));
  executor.bind("w", filled(0.999f));
  executor.bind("c", filled(0.001f));
  TinyByHand by_hand;
  const auto [engine, reference] = bench::best_of_both(
      2000, [&] { executor.run(); }, [&] { by_hand.run(); });
  check(std::abs(executor.output("gx").at(0) - static_cast<double>(by_hand.gradient())) < 1e-3,
        "tiny");
  bench::report("tiny 1000 x 32, forward + backward", engine, reference, 1e3, "ms");
  std::size_t instructions = 0;
  for (const Loop& loop : plan->loops) instructions += loop.body.size();
  fmt::print("{:<44} engine {:>10.2f} ns   ({} kernels in {} steps)\n", "  per node",
             engine * 1e9 / static_cast<double>(instructions), instructions, plan->steps.size());
}

void compile_time() {
  for (int ops : {2500}) {
    const double start = bench::seconds_now();
    const Graph graph = tiny_graph(ops);
    const double built = bench::seconds_now();
    const auto plan = compile(graph);
    fmt::print("{:<44} build and differentiate {:.1f} ms, compile {:.1f} ms\n",
               fmt::format("graph of {} nodes", graph.size()), (built - start) * 1e3,
               (bench::seconds_now() - built) * 1e3);
  }
}

}  // namespace

int main() {
  elementwise();
  tiny();
  compile_time();
}
