// LearnedSampler: NNSGHMC, the sampler whose curl and diffusion are small networks.
//
//   Q_i = beta + bound_Q(t_Q f_Q(u, p_i))
//   D_i = bound_D(alpha Q_i^2 + t_D f_D(u, p_i, g_i) + c)
//
// f_Q and f_D are applied coordinate by coordinate, with the chain's energy u, the momentum p_i and
// the stochastic gradient g_i as inputs. Every constant is a field, so that any sampler of this
// family, whoever trained it, can be written down. In the paper's words: curl is Q_f, diffusion is
// D_f, and Gamma is derived from what stands here, see recipe.hpp.
//
// Inputs reach the networks in two stages. The first belongs to the task and makes it look like
// those that the networks were trained on (TaskStatistics); the second belongs to the networks.
// Thread safety: plain values.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "samplers/recipe.hpp"

namespace whorl {

// The network sees (x - shift) * scale, clamped where low < high. A clamp at the ends of what was
// seen in training keeps Q and D there from being extrapolated, which is what chains that are far
// out diverge by.
struct NetworkInput {
  double scale = 1, shift = 0;
  double low = 0, high = 0;
};

// What happens to a network's output, before `scale` and the bounds.
enum class Transform { none, absolute, softplus, square, tanh };

struct Network {
  std::vector<std::int64_t> hidden{10};
  std::string activation = "relu";   // relu, tanh or softplus
  std::vector<NetworkInput> inputs;  // energy, momentum and, for the diffusion, gradient
  Transform transform = Transform::none;
  double scale = 1;
  double low = 0, high = 0;     // a clamp, when low < high
  std::vector<double> weights;  // flat, as coordinate_net wants them

  std::int64_t weight_count() const;
};

// How the energy of a task comes to the scale of training. A raw energy does not transfer: its
// constant and its range change with the target and its dimension.
enum class EnergyInput {
  raw,           // U
  standardised,  // (U - mean) / sd, over the end of a short run on the task
  asinh,         // asinh of that: linear near the bulk, logarithmic far away, as in burn-in
  // (1/N) (log p(data | theta) + w log p(theta)) with w = (weights in training) / (weights here),
  // so that the prior of a larger model weighs no more: a loss per datum, with the sign turned.
  mean_log_joint
};

// The short run of SGHMC that measures a task, see measure_task.
struct Pilot {
  double step_size = 0.025, friction = 1;
  std::int64_t chains = 16, steps = 2000;
};

// What a pilot run measures, over its second half.
struct TaskStatistics {
  double energy_mean = 0, energy_sd = 1;
  double momentum_rms = 1;
  double gradient_rms = 1;     // of the stochastic gradient
  double pilot_step_size = 0;  // with which that was measured; 0 when it was not
  double rows = 0;             // N of the task's data, which nobody has to measure; 0: it has none
};

struct LearnedSampler {
  Network curl;       // f_Q
  Network diffusion;  // f_D
  double alpha = 0, beta = 0, c = 0;
  double alpha_times_step_size = 0;  // > 0: alpha is this over the first step size
  EnergyInput energy_input = EnergyInput::raw;
  bool scale_momentum = false, scale_gradient = false;  // divide by the task's rms
  // Whether the gradient reaches D as that of the mean log joint, with the sign turned: divided by
  // N, its prior's part weighted by w.
  bool mean_gradient = false;
  // The weights of the model that it was trained on, for w; 0: w is 1.
  std::int64_t trained_size = 0;
  // > 0: the step size for a task is this over the task's gradient_rms, unless another is given. D
  // is then also kept below 1 over the step size: beyond that, friction turns the momentum around
  // within a step, and chains that begin far out diverge.
  double step_size_times_gradient_rms = 0;
  double largest_step_size = 1;  // of that rule
  Pilot pilot;
  TaskStatistics statistics;  // of the training tasks, for the record

  // Whether it must be told about a task.
  bool needs_statistics() const {
    return energy_input == EnergyInput::standardised || energy_input == EnergyInput::asinh ||
           scale_momentum || scale_gradient || step_size_times_gradient_rms > 0;
  }
  // Whether it can only be used on tasks with rows of data.
  bool needs_rows() const { return energy_input == EnergyInput::mean_log_joint || mean_gradient; }
  // The step size that it was trained for, on such a task; 0 when it leaves that to others.
  // Where the pilot had to halve its own, it is not far above what was found to be stable.
  double step_size(const TaskStatistics& task) const {
    const double rule =
        std::min(step_size_times_gradient_rms / task.gradient_rms, largest_step_size);
    const bool halved = task.pilot_step_size > 0 && task.pilot_step_size < pilot.step_size;
    return halved ? std::min(rule, 4 * task.pilot_step_size) : rule;
  }
};

// Networks with two and three inputs and weights as PyTorch draws them: every weight and bias of a
// layer with n inputs is uniform in +-1/sqrt(n).
void draw_weights(LearnedSampler& sampler, std::uint64_t seed);

// The names of the step's parameters that hold the weights.
inline constexpr std::string_view curl_weights = "curl_weights";
inline constexpr std::string_view diffusion_weights = "diffusion_weights";
// And the one that holds the task's statistics, [4] in the order of TaskStatistics.
inline constexpr std::string_view task_statistics = "task_statistics";
Tensor statistics_tensor(const TaskStatistics& task, DType dtype);

// Throws a graph Error when the networks do not fit together or a number is not finite.
void check(const LearnedSampler& sampler);
// `first_step_size` is for alpha_times_step_size alone. Throws a usage Error when the sampler looks
// at means and task.rows is 0. Steps get the statistics `curl` and
// `diffusion`, means over the coordinates, and `curl_clamped` and `diffusion_clamped`, the share of
// coordinates where a clamp is active: a sampler that is clamped everywhere has learned nothing.
Dynamics learned_dynamics(const LearnedSampler& sampler, const TaskStatistics& task = {},
                          double first_step_size = 0);

// What that is made of. Inputs are [n].
struct LearnedInputs {
  Value energy, momentum, gradient;
};
double alpha_of(const LearnedSampler& sampler, double first_step_size);
// U, or its gradient, with the prior's part weighted by w; the same where w is 1. Throws a usage
// Error where the prior is empty and w is not 1.
Value weigh_prior(const LearnedSampler& sampler, std::int64_t size, Value all, Value prior);
// The first stage: U, p and g at the scale of the task; with the prior weighted already where the
// sampler looks at means.
LearnedInputs task_inputs(StepBuilder& step, LearnedInputs inputs, const LearnedSampler& sampler,
                          const TaskStatistics& task);
Value curl_part(StepBuilder& step, const LearnedSampler& sampler, const LearnedInputs& inputs);
Value diffusion_part(StepBuilder& step, const LearnedSampler& sampler, const LearnedInputs& inputs);
// Q from t_Q f_Q, and D before its bounds from Q and t_D f_D.
Value curl_of(const LearnedSampler& sampler, Value part);
Value unbounded_diffusion(const LearnedSampler& sampler, double alpha, Value curl, Value part);

}  // namespace whorl
