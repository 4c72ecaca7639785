// Products of the shapes that samplers use, in GF/s: the engine's op, one MKL call for each chain,
// and one MKL call for all chains stacked (which no layout of ours gives for free: it leaves out
// the copies). All in one run, the best of many, taken in turn.
//
//   bench_matmul [words]     only the cases whose line contains the words
#include <mkl_cblas.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <functional>
#include <string>

#include "bench/bench.hpp"
#include "engine/compile.hpp"
#include "engine/executor.hpp"
#include "engine/kernels/blas.hpp"
#include "engine/ops.hpp"

namespace {

using namespace whorl;

// `count` products [rows, inner] x [inner, columns].
struct Case {
  std::string_view name;
  std::int64_t count, rows, inner, columns;
  bool shared_a = false, shared_b = false, transpose_a = false, transpose_b = false;

  double flops() const { return 2.0 * static_cast<double>(count * rows * inner * columns); }
  Shape a() const {
    const Shape one = transpose_a ? Shape{inner, rows} : Shape{rows, inner};
    return shared_a ? one : one.with_front(count);
  }
  Shape b() const {
    const Shape one = transpose_b ? Shape{columns, inner} : Shape{inner, columns};
    return shared_b ? one : one.with_front(count);
  }
};

Tensor numbers(const Shape& shape) {
  Tensor tensor({DType::f32, shape});
  std::uint32_t state = 1;
  for (float& x : tensor.values<float>()) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<float>(state >> 8) / (1 << 24) - 0.5f;
  }
  return tensor;
}

void multiply(const Case& c, std::int64_t rows, std::int64_t columns, const float* a,
              const float* b, std::int64_t ldb, float* y, std::int64_t ldy) {
  const auto narrow = [](std::int64_t n) { return static_cast<MKL_INT>(n); };
  cblas_sgemm(CblasRowMajor, c.transpose_a ? CblasTrans : CblasNoTrans,
              c.transpose_b ? CblasTrans : CblasNoTrans, narrow(rows), narrow(columns),
              narrow(c.inner), 1, a, narrow(c.transpose_a ? c.rows : c.inner), b, narrow(ldb), 0, y,
              narrow(ldy));
}

class References {
 public:
  References(const Case& c, int threads)
      : case_(c),
        arena_(threads),
        a_(numbers(c.a())),
        b_(numbers(c.b())),
        y_({DType::f32, {c.count, c.rows, c.columns}}),
        pieces_(threads) {}

  void one_by_one() {
    const std::int64_t ldb = case_.transpose_b ? case_.inner : case_.columns;
    spread(case_.count, [&](std::int64_t i) {
      multiply(case_, case_.rows, case_.columns,
               a_.data<float>() + (case_.shared_a ? 0 : i * case_.rows * case_.inner),
               b_.data<float>() + (case_.shared_b ? 0 : i * case_.inner * case_.columns), ldb,
               y_.data<float>() + i * case_.rows * case_.columns, case_.columns);
    });
  }
  // The same amount of work as one product over one operand, cut once for each thread.
  bool can_stack() const { return case_.count > 1 && (case_.shared_a || case_.shared_b); }
  void stacked() {
    if (case_.shared_a) {
      const std::int64_t width = case_.count * case_.columns, part = width / pieces_;
      spread(pieces_, [&](std::int64_t i) {
        multiply(case_, case_.rows, part, a_.data<float>(),
                 b_.data<float>() + i * part * (case_.transpose_b ? case_.inner : 1),
                 case_.transpose_b ? case_.inner : width, y_.data<float>() + i * part, width);
      });
    } else {
      const std::int64_t part = case_.count * case_.rows / pieces_;
      spread(pieces_, [&](std::int64_t i) {
        multiply(case_, part, case_.columns, a_.data<float>() + i * part * case_.inner,
                 b_.data<float>(), case_.transpose_b ? case_.inner : case_.columns,
                 y_.data<float>() + i * part * case_.columns, case_.columns);
      });
    }
  }
  const Tensor& a() const { return a_; }
  const Tensor& b() const { return b_; }

