#include "samplers/chains.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "engine/evaluate.hpp"
#include "engine/floating_point.hpp"
#include "engine/ops.hpp"
#include "engine/plan.hpp"
#include "engine/random.hpp"
#include "engine/role.hpp"
#include "samplers/divergence_watch.hpp"

namespace whorl {

Tensor seed_tensor(std::uint64_t seed) {
  return Tensor::of<std::int32_t>(
      {2}, {static_cast<std::int32_t>(seed & 0xffffffffu), static_cast<std::int32_t>(seed >> 32)});
}

void fill_start(const Start& start, const RandomCoordinates& coordinates, Tensor& values) {
  const FlushDenormals mode;  // the host may round in another way
  const std::int64_t chains = values.shape()[0], size = values.elements() / chains;
  const double factor = start.kind == Start::Kind::constant ? 0
                        : start.kind == Start::Kind::normal ? start.b
                                                            : start.b - start.a;
  const auto fill_rows = [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t chain = 0; chain < chains; ++chain) {
      RandomCoordinates at = coordinates;
      at.chain = static_cast<std::uint32_t>(chain);
      const std::span<T> row(values.data<T>() + chain * size, static_cast<std::size_t>(size));
      std::fill(row.begin(), row.end(), T(0));
      if (start.kind == Start::Kind::normal) fill_normal<T>(at, 0, row);
      if (start.kind == Start::Kind::uniform) fill_uniform<T>(at, 0, row);
      for (T& x : row) x = static_cast<T>(start.a + factor * x);
    }
  };
  values.dtype() == DType::f32 ? fill_rows(float{}) : fill_rows(double{});
}

struct Chains::Impl {
  // A state variable: what a run reads and what it writes, exchanged after the run.
  struct Slot {
    StateVariable variable;
    Tensor now, next;
    std::uint32_t stream;
  };
  // One of the steps, unrolled, for all chains.
  struct Program {
    Graph graph;
    std::shared_ptr<const Plan> plan;
    std::unique_ptr<Executor> executor;
    Feeds feeds;  // all inputs but the state
    bool has_batches = false;
    Tensor batches;
    std::map<std::string, NodeId> first_statistics;  // as a run begins

    void bind(std::string_view name, const Tensor& tensor) {
      executor->bind(name, tensor);
      feeds.insert_or_assign(std::string(name), tensor);
    }
  };

  ChainsOptions options;
  std::vector<Slot> slots;
  Tensor step_number{Type{DType::i32, {}}}, step_sizes;
  std::vector<Program> programs;
  std::size_t current = 0;  // the program of the last run
  std::function<std::size_t(std::int64_t)> which;
  std::int64_t step = 0;
  std::optional<DivergenceWatch> watch;

  Impl(std::span<const Step> steps, const ChainsOptions& chosen)
      : options(chosen), programs(steps.size()) {
    check_alike(steps);
    for (std::size_t i = 0; i < steps.size(); ++i) make_program(steps[i], programs[i]);
    check_budget();
    std::int64_t bytes = 0;
    for (const Program& program : programs) bytes = std::max(bytes, program.plan->arena_bytes);
    const RunMemory memory = programs.size() > 1 ? allocate_run_memory(bytes) : RunMemory{};
    const Graph& graph = programs[0].graph;
    for (std::size_t k = 0; k < steps[0].state.size(); ++k) {
      const Type& type = graph.type(*graph.find(steps[0].state[k].name));
      slots.push_back({steps[0].state[k], Tensor(type), Tensor(type), start_stream(k)});
    }
    watch.emplace(options.chains, slots.front().now.elements() / options.chains,
                  options.drop_diverged);
    step_sizes = Tensor(graph.type(*graph.find("step_sizes")));
    for (std::size_t i = 0; i < steps.size(); ++i) start_program(steps[i], programs[i], memory);
  }

  void check_alike(std::span<const Step> steps) const {
    if (steps.empty()) fail(ErrorKind::usage, "chains", "there is no step to make");
    if (steps.size() == 1) return;
    if (options.steps_per_run != 1)
      fail(ErrorKind::usage, "chains", "steps that take turns are made one by one, not {} in a run",
           options.steps_per_run);
    for (const Step& each : steps)
      if (!std::equal(each.state.begin(), each.state.end(), steps[0].state.begin(),
                      steps[0].state.end(), [](const StateVariable& a, const StateVariable& b) {
                        return a.name == b.name && a.type == b.type;
                      }))
        fail(ErrorKind::usage, "chains", "steps that take turns must have the same state");
  }

