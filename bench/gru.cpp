// The gradient of a recurrent network's log likelihood: 88 keys, 200 gated recurrent units, 88
// Bernoulli outputs for every frame; forward and backward, for K chains that see one sequence.
//
//   bench_gru [REFERENCE...]
//
// Beside it, in the same run and on one thread, the matrix products alone by calls of MKL: one for
// all frames where the recurrence allows it, two with w_h for every frame; no gates, no losses.
// Each REFERENCE is a program for the same cases, see references.hpp; its steps also update the
// weights. WHORL_PROFILE, if set, prints what the steps of the plan take.
#include "bench/gru.hpp"

#include <mkl_cblas.h>

#include <cstdlib>

#include "autodiff/tape.hpp"
#include "bench/bench.hpp"
#include "bench/references.hpp"
#include "bench/step.hpp"
#include "engine/compile.hpp"
#include "engine/executor.hpp"
#include "engine/ops.hpp"
#include "engine/passes.hpp"
#include "engine/plan.hpp"

using namespace whorl;

namespace {

using bench::keys, bench::units;

// The sum of the cross entropies, and its gradient by all weights, of one chain.
Graph one_chain(std::int64_t frames) {
  Graph graph;
  const auto weights = [&](std::string_view name, const Shape& shape) {
    return input(graph, name, {DType::f32, shape}, "parameter");
  };
  const Value x = input(graph, "x", {DType::f32, {frames, keys}});
  const Value targets = input(graph, "targets", {DType::f32, {frames, keys}});
  const Value length = input(graph, "length", {DType::i32, {}});
  const std::int64_t wide = 3 * units;
  const std::vector<Value> all{weights("w_x", {keys, wide}),  weights("w_h", {units, wide}),
                               weights("b_x", {wide}),        weights("b_h", {wide}),
                               weights("w_o", {units, keys}), weights("b_o", {keys})};
  const Value h_0 = fill(graph, {DType::f32, {units}}, 0);
  const Value h = gru(x, length, all[0], all[1], all[2], all[3], h_0);
  const Value loss = sum(bernoulli_cross_entropy(matmul(h, all[4]) + all[5], targets));
  graph.add_output("loss", loss.id);
  const std::vector<Value> gradients = gradient(loss, all);
  for (std::size_t i = 0; i < all.size(); ++i)
    graph.add_output("d_" + std::string(graph.name(all[i].id)), gradients[i].id);
  return graph;
}

std::vector<std::string> weight_names() { return {"w_x", "w_h", "b_x", "b_h", "w_o", "b_o"}; }

Executor make_executor(std::int64_t frames, std::int64_t chains, int threads, bool profile) {
  Graph graph = one_chain(frames);
  if (chains > 1) graph = batch(graph, weight_names(), chains);
  Executor executor(compile(graph), {.threads = threads, .profile = profile});
  std::uint64_t seed = 0;
  for (const Plan::Port& port : executor.plan().inputs) {
    Tensor tensor(port.type);
    if (port.name == "length") {
      tensor.data<std::int32_t>()[0] = static_cast<std::int32_t>(frames);
    } else if (port.name == "x" || port.name == "targets") {
      bench::fill_frames(++seed, tensor);
    } else {
      fill_normal<float>({.seed = ++seed}, 0, tensor.values<float>());
      for (float& v : tensor.values<float>()) v *= static_cast<float>(bench::weight_sd);
    }
    executor.bind(port.name, tensor);
  }
  return executor;
}

// The products of one chain's gradient, on numbers of no meaning.
class Products {
 public:
  explicit Products(std::int64_t frames)
      : frames_(static_cast<MKL_INT>(frames)), wide_(frames * 3 * units), narrow_(frames * units) {}

  void operator()() {
    const auto h = static_cast<MKL_INT>(units), k = static_cast<MKL_INT>(keys);
    multiply(false, false, frames_, 3 * h, k);  // projection
    multiply(false, false, frames_, k, h);      // logits, and the three of their way back
    multiply(true, false, h, k, frames_);
    multiply(false, true, frames_, h, k);
    multiply(true, false, k, 3 * h, frames_);  // w_x
    multiply(true, false, h, 3 * h, frames_);  // w_h
    for (MKL_INT t = 0; t < frames_; ++t) {
      vector_product(CblasTrans);
      vector_product(CblasNoTrans);
    }
  }

 private:
  void multiply(bool ta, bool tb, MKL_INT m, MKL_INT n, MKL_INT k) {
    cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n,
                k, 1, wide_.data(), ta ? m : k, matrix_.data(), tb ? k : n, 0, narrow_out_.data(),
                n);
  }
  void vector_product(CBLAS_TRANSPOSE transposed) {
    const auto h = static_cast<MKL_INT>(units);
    cblas_sgemv(CblasRowMajor, transposed, h, 3 * h, 1, w_.data(), 3 * h, narrow_.data(), 1, 0,
                row_.data(), 1);
  }

  MKL_INT frames_;
  std::vector<float> wide_, narrow_;
  std::vector<float> matrix_ = std::vector<float>(wide_.size() + 3 * units * units);
  std::vector<float> narrow_out_ = std::vector<float>(wide_.size() + 3 * units * units);
  std::vector<float> w_ = std::vector<float>(3 * units * units);
  std::vector<float> row_ = std::vector<float>(3 * units);
};

void show(std::int64_t frames, std::int64_t chains) {
  Executor executor = make_executor(frames, chains, 1, true);
  bench::print_profile(fmt::format("T = {}, K = {}", frames, chains), 30, executor);
}

}  // namespace

int main(int argc, char** argv) {
  if (std::getenv("WHORL_PROFILE") != nullptr) {
    for (std::int64_t chains : bench::chain_counts)
      for (std::int64_t frames : bench::frame_counts) show(frames, chains);
    return 0;
  }
  const std::map<std::string, double> references = bench::run_references(argc, argv);
  for (std::int64_t chains : bench::chain_counts)
    for (std::int64_t frames : bench::frame_counts) {
      Executor one = make_executor(frames, chains, 1, false);
      Executor two = make_executor(frames, chains, 2, false);
      Products products(frames);
      const auto [engine, plain] = bench::best_of_both(
          30, [&] { one.run(); }, [&] { products(); });
      const double shared = bench::best_of(30, [&] { two.run(); });
      bench::report(fmt::format("T = {}, K = {}, per chain, beside products", frames, chains),
                    engine / static_cast<double>(chains), plain, 1e3, "ms");
      const std::string name = bench::gru_case(frames, chains, "sghmc");
      bench::report_case(name, 1, 1e3 * engine, references);
      bench::report_case(name, 2, 1e3 * shared, references);
      fmt::print("{:<32} 2 threads are {:.2f} times as fast as 1\n", "", engine / shared);
    }
}
