// Executor: runs one plan, again and again, in memory that it allocates once.
//
//   Executor executor(compile(graph), {.threads = 2});
//   executor.bind("x", x);          // by reference: x is read in place at every run
//   executor.run();
//   const Tensor& u = executor.output("u");
//
// After construction and binding, run() allocates nothing and looks nothing up. Results do not
// depend on the number of threads.
// A failed run throws and leaves the executor usable; the outputs are then unspecified.
// Thread safety: one thread at a time uses an executor; cancel() may be called from any thread.
// Executors do not share state, except for their plan, which is immutable.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/compile.hpp"
#include "engine/error.hpp"
#include "engine/graph.hpp"

namespace whorl {

// Memory for the values of a run, which executors that never run at the same time may share: none
// of them finds anything of its own there afterwards but its outputs, which are elsewhere.
struct RunMemory {
  std::shared_ptr<void> place;
  std::int64_t bytes = 0;
};
RunMemory allocate_run_memory(std::int64_t bytes);

// How many threads an executor has with that option: a number, or 0 for as many as there are cores.
// Throws a usage Error for a negative one.
int worker_count(int threads);

struct ExecutorOptions {
  int threads = 1;        // 0: as many as there are cores
  bool profile = false;   // time every step
  RunMemory memory = {};  // instead of its own; at least the plan's arena_bytes
};

// What one step of a plan costs; bytes and flops are estimates by shape.
struct StepProfile {
  std::string name;  // of its nodes, or their ops
  double seconds = 0;
  double bytes = 0;
  double flops = 0;
  std::int64_t runs = 0;
};

class Executor {
 public:
  explicit Executor(std::shared_ptr<const Plan> plan, ExecutorOptions options = {});
  ~Executor();
  Executor(Executor&&) noexcept;
  Executor& operator=(Executor&&) noexcept;

  // The tensor's memory is read at every run until another is bound; the executor shares it.
  void bind(std::string_view input, const Tensor& tensor);
  // Writes an output to the caller's memory instead of the executor's own. It must not overlap an
  // input's memory.
  void bind_output(std::string_view output, const Tensor& tensor);

  void run();
  // Valid until the next run.
  const Tensor& output(std::string_view name) const;

  // Makes the run that is going on, or else the next one, throw an Error of kind cancelled. It ends
  // after the parts that are being worked on, a fraction of a millisecond in most graphs.
  void cancel();

  const Plan& plan() const;
  std::int64_t memory_bytes() const;  // arena, scratch and outputs
  std::vector<StepProfile> profile() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace whorl