  void make_program(const Step& sampler, Program& program) const {
    const Unrolled unrolled =
        unroll(program.graph, sampler, {options.chains, options.steps_per_run, 0});
    for (const auto& [name, value] : unrolled.state) program.graph.add_output(name, value.id);
    std::vector<std::string> kept{"energy"};
    kept.insert(kept.end(), options.statistics.begin(), options.statistics.end());
    for (const std::string& name : kept) add_statistic(program, unrolled, name);
    if (options.keep_path) add_path(program, unrolled);
    program.plan = compile(program.graph);
  }

  void start_program(const Step& sampler, Program& program, const RunMemory& memory) {
    program.executor = std::make_unique<Executor>(
        program.plan, ExecutorOptions{.threads = options.threads, .memory = memory});
    program.bind("seed", seed_tensor(options.seed));
    program.bind("step", step_number);
    program.bind("step_sizes", step_sizes);
    for (const StepParameter& parameter : sampler.parameters)
      program.bind(parameter.name, parameter.value);
    if (const auto node = program.graph.find("batches")) {
      program.has_batches = true;
      program.batches = Tensor(program.graph.type(*node));
      program.bind("batches", program.batches);
    }
  }

  // What all programs need together; they share the largest arena.
  std::int64_t planned_bytes() const {
    const int workers = worker_count(options.threads);
    std::int64_t bytes = 0, arena = 0;
    for (const Program& program : programs) {
      bytes += program.plan->memory_bytes(workers) - program.plan->arena_bytes;
      arena = std::max(arena, program.plan->arena_bytes);
    }
    return bytes + arena;
  }

  void check_budget() const {
    if (options.memory_budget == 0) return;
    std::int64_t bytes = planned_bytes();
    const Graph& graph = programs[0].graph;
    for (NodeId id : graph.input_nodes())
      if (is_parameter(graph, id)) bytes += 2 * graph.type(id).bytes();
    if (bytes > options.memory_budget)
      fail(ErrorKind::memory, "chains",
           "plan and states of {} chains need {} bytes, the budget leaves {}", options.chains,
           bytes, options.memory_budget);
  }

  // The program that makes the next step.
  std::size_t next() const {
    const std::size_t chosen = which ? which(step) : 0;
    if (chosen >= programs.size())
      fail(ErrorKind::usage, "chains", "step {} is to be made by step {} of {}", step, chosen,
           programs.size());
    return chosen;
  }

  // What is not the step's own is made here, so that steps without an audience do not pay for it.
  static Value statistic_of(const Moment& moment, const std::string& name) {
    if (const auto found = moment.statistics.find(name); found != moment.statistics.end())
      return found->second;
    if (name == "configurational_temperature")
      return mean(moment.state.at("position") * moment.statistics.at("gradient"), {-1});
    const auto momentum = moment.state.find("momentum");
    if (name == "kinetic_temperature" && momentum != moment.state.end())
      return mean(square(momentum->second), {-1});
    fail(ErrorKind::usage, "chains", "the sampler has no statistic '{}'", name);
  }

  static void add_statistic(Program& program, const Unrolled& unrolled, const std::string& name) {
    std::vector<Value> values;
    for (const Moment& moment : unrolled.moments) values.push_back(statistic_of(moment, name));
    program.first_statistics[name] = values.front().id;
    program.graph.add_output("statistic/" + name, stack(values, 0).id);
  }

  static void add_path(Program& program, const Unrolled& unrolled) {
    std::vector<Value> positions;
    for (std::size_t t = 1; t < unrolled.moments.size(); ++t)
      positions.push_back(unrolled.moments[t].state.at("position"));
    positions.push_back(unrolled.state.at("position"));
    program.graph.add_output("path", stack(positions, 0).id);
  }

  Slot& slot(std::string_view name) {
    for (Slot& slot : slots)
      if (slot.variable.name == name) return slot;
    std::vector<std::string_view> names;
    for (const Slot& slot : slots) names.push_back(slot.variable.name);
    fail(ErrorKind::usage, "chains", "the sampler has no variable '{}'{}", name,
         did_you_mean(name, names));
  }

