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
// Inputs reach the networks in two stages. The first belongs to the task and makes it look like the
// one that the networks were trained on (TaskScale); the second belongs to the networks.
// Thread safety: plain values.
#pragma once

#include <string>
#include <vector>

#include "samplers/recipe.hpp"

namespace whorl {

// The network sees (x - shift) * scale.
struct NetworkInput {
  double scale = 1, shift = 0;
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

struct LearnedSampler {
  Network curl;       // f_Q
  Network diffusion;  // f_D
  double alpha = 0, beta = 0, c = 0;
};

// How the inputs of a task come to the scale of training: (U - energy_shift) * energy_scale, and
// factors for momentum and gradient.
struct TaskScale {
  double energy_shift = 0, energy_scale = 1;
  double momentum_scale = 1;
  double gradient_scale = 1;
};

// Networks with two and three inputs and weights as PyTorch draws them: every weight and bias of a
// layer with n inputs is uniform in +-1/sqrt(n).
void draw_weights(LearnedSampler& sampler, std::uint64_t seed);

// The names of the step's parameters that hold the weights.
inline constexpr std::string_view curl_weights = "curl_weights";
inline constexpr std::string_view diffusion_weights = "diffusion_weights";

// Throws a graph Error when the networks do not fit together or a number is not finite.
void check(const LearnedSampler& sampler);
Dynamics learned_dynamics(const LearnedSampler& sampler, const TaskScale& task = {});

// What learned_dynamics is made of, for values [n] of U, p and g.
Value learned_curl(StepBuilder& step, const LearnedSampler& sampler, const TaskScale& task,
                   Value energy, Value momentum);  // Q
Value learned_diffusion_part(StepBuilder& step, const LearnedSampler& sampler,
                             const TaskScale& task, Value energy, Value momentum,
                             Value gradient);  // t_D f_D
// alpha Q^2 + t_D f_D + c, before the bounds of D.
Value unbounded_diffusion(const LearnedSampler& sampler, Value curl, Value part);

}  // namespace whorl
