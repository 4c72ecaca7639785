// Step: one step of a sampler, as a graph of one chain.
//
// Inputs of the graph:
//   the state variables, by name; `position` [n] is always the first
//   seed i32[2], step i32[]      coordinates of all random numbers
//   step_size []                 eta
//   parameters of the sampler    such as network weights, bound to `parameters`
//   the energy's data            as they are, or resident tables with `batch` i32[M] that picks
//                                rows; i32[1 + M] where they are sequences, see Minibatch
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

// Streams of random numbers: all that samplers and their training use, so that none meets another.
struct Streams {
  static constexpr std::int64_t gradient_noise = 1;
  static constexpr std::int64_t accept = 3;         // HMC
  static constexpr std::int64_t jitter = 4;         // HMC
  static constexpr std::int64_t noise = 16;         // + k for variable k of the state
  static constexpr std::int64_t start = 1 << 16;    // + k, see Chains
  static constexpr std::int64_t weights = 1 << 17;  // + 0 for f_Q, + 1 for f_D
  static constexpr std::int64_t choice = 1 << 18;   // of chains for the in-chain loss
};

// Rows of resident data tables that one step sees.
//
// Where the data are sequences of different lengths, the rows are their frames, one sequence after
// the other, and a step sees one sequence of at most `size` frames: `batch` begins with its length
// L, then its rows, then any rows to fill up. The likelihood is that of the first L of them, which
// is the energy's own business: it gets L as the data input `length`. It is scaled by N / L, so
// that every sequence has the same weight; or, with `sequences` S, by S, which gives every frame
// the same weight and the energy of all sequences as its mean.
struct Minibatch {
  std::int64_t rows = 0;                 // N; 0: the data inputs are used as they are
  std::int64_t size = 0;                 // M
  std::vector<std::string> inputs = {};  // the data inputs with a leading axis of rows
  std::string length = {};               // the data input that is L; "": these are no sequences
  std::int64_t sequences = 0;            // S; 0: the scale is N / L

  bool ragged() const { return !length.empty(); }
  // How many numbers a step is told by.
  std::int64_t numbers() const { return size + (ragged() ? 1 : 0); }
};

struct GradientSource {
  // The standard deviation of normal noise that is added to every coordinate of the gradient, to
  // study samplers on targets without data.
  double injected_noise = 0;
  Minibatch minibatch = {};
  // Whether a meta-gradient flows through the gradient, where the step uses it as a force. It then
  // sees how a push now changes the force later, at the price of a product with the Hessian.
  bool differentiable = false;
};

// An energy and where its gradient comes from. Sequences of different lengths have several, for
// graphs of several sizes, whose steps take turns.
struct SizedEnergy {
  Energy energy;
  GradientSource gradient;
};

// What every sampler's step begins with and ends with.
class StepBuilder {
 public:
  // Throws an Error when data of the energy have a name of the step's own, or do not fit the
  // minibatch.
  StepBuilder(const Energy& energy, const GradientSource& options);

  Graph& graph() { return *graph_; }
  std::int64_t size() const { return size_; }
  DType dtype() const { return dtype_; }
  Type vector() const { return {dtype_, {size_}}; }
  Type scalar() const { return {dtype_, {}}; }

  Value position() const { return position_; }
  Value step_size() const { return step_size_; }
  // Constants for derivatives by whatever the sampler learns; the gradient unless it was asked to
  // be differentiable.
  Value energy() const { return energy_; }      // U, a scalar
  Value gradient() const { return gradient_; }  // with the injected noise
  // -log p(position) alone and its gradient, both constants as well; empty where the energy does
  // not tell its prior from its likelihood.
  Value prior() const { return prior_; }
  Value prior_gradient() const { return prior_gradient_; }

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
  // Throws a graph Error for a state variable without an update, or with one of another type. The
  // builder is empty afterwards.
  Step finish();

 private:
  std::unique_ptr<Graph> graph_;
  const Energy& target_;
  DType dtype_;
  std::int64_t size_;
  int evaluations_ = 0;
  std::map<std::string, Value, std::less<>> data_;
  Value scale_;  // of the likelihood, where the energy's own does not hold
  Value position_, step_size_, seed_, step_, energy_, gradient_, prior_, prior_gradient_;
  std::vector<StateVariable> state_;
  std::vector<StepParameter> parameters_;
  std::vector<std::pair<std::string, Value>> statistics_;
};

}  // namespace whorl