  // Where the run that just ended first had a number that is not finite. Its beginning is still
  // there, so it is repeated by the plain interpreter, which sees every value.
  std::string first_place(Program& program) {
    take_state(program);
    const auto found = first_non_finite(program.graph, program.feeds);
    return found ? fmt::format(": first in {}", program.graph.label(found->node)) : std::string();
  }

  // The state among a program's feeds, for the plain interpreter.
  void take_state(Program& program) const {
    for (const Slot& slot : slots) program.feeds.insert_or_assign(slot.variable.name, slot.now);
  }

  // A run that stopped at a number, repeated by the plain interpreter: there the nodes have the
  // names that the sampler gave them, behind "t0/" for the first step.
  [[noreturn]] void report_stop(const Error& error, Program& program) {
    take_state(program);
    std::string what(bare_text(error));
    try {
      evaluate(program.graph, program.feeds);
    } catch (const Error& named) {
      what = bare_text(named);
    }
    fail(ErrorKind::numeric, "sample", "in the {} steps from step {} on: {}", options.steps_per_run,
         step, what);
  }

  // A state can be lost in the last step of a run, whose energy nobody has seen yet. It must not
  // get into a checkpoint.
  void check_state(Program& program) {
    for (const Slot& slot : slots) {
      if (all_finite(slot.next)) continue;
      for (std::int64_t chain = 0; chain < options.chains; ++chain)
        if (watch->alive(chain) && !all_finite(row_of(slot.next, chain)))
          watch->give_up(chain, step + options.steps_per_run,
                         fmt::format("{} is not finite", slot.variable.name), first_place(program));
    }
  }

  // The numbers of chains that were given up must not stop or slow down the others.
  void replace_dead() {
    if (watch->divergences().empty()) return;
    const std::int64_t living = watch->first_alive();
    for (Slot& slot : slots)
      for (const Divergence& lost : watch->divergences()) {
        const Tensor from = row_of(slot.now, living);
        std::memcpy(row_of(slot.now, lost.chain).raw(), from.raw(),
                    static_cast<std::size_t>(from.bytes()));
      }
  }
};

Chains::Chains(const Step& step, const ChainsOptions& options)
    : Chains(std::span<const Step>(&step, 1), options) {}
Chains::Chains(std::span<const Step> steps, const ChainsOptions& options)
    : impl_(std::make_unique<Impl>(steps, options)) {
  for (const Impl::Slot& slot : impl_->slots) start(slot.variable.name, slot.variable.start);
}
Chains::Chains(Chains&&) noexcept = default;
Chains& Chains::operator=(Chains&&) noexcept = default;
Chains::~Chains() = default;

const ChainsOptions& Chains::options() const { return impl_->options; }
std::int64_t Chains::step() const { return impl_->step; }
void Chains::set_step(std::int64_t step) { impl_->step = step; }
std::int64_t Chains::memory_bytes() const { return impl_->planned_bytes(); }

void Chains::bind(std::string_view input, const Tensor& tensor) {
  for (Impl::Program& program : impl_->programs) program.bind(input, tensor);
}
void Chains::choose(std::function<std::size_t(std::int64_t)> which) {
  impl_->which = std::move(which);
}

void Chains::start(std::string_view variable, const Start& start) {
  Impl::Slot& slot = impl_->slot(variable);
  fill_start(start, {impl_->options.seed, slot.stream}, slot.now);
}

void Chains::set(std::string_view variable, const Tensor& values) {
  Impl::Slot& slot = impl_->slot(variable);
  if (values.type() != slot.now.type())
    fail(ErrorKind::usage, "chains", "variable '{}' is {}, the values given are {}", variable,
         to_string(slot.now.type()), to_string(values.type()));
  slot.now = values.clone();
}

