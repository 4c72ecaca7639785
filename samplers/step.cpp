#include "samplers/step.hpp"

#include <algorithm>

#include "autodiff/tape.hpp"
#include "engine/attributes.hpp"
#include "engine/ops.hpp"

namespace whorl {

namespace {

// An input of the energy with such a name would be taken for the step's own.
void check_name(const Energy& energy, std::string_view own) {
  const std::vector<std::string> data = energy.data();
  if (std::find(data.begin(), data.end(), own) != data.end())
    graph_error("energy", "the data input '{}' has a name that the sampler uses itself; rename it",
                own);
}

void check_minibatch(const Energy& energy, const Minibatch& minibatch) {
  // A sequence may be filled up to more frames than there are.
  if (minibatch.size < 1 || (!minibatch.ragged() && minibatch.size > minibatch.rows))
    fail(ErrorKind::usage, "step", "a minibatch has {} rows, expected 1 to {}", minibatch.size,
         minibatch.rows);
  const std::vector<std::string> data = energy.data();
  for (const std::string& name : minibatch.inputs) {
    if (std::find(data.begin(), data.end(), name) == data.end())
      graph_error("step", "the energy has no data input '{}'{}", name,
                  did_you_mean(name, {data.begin(), data.end()}));
    const Type& type = energy.graph().type(*energy.graph().find(name));
    if (type.shape.rank() == 0 || type.shape[0] != minibatch.size)
      graph_error("step",
                  "the energy's input '{}' is {}; its first axis must be the {} rows of a "
                  "minibatch",
                  name, to_string(type), minibatch.size);
  }
  if (!minibatch.ragged()) return;
  if (!energy.has_output("prior") || !energy.has_output("likelihood"))
    graph_error("step",
                "sequences need an energy with the outputs 'prior' and 'likelihood', because every "
                "sequence scales its likelihood");
  const auto length = energy.graph().find(minibatch.length);
  if (!length || energy.graph().type(*length) != Type{DType::i32, {}})
    graph_error("step",
                "sequences need the data input '{}' i32[], the number of frames of the one that a "
                "step sees",
                minibatch.length);
}

void check_update(const Graph& graph, const StateVariable& variable) {
  for (const Graph::Output& output : graph.outputs()) {
    if (output.name != variable.name) continue;
    if (graph.type(output.node) != variable.type)
      graph_error("step", "variable '{}' is {}, its new value is {}", variable.name,
                  to_string(variable.type), to_string(graph.type(output.node)));
    return;
  }
  graph_error("step", "variable '{}' has no new value", variable.name);
}

}  // namespace

StepBuilder::StepBuilder(const Energy& energy, const GradientSource& options)
    : graph_(std::make_unique<Graph>()),
      target_(energy),
      dtype_(energy.dtype()),
      size_(energy.size()) {
  // The last two are inputs of many steps, see unroll().
  for (std::string_view own : {"seed", "step", "step_size", "batch", "step_sizes", "batches"})
    check_name(energy, own);
  position_ = state("position", vector());
  seed_ = input(*graph_, "seed", {DType::i32, {2}});
  step_ = input(*graph_, "step", {DType::i32, {}});
  step_size_ = input(*graph_, "step_size", scalar());

  const Minibatch& minibatch = options.minibatch;
  if (minibatch.rows > 0) {
    check_minibatch(energy, minibatch);
    Value batch = input(*graph_, "batch", {DType::i32, {minibatch.numbers()}});
    if (minibatch.ragged()) {
      const Value length = reshape(slice(batch, 0, 0, 1), Shape{});
      data_[minibatch.length] = length;
      const Value rows = fill(*graph_, scalar(), static_cast<double>(minibatch.rows));
      scale_ = minibatch.sequences > 0
                   ? fill(*graph_, scalar(), static_cast<double>(minibatch.sequences))
                   : rows / cast(length, dtype_);
      batch = slice(batch, 0, 1, minibatch.numbers());
    }
    for (const std::string& name : minibatch.inputs) {
      const Type& type = energy.graph().type(*energy.graph().find(name));
      const Shape table = type.shape.without_front().with_front(minibatch.rows);
      data_[name] = gather(input(*graph_, name, {type.dtype, table}), batch);
    }
  }

  const Energy::Parts parts = target_.parts(position_, data_, "energy/", scale_);
  ++evaluations_;
  const Value u = parts.energy, g = whorl::gradient(u, position_);
  if (parts.prior) {
    prior_ = stop_gradient(parts.prior);
    prior_gradient_ = stop_gradient(
        whorl::gradient(parts.prior, position_, GradientOptions{.allow_unused = true}));
  }
  energy_ = stop_gradient(u);
  gradient_ = options.differentiable ? g : stop_gradient(g);
  if (options.injected_noise > 0)
    gradient_ = gradient_ + options.injected_noise * normal(vector(), Streams::gradient_noise);
  statistic("energy", energy_);
  statistic("gradient", stop_gradient(g));
}

std::pair<Value, Value> StepBuilder::energy_at(Value position) {
  const std::string prefix = fmt::format("energy{}/", evaluations_++);
  const Value u = target_.parts(position, data_, prefix, scale_).energy;
  return {u, whorl::gradient(u, position)};
}

Value StepBuilder::state(std::string name, const Type& type, const Start& start) {
  check_name(target_, name);
  const Value value = input(*graph_, name, type, "parameter");
  state_.push_back({std::move(name), type, start});
  return value;
}

Value StepBuilder::parameter(std::string name, const Tensor& value) {
  check_name(target_, name);
  if (const auto there = graph_->find(name)) return graph_->value(*there);
  const Value node = input(*graph_, name, value.type());
  parameters_.push_back({std::move(name), value});
  return node;
}

Value StepBuilder::normal(const Type& type, std::int64_t stream) {
  return random_normal(seed_, step_, type, stream);
}

Value StepBuilder::uniform(const Type& type, std::int64_t stream) {
  return random_uniform(seed_, step_, type, stream);
}

void StepBuilder::statistic(std::string name, Value value) {
  statistics_.emplace_back(std::move(name), value);
}

bool StepBuilder::has_statistic(std::string_view name) const {
  return std::any_of(statistics_.begin(), statistics_.end(),
                     [&](const auto& statistic) { return statistic.first == name; });
}

Step StepBuilder::finish() {
  for (const StateVariable& variable : state_) check_update(*graph_, variable);
  Step step;
  for (const auto& [name, value] : statistics_) {
    graph_->add_output(name, value.id);
    step.statistics.push_back(name);
  }
  step.graph = std::move(*graph_);
  step.state = std::move(state_);
  step.parameters = std::move(parameters_);
  return step;
}

}  // namespace whorl
