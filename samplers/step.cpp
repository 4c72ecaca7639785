#include "samplers/step.hpp"

#include <algorithm>

#include "autodiff/tape.hpp"
#include "engine/ops.hpp"

namespace whorl {

StepBuilder::StepBuilder(const Energy& energy, const GradientSource& options)
    : graph_(std::make_unique<Graph>()),
      target_(energy),
      dtype_(energy.dtype()),
      size_(energy.size()) {
  position_ = state("position", vector());
  seed_ = input(*graph_, "seed", {DType::i32, {2}});
  step_ = input(*graph_, "step", {DType::i32, {}});
  step_size_ = input(*graph_, "step_size", scalar());

  const Minibatch& minibatch = options.minibatch;
  if (minibatch.rows > 0) {
    const Value batch = input(*graph_, "batch", {DType::i32, {minibatch.size}});
    for (const std::string& name : minibatch.inputs) {
      const Type& type = energy.graph().type(*energy.graph().find(name));
      const Shape table = type.shape.without_front().with_front(minibatch.rows);
      data_[name] = gather(input(*graph_, name, {type.dtype, table}), batch);
    }
  }

  const auto [u, g] = energy_at(position_);
  energy_ = stop_gradient(u);
  exact_gradient_ = stop_gradient(g);
  gradient_ = exact_gradient_;
  if (options.injected_noise > 0)
    gradient_ = gradient_ + options.injected_noise * normal(vector(), Streams::gradient_noise);
  statistic("energy", energy_);
  statistic("gradient", exact_gradient_);
}

std::pair<Value, Value> StepBuilder::energy_at(Value position) {
  const Value u = target_(position, data_);
  return {u, whorl::gradient(u, position)};
}

Value StepBuilder::state(std::string name, const Type& type, const Start& start) {
  const Value value = input(*graph_, name, type, "parameter");
  state_.push_back({std::move(name), type, start});
  return value;
}

Value StepBuilder::parameter(std::string name, const Tensor& value) {
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