void Chains::advance(const std::function<double(std::int64_t)>& step_size,
                     const std::function<void(std::int64_t, std::span<std::int32_t>)>& batch) {
  const FlushDenormals mode;
  Impl& impl = *impl_;
  const std::int64_t steps = impl.options.steps_per_run;
  const std::size_t chosen = impl.next();
  Impl::Program& program = impl.programs[chosen];
  if (program.has_batches && !batch)
    fail(ErrorKind::usage, "chains", "the step has minibatches, and no rows are given for them");
  *impl.step_number.data<std::int32_t>() = static_cast<std::int32_t>(impl.step);
  for (std::int64_t t = 0; t < steps; ++t) {
    const double eta = step_size(impl.step + t);
    if (impl.step_sizes.dtype() == DType::f32)
      impl.step_sizes.data<float>()[t] = static_cast<float>(eta);
    else
      impl.step_sizes.data<double>()[t] = eta;
    if (program.has_batches) {
      const std::int64_t size = program.batches.shape()[1];
      batch(impl.step + t,
            {program.batches.data<std::int32_t>() + t * size, static_cast<std::size_t>(size)});
    }
  }
  for (Impl::Slot& slot : impl.slots) {
    program.executor->bind(slot.variable.name, slot.now);
    program.executor->bind_output(slot.variable.name, slot.next);
  }
  try {
    program.executor->run();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::numeric) impl.report_stop(error, program);
    throw;
  }
  impl.current = chosen;
  impl.watch->check(program.executor->output("statistic/energy"), impl.step,
                    [&] { return impl.first_place(program); });
  impl.check_state(program);
  for (Impl::Slot& slot : impl.slots) std::swap(slot.now, slot.next);
  impl.step += steps;
  impl.replace_dead();
}

std::map<std::string, Tensor> Chains::statistics_now(
    const std::function<void(std::int64_t, std::span<std::int32_t>)>& batch) {
  Impl& impl = *impl_;
  Impl::Program& program = impl.programs[impl.next()];
  if (program.has_batches && batch) {
    const auto size = static_cast<std::size_t>(program.batches.shape()[1]);
    batch(impl.step, {program.batches.data<std::int32_t>(), size});
  }
  std::vector<NodeId> nodes;
  for (const auto& [name, node] : program.first_statistics) nodes.push_back(node);
  impl.take_state(program);
  const std::vector<Tensor> values = evaluate(program.graph, program.feeds, nodes);
  std::map<std::string, Tensor> result;
  std::size_t at = 0;
  for (const auto& [name, node] : program.first_statistics) result.emplace(name, values[at++]);
  const Tensor& energies = result.at("energy");
  for (std::int64_t chain = 0; chain < impl.options.chains; ++chain)
    if (alive(chain) && !std::isfinite(energies.at(chain)))
      impl.watch->give_up(chain, impl.step, "the energy is not finite", impl.first_place(program));
  return result;
}

const std::vector<Divergence>& Chains::divergences() const { return impl_->watch->divergences(); }
bool Chains::alive(std::int64_t chain) const { return impl_->watch->alive(chain); }
void Chains::diverged(std::int64_t chain, std::string_view what) {
  impl_->watch->give_up(chain, impl_->step, what);
  impl_->replace_dead();
}

std::map<std::string, Tensor> Chains::save() const {
  std::map<std::string, Tensor> saved;
  for (const Impl::Slot& slot : impl_->slots)
    saved.emplace("chains/state/" + slot.variable.name, slot.now);
  saved.emplace("chains/step", Tensor::of<double>({1}, {static_cast<double>(impl_->step)}));
  impl_->watch->save(saved);
  return saved;
}

void Chains::load(const std::map<std::string, Tensor, std::less<>>& saved) {
  Impl& impl = *impl_;
  std::vector<Tensor> states;
  for (const Impl::Slot& slot : impl.slots) {
    const Tensor& state =
        saved_tensor(saved, "chains/state/" + slot.variable.name, slot.now.type());
    for (std::int64_t chain = 0; chain < impl.options.chains; ++chain)
      if (!all_finite(row_of(state, chain)))
        fail(ErrorKind::checkpoint, "checkpoint", "its {} is not finite in chain {}",
             slot.variable.name, chain);
    states.push_back(state.clone());
  }
  const double step = saved_tensor(saved, "chains/step", Type{DType::f64, {1}}).at(0);
  if (!(step >= 0 && step <= std::numeric_limits<std::int32_t>::max()))
    fail(ErrorKind::checkpoint, "checkpoint", "it has made {} steps", step);
  impl.watch->load(saved, static_cast<std::int64_t>(step));
  for (std::size_t k = 0; k < states.size(); ++k) impl.slots[k].now = std::move(states[k]);
  impl.step = static_cast<std::int64_t>(step);
}

const Tensor& Chains::state(std::string_view variable) const { return impl_->slot(variable).now; }
const Tensor& Chains::path() const {
  return impl_->programs[impl_->current].executor->output("path");
}
const Tensor& Chains::statistic(std::string_view name) const {
  return impl_->programs[impl_->current].executor->output("statistic/" + std::string(name));
}

}  // namespace whorl
