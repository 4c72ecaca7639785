#include "engine/executor.hpp"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "engine/floating_point.hpp"
#include "engine/part_runner.hpp"
#include "engine/plan.hpp"

namespace whorl {

namespace {

using Clock = std::chrono::steady_clock;

int cores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

}  // namespace

int worker_count(int threads) {
  if (threads < 0) fail(ErrorKind::usage, "executor", "threads must not be negative: {}", threads);
  return threads == 0 ? cores() : threads;
}

RunMemory allocate_run_memory(std::int64_t bytes) { return {allocate_storage(bytes), bytes}; }

struct Executor::Impl {
  // What one worker needs beside the shared slots.
  struct Worker {
    std::shared_ptr<void> temporaries;
    std::vector<const void*> wide_inputs;
  };

  Impl(std::shared_ptr<const Plan> p, ExecutorOptions o)
      : plan(std::move(p)), options(o), arena(worker_count(o.threads)) {
    // TBB starts no more threads than there are cores unless it is told to.
    if (o.threads > cores())
      more_threads.emplace(tbb::global_control::max_allowed_parallelism,
                           static_cast<std::size_t>(o.threads));
    if (options.memory.place && options.memory.bytes < plan->arena_bytes)
      fail(ErrorKind::usage, "executor", "the memory given has {} bytes; the plan needs {}",
           options.memory.bytes, plan->arena_bytes);
    memory = options.memory.place ? options.memory.place : allocate_storage(plan->arena_bytes);
    workers.resize(static_cast<std::size_t>(arena.max_concurrency()));
    for (Worker& worker : workers) {
      worker.temporaries = allocate_storage(plan->temporary_bytes);
      worker.wide_inputs.resize(plan->max_inputs);
    }
    for (const auto& port : plan->outputs) outputs.emplace_back(port.type);
    inputs.resize(plan->inputs.size());
    bound.assign(plan->inputs.size(), 0);
    slots.resize(plan->slots.size(), nullptr);
    for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = place(plan->slots[i]);
    seconds.assign(plan->steps.size(), 0);
    any_parallel =
        workers.size() > 1 && std::any_of(plan->stages.begin(), plan->stages.end(),
                                          [](const Stage& stage) { return stage.parallel; });
  }

  char* place(const Slot& slot) {
    const auto at = static_cast<std::size_t>(slot.at);
    switch (slot.kind) {
      case Slot::Kind::arena:
        return static_cast<char*>(memory.get()) + slot.at;
      case Slot::Kind::constant:
        // Kernels read constants only: they are inputs of steps, never outputs.
        return static_cast<char*>(const_cast<void*>(plan->constants[at].raw()));
      case Slot::Kind::output:
        return static_cast<char*>(outputs[at].raw());
      case Slot::Kind::input:
        break;
    }
    return nullptr;
  }

  std::size_t input_port(std::string_view name) const {
    return port("input", plan->inputs, plan->input_index, name);
  }
  std::size_t output_port(std::string_view name) const {
    return port("output", plan->outputs, plan->output_index, name);
  }
  static std::size_t port(std::string_view what, const std::vector<Plan::Port>& ports,
                          const std::unordered_map<std::string, std::size_t>& index,
                          std::string_view name) {
    const auto found = index.find(std::string(name));
    if (found != index.end()) return found->second;
    std::vector<std::string_view> names;
    for (const auto& p : ports) names.push_back(p.name);
    graph_error("run", "there is no {} '{}'{}", what, name, did_you_mean(name, names));
  }

  PartRunner runner(std::size_t worker) {
    Worker& own = workers[worker];
    return PartRunner(*plan, slots.data(), static_cast<char*>(own.temporaries.get()),
                      own.wide_inputs.data());
  }

  static std::size_t thread_index() {
    return static_cast<std::size_t>(tbb::this_task_arena::current_thread_index());
  }

  void check_ready() {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (plan->inputs[i].needed && !bound[i])
        graph_error("run", "input '{}' is not fed: expected {}", plan->inputs[i].name,
                    to_string(plan->inputs[i].type));
  }

  bool is_cancelled() const { return cancelled.load(std::memory_order_relaxed); }

  void run() {
    check_ready();
    if (any_parallel) {
      arena.execute([this] { run_stages(); });
    } else {
      run_stages();
    }
    if (cancelled.exchange(false)) fail(ErrorKind::cancelled, "run", "the run was cancelled");
  }

