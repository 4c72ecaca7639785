// What the benchmarks of sampler steps share: the statistics that are kept, and a look at the plan
// of a step.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "bench/bench.hpp"
#include "engine/executor.hpp"
#include "engine/ops.hpp"
#include "engine/plan.hpp"
#include "engine/random.hpp"
#include "samplers/unroll.hpp"

namespace whorl::bench {

// As `whorl sample` does it.
inline std::vector<std::string> statistics_of(const Step& step) {
  std::vector<std::string> names{"configurational_temperature"};
  for (const StateVariable& variable : step.state)
    if (variable.name == "momentum") names.emplace_back("kinetic_temperature");
  for (const Graph::Output& output : step.graph.outputs())
    if (output.name != "energy" && step.graph.type(output.node).shape.rank() == 0 &&
        std::find(step.statistics.begin(), step.statistics.end(), output.name) !=
            step.statistics.end())
      names.push_back(output.name);
  return names;
}

// What the steps of a plan take, by an executor that profiles.
inline void print_profile(const std::string& title, int count, Executor& executor) {
  const std::vector<double> seconds = best_profile(count, executor);
  const std::vector<StepProfile> profile = executor.profile();
  double total = 0;
  fmt::print("{}\n", title);
  for (std::size_t at = 0; at < seconds.size(); ++at) {
    fmt::print("{:9.1f} us  {:.100}\n", seconds[at] * 1e6, profile[at].name);
    total += seconds[at];
  }
  fmt::print("{:9.1f} us\n", total * 1e6);
}

// Whether show_step() has anything to print.
inline bool is_shown() {
  return std::getenv("WHORL_SHOW_PLAN") != nullptr || std::getenv("WHORL_PROFILE") != nullptr;
}

struct ShownStep {
  const Step& step;
  double step_size;
  std::map<std::string, Tensor> data;
  std::function<void(std::int64_t, std::span<std::int32_t>)> batch;
};

// One step's plan, with what Chains adds: the plan if WHORL_SHOW_PLAN is set, and what its steps
// take if WHORL_PROFILE is.
inline void show_step(const std::string& title, const ShownStep& shown, std::int64_t chains,
                      int threads, int count) {
  Graph graph;
  const Unrolled unrolled = unroll(graph, shown.step, {chains, 1, 0});
  for (const auto& [name, value] : unrolled.state) graph.add_output(name, value.id);
  const Moment& moment = unrolled.moments[0];
  for (const std::string& name : statistics_of(shown.step)) {
    const auto found = moment.statistics.find(name);
    const Value value =
        found != moment.statistics.end() ? found->second
        : name == "kinetic_temperature"
            ? mean(square(moment.state.at("momentum")), {-1})
            : mean(moment.state.at("position") * moment.statistics.at("gradient"), {-1});
    graph.add_output("statistic/" + name, value.id);
  }
  graph.add_output("statistic/energy", moment.statistics.at("energy").id);
  Executor executor(compile(graph), {.threads = threads, .profile = true});
  if (std::getenv("WHORL_SHOW_PLAN")) fmt::print("{}", to_text(executor.plan()));
  if (std::getenv("WHORL_PROFILE") == nullptr) return;
  for (const Plan::Port& port : executor.plan().inputs) {
    const auto given = shown.data.find(port.name);
    if (given != shown.data.end()) {
      executor.bind(port.name, given->second);
      continue;
    }
    Tensor tensor(port.type);
    if (port.name == "batches") shown.batch(0, tensor.values<std::int32_t>());
    if (port.type.dtype == DType::f32) fill_normal<float>({.seed = 5}, 0, tensor.values<float>());
    if (port.name == "step_sizes") tensor.data<float>()[0] = static_cast<float>(shown.step_size);
    executor.bind(port.name, tensor);
  }
  print_profile(title, count, executor);
}

}  // namespace whorl::bench
