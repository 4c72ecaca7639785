// Step: one step of a sampler, as a graph of one chain.
//
// Inputs of the graph:
//   the state variables, by name; `position` [n] is always the first
//   seed i32[2], step i32[]      coordinates of all random numbers
//   step_size []                 eta
//   parameters of the sampler    such as network weights, bound to `parameters`
//   the energy's data            as they are, or resident tables with `batch` i32[M] that picks
//   rows
// Outputs: every state variable under its own name, then statistics:
//   energy    []   U at the position where the step began (of its minibatch)
//   gradient  [n]  dU/dposition there, without injected noise
//   and what the sampler adds.
//
// The graph is written for one chain; batch() and unroll() turn it into many chains and steps.
// Thread safety: plain values.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "samplers/energy.hpp"

namespace whorl {

// How a state variable begins, independently for every chain and coordinate.
struct Start {
  enum class Kind { constant, normal, uniform };
  Kind kind = Kind::constant;
  double a = 0, b = 0;  // the constant a; a + b N(0,1); U(a, b)
};

struct StateVariable {
  std::string name;
  Type type;  // of one chain
  Start start;
};

// A tensor that a sampler brings along, the same for all chains.
struct StepParameter {
  std::string name;
  Tensor value;
};

struct Step {
  Graph graph;
  std::vector<StateVariable> state;
  std::vector<StepParameter> parameters;
  std::vector<std::string> statistics;
};

// Streams of random numbers. Variable k of the state draws from `noise` + k.
struct Streams {
  static constexpr std::int64_t gradient_noise = 1;
  static constexpr std::int64_t start = 2;  // position of the chains, see Chains
  static constexpr std::int64_t accept = 3;
  static constexpr std::int64_t noise = 16;
};

// Rows of resident data tables that one step sees.
struct Minibatch {
  std::int64_t rows = 0;                 // N; 0: the data inputs are used as they are
  std::int64_t size = 0;                 // M
  std::vector<std::string> inputs = {};  // the data inputs with a leading axis of rows
};

struct GradientSource {
  // The standard deviation of normal noise that is added to every coordinate of the gradient, to
  // study samplers on targets without data.
  double injected_noise = 0;
  Minibatch minibatch = {};
};

// What every sampler's step begins with and ends with.
class StepBuilder {
 public:
  StepBuilder(const Energy& energy, const GradientSource& options);

  Graph& graph() { return *graph_; }
  std::int64_t size() const { return size_; }
  DType dtype() const { return dtype_; }
  Type vector() const { return {dtype_, {size_}}; }
  Type scalar() const { return {dtype_, {}}; }

  Value position() const { return position_; }
  Value step_size() const { return step_size_; }
  // All three are constants for derivatives by whatever the sampler learns.
  Value energy() const { return energy_; }  // U, a scalar
  Value exact_gradient() const { return exact_gradient_; }
  Value gradient() const { return gradient_; }  // with the injected noise

  // U and its gradient at another position, on the same data.
  std::pair<Value, Value> energy_at(Value position);

  // A state variable beside the position.
  Value state(std::string name, const Type& type, const Start& start = {});
  // The input for a tensor of the sampler's own, made when it is first asked for.
  Value parameter(std::string name, const Tensor& value);
  Value normal(const Type& type, std::int64_t stream);
  Value uniform(const Type& type, std::int64_t stream);

  void update(std::string_view name, Value value) { graph_->add_output(name, value.id); }
  void statistic(std::string name, Value value);
  bool has_statistic(std::string_view name) const;
  // Every state variable must have its update. The builder is empty afterwards.
  Step finish();

 private:
  std::unique_ptr<Graph> graph_;
  const Energy& target_;
  DType dtype_;
  std::int64_t size_;
  std::map<std::string, Value, std::less<>> data_;
  Value position_, step_size_, seed_, step_, energy_, exact_gradient_, gradient_;
  std::vector<StateVariable> state_;
  std::vector<StepParameter> parameters_;
  std::vector<std::pair<std::string, Value>> statistics_;
};

}  // namespace whorl