  void run_stages() {
    const FlushDenormals mode;
    const bool alone = workers.size() == 1;
    // Inside the arena every thread has its own index; outside it there is only one thread.
    PartRunner serial = runner(any_parallel ? thread_index() : 0);
    for (const Stage& stage : plan->stages) {
      if (is_cancelled()) return;
      if (options.profile) {
        run_profiled(stage, serial);
      } else if (alone || !stage.parallel) {
        for (std::uint32_t at = stage.first; at < stage.last; ++at) run_serial(at, serial);
      } else {
        run_parallel(stage.first, stage.last, stage.parts, serial);
      }
    }
  }

  void run_serial(std::uint32_t at, PartRunner& serial) {
    const PlanStep& step = plan->steps[at];
    serial.prepare(step);
    for (std::uint32_t part = 0; part < step.parts; ++part) {
      if (is_cancelled()) return;
      serial.run(step, part);
    }
    serial.finish(step);
  }

  void run_parallel(std::uint32_t first, std::uint32_t last, std::uint32_t parts,
                    PartRunner& serial) {
    for (std::uint32_t at = first; at < last; ++at) serial.prepare(plan->steps[at]);
    tbb::parallel_for(
        std::uint32_t{0}, parts,
        [&](std::uint32_t part) {
          if (is_cancelled()) return;
          std::uint32_t at = first;
          while (part >= plan->steps[at].parts) part -= plan->steps[at++].parts;
          const FlushDenormals mode;
          runner(thread_index()).run(plan->steps[at], part);
        },
        tbb::simple_partitioner{});
    if (is_cancelled()) return;
    for (std::uint32_t at = first; at < last; ++at) serial.finish(plan->steps[at]);
  }

  void run_profiled(const Stage& stage, PartRunner& serial) {
    for (std::uint32_t at = stage.first; at < stage.last; ++at) {
      const auto start = Clock::now();
      if (workers.size() == 1 || !stage.parallel) {
        run_serial(at, serial);
      } else {
        run_parallel(at, at + 1, plan->steps[at].parts, serial);
      }
      seconds[at] += std::chrono::duration<double>(Clock::now() - start).count();
    }
  }

  std::shared_ptr<const Plan> plan;
  ExecutorOptions options;
  std::optional<tbb::global_control> more_threads;
  tbb::task_arena arena;
  std::shared_ptr<void> memory;
  std::vector<Worker> workers;
  std::vector<Tensor> inputs, outputs;
  std::vector<char> bound;  // per input
  std::vector<char*> slots;
  std::vector<double> seconds;
  std::int64_t runs = 0;
  bool any_parallel = false;
  std::atomic<bool> cancelled{false};
};

Executor::Executor(std::shared_ptr<const Plan> plan, ExecutorOptions options)
    : impl_(std::make_unique<Impl>(std::move(plan), options)) {}
Executor::~Executor() = default;
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;

void Executor::bind(std::string_view input, const Tensor& tensor) {
  const std::size_t i = impl_->input_port(input);
  const Plan::Port& port = impl_->plan->inputs[i];
  if (tensor.type() != port.type)
    graph_error("run", "input '{}' is fed with {}; expected {}", input, to_string(tensor.type()),
                to_string(port.type));
  impl_->inputs[i] = tensor;
  impl_->bound[i] = 1;
  // Kernels read inputs only.
  impl_->slots[port.slot] = static_cast<char*>(const_cast<void*>(tensor.raw()));
}

void Executor::bind_output(std::string_view output, const Tensor& tensor) {
  const std::size_t i = impl_->output_port(output);
  const Plan::Port& port = impl_->plan->outputs[i];
  if (tensor.type() != port.type)
    graph_error("run", "output '{}' is bound to {}; expected {}", output, to_string(tensor.type()),
                to_string(port.type));
  impl_->outputs[i] = tensor;
  impl_->slots[port.slot] = static_cast<char*>(impl_->outputs[i].raw());
}

void Executor::run() {
  impl_->run();
  ++impl_->runs;
}

const Tensor& Executor::output(std::string_view name) const {
  return impl_->outputs[impl_->output_port(name)];
}

void Executor::cancel() { impl_->cancelled.store(true); }

const Plan& Executor::plan() const { return *impl_->plan; }

std::int64_t Executor::memory_bytes() const {
  return impl_->plan->memory_bytes(static_cast<int>(impl_->workers.size()));
}

std::vector<StepProfile> Executor::profile() const {
  std::vector<StepProfile> result;
  for (std::size_t at = 0; at < impl_->plan->steps.size(); ++at) {
    const PlanStep& step = impl_->plan->steps[at];
    result.push_back(
        {impl_->plan->step_name(step), impl_->seconds[at], step.bytes, step.flops, impl_->runs});
  }
  return result;
}

}  // namespace whorl