 private:
  void spread(std::int64_t count, const std::function<void(std::int64_t)>& f) {
    if (pieces_ == 1) {
      for (std::int64_t i = 0; i < count; ++i) f(i);
      return;
    }
    arena_.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<std::int64_t>(0, count, 1),
          [&](const auto& range) {
            for (std::int64_t i = range.begin(); i < range.end(); ++i) f(i);
          },
          tbb::simple_partitioner{});
    });
  }

  Case case_;
  tbb::task_arena arena_;
  Tensor a_, b_, y_;
  std::int64_t pieces_;
};

void measure(const Case& c, int threads) {
  References references(c, threads);
  Graph graph;
  const Value a = input(graph, "a", {DType::f32, c.a()}),
              b = input(graph, "b", {DType::f32, c.b()});
  graph.add_output("y", matmul(a, b, c.transpose_a, c.transpose_b).id);
  Executor executor(compile(graph), {.threads = threads});
  executor.bind("a", references.a());
  executor.bind("b", references.b());

  // Short ones are repeated, so that the clock does not count.
  const int repeats = static_cast<int>(std::max(1.0, 2e6 / c.flops()));
  const int rounds = c.flops() > 1e8 ? 30 : 200;
  double best[3] = {1e300, 1e300, 1e300};
  for (int round = 0; round < rounds; ++round) {
    const auto time = [&](double& shortest, auto&& f) {
      const double start = bench::seconds_now();
      for (int i = 0; i < repeats; ++i) f();
      shortest = std::min(shortest, (bench::seconds_now() - start) / repeats);
    };
    time(best[0], [&] { executor.run(); });
    time(best[1], [&] { references.one_by_one(); });
    if (references.can_stack()) time(best[2], [&] { references.stacked(); });
  }
  const auto speed = [&](double seconds) { return c.flops() / seconds * 1e-9; };
  fmt::print("{:<34} {:>7}: {:>9.3f} us  engine {:>6.1f}  one by one {:>6.1f}  stacked {}  GF/s\n",
             c.name, threads == 1 ? "1 thread" : fmt::format("{} thr.", threads), best[0] * 1e6,
             speed(best[0]), speed(best[1]),
             references.can_stack() ? fmt::format("{:>6.1f}", speed(best[2])) : "     -");
}

}  // namespace

int main(int count, char** words) {
  fmt::print("{}\n", blas_description());
  const Case cases[] = {
      {"20 [500,784] shared x [784,40]", 20, 500, 784, 40, true},
      {"20 [500,784]' shared x [500,40]", 20, 784, 500, 40, true, false, true},
      {"20 [500,784] shared x [784,20]", 20, 500, 784, 20, true},
      {"20 [500,784]' shared x [500,20]", 20, 784, 500, 20, true, false, true},
      {"20 [500,40] x [40,40]", 20, 500, 40, 40},
      {"20 [500,40]' x [500,40]", 20, 40, 500, 40, false, false, true},
      {"20 [500,40] x [40,10]", 20, 500, 40, 10},
      {"20 [500,40]' x [500,10]", 20, 40, 500, 10, false, false, true},
      {"20 [500,10] x [40,10]'", 20, 500, 10, 40, false, false, false, true},
      {"20 [500,20] x [20,10]", 20, 500, 20, 10},
      {"20 [500,784] x shared [784,40]", 20, 500, 784, 40, false, true},
      {"[800,88] x [88,600]", 1, 800, 88, 600},
      {"[800,88]' x [800,600]", 1, 88, 800, 600, false, false, true},
      {"[800,200]' x [800,600]", 1, 200, 800, 600, false, false, true},
      {"8 [200,88] x shared [88,600]", 8, 200, 88, 600, false, true},
      {"[1,200] x [200,600]", 1, 1, 200, 600},
      {"[50,10] x [50,10]'", 1, 50, 10, 50, false, false, false, true},
      {"[50,50] x [50,10]", 1, 50, 50, 10},
      {"[8,8] x [8,8]", 1, 8, 8, 8},
      {"[3,4] x [4,5]", 1, 3, 4, 5},
  };
  for (const Case& c : cases) {
    bool wanted = true;
    for (int i = 1; i < count; ++i)
      wanted = wanted && c.name.find(words[i]) != std::string_view::npos;
    if (!wanted) continue;
    measure(c, 1);
    measure(c, 2);
  }
}
