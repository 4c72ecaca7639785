#include "samplers/unroll.hpp"

#include "engine/ops.hpp"
#include "engine/passes.hpp"

namespace whorl {

namespace {

// The step for K chains, without what no output needs, with equal nodes merged, and networks with
// their derivatives in one pass, so that their meta-gradient is one, too. Passes that drop
// stop_gradient are left to compile().
Graph batched_step(const Step& step, std::int64_t chains) {
  static const std::vector<Pass> passes{{"dead", remove_dead},
                                        {"constant", fold_constants},
                                        {"common", merge_common},
                                        {"nets", merge_nets},
                                        {"dead", remove_dead}};
  std::vector<std::string> state;
  for (const StateVariable& variable : step.state) state.push_back(variable.name);
  return run_passes(batch(step.graph, state, chains), passes);
}

Value element(Value list, std::int64_t t) {
  const Value one = slice(list, 0, t, t + 1);
  return reshape(one, list.shape().without_front());
}

}  // namespace

Unrolled unroll(Graph& into, const Step& step, const UnrollOptions& options) {
  if (options.steps < 1 || options.chains < 1)
    fail(ErrorKind::usage, "unroll", "expected at least one chain and one step: {} and {}",
         options.chains, options.steps);
  const Graph one = batched_step(step, options.chains);
  const auto type_of = [&](std::string_view name) { return one.type(*one.find(name)); };

  Unrolled result;
  NamedValues state, shared;
  for (const StateVariable& variable : step.state)
    state[variable.name] = input(into, variable.name, type_of(variable.name), "parameter");
  for (const StepParameter& parameter : step.parameters)
    result.parameters[parameter.name] = input(into, parameter.name, parameter.value.type());
  shared = result.parameters;
  shared["seed"] = input(into, "seed", type_of("seed"));
  const Value first = input(into, "step", type_of("step"));
  const Value sizes = input(into, "step_sizes", {type_of("step_size").dtype, Shape{options.steps}});
  Value batches;
  if (const auto batch = one.find("batch"))
    batches =
        input(into, "batches", {DType::i32, one.type(*batch).shape.with_front(options.steps)});

  for (std::int64_t t = 0; t < options.steps; ++t) {
    Moment moment{state, {}};
    NamedValues inputs = shared;
    const bool cut = options.truncate > 0 && (t + 1) % options.truncate == 0;
    for (const auto& [name, value] : state) inputs[name] = cut ? stop_gradient(value) : value;
    inputs["step"] = t == 0 ? first : first + fill_like(first, static_cast<double>(t));
    inputs["step_size"] = element(sizes, t);
    if (batches) inputs["batch"] = element(batches, t);
    const NamedValues outputs = append_graph(into, one, inputs, fmt::format("t{}/", t));
    for (auto& [name, value] : state) value = outputs.at(name);
    for (const std::string& name : step.statistics) moment.statistics[name] = outputs.at(name);
    result.moments.push_back(std::move(moment));
  }
  result.state = std::move(state);
  return result;
}

}  // namespace whorl
