#include "samplers/learned.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/ops.hpp"
#include "engine/random.hpp"

namespace whorl {

namespace {

Tensor weight_tensor(const Network& network, DType dtype) {
  return Tensor::from({dtype, {std::ssize(network.weights)}}, network.weights);
}

Value seen(Value x, const NetworkInput& input) {
  if (input.shift != 0) x = x - input.shift;
  if (input.scale != 1) x = x * input.scale;
  return input.low < input.high ? clamp(x, input.low, input.high) : x;
}

Value transformed(const Network& network, Value f) {
  switch (network.transform) {
    case Transform::none:
      break;
    case Transform::absolute:
      f = abs(f);
      break;
    case Transform::softplus:
      f = softplus(f);
      break;
    case Transform::square:
      f = square(f);
      break;
    case Transform::tanh:
      f = tanh(f);
      break;
  }
  return network.scale == 1 ? f : f * network.scale;
}

Value bounded(const Network& network, Value f) {
  return network.low < network.high ? clamp(f, network.low, network.high) : f;
}

Value apply(StepBuilder& step, const Network& network, std::string_view name,
            std::vector<Value> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = seen(inputs[i], network.inputs[i]);
  const Value weights = step.parameter(std::string(name), weight_tensor(network, step.dtype()));
  const Value f = coordinate_net(inputs, weights, {network.hidden, network.activation, {}});
  return transformed(network, reshape(f, Shape{step.size()}));
}

void check(std::string_view name, const Network& network, std::size_t inputs) {
  if (network.inputs.size() != inputs)
    graph_error("sampler", "the {} network has {} inputs, expected {}", name, network.inputs.size(),
                inputs);
  if (network.hidden.empty() || network.hidden.size() > 2)
    graph_error("sampler", "the {} network has {} hidden layers, expected 1 or 2", name,
                network.hidden.size());
  for (std::int64_t width : network.hidden)
    if (width < 1 || width > 4096)
      graph_error("sampler", "the {} network has a layer of {} units, expected 1 to 4096", name,
                  width);
  if (static_cast<std::int64_t>(network.weights.size()) != network.weight_count())
    graph_error("sampler", "the {} network has {} weights, its layers need {}", name,
                network.weights.size(), network.weight_count());
  const auto finite = [](double x) { return std::isfinite(x); };
  if (!std::all_of(network.weights.begin(), network.weights.end(), finite))
    graph_error("sampler", "the {} network has a weight that is not finite", name);
  for (const NetworkInput& input : network.inputs) {
    if (!finite(input.scale) || !finite(input.shift))
      graph_error("sampler", "the {} network has an input scale or shift that is not finite", name);
    if (!finite(input.low) || !finite(input.high) || input.low > input.high)
      graph_error("sampler", "the {} network has an input with the clamp [{}, {}]", name, input.low,
                  input.high);
  }
  if (!finite(network.scale) || !finite(network.low) || !finite(network.high) ||
      network.low > network.high)
    graph_error("sampler", "the {} network's output has scale {} and clamp [{}, {}]", name,
                network.scale, network.low, network.high);
}

}  // namespace

std::int64_t Network::weight_count() const { return coordinate_net_weights(inputs.size(), hidden); }

void check(const LearnedSampler& sampler) {
  check("curl", sampler.curl, 2);
  check("diffusion", sampler.diffusion, 3);
  for (double x : {sampler.alpha, sampler.beta, sampler.c})
    if (!std::isfinite(x)) graph_error("sampler", "alpha, beta and c must be finite: {}", x);
  if (sampler.alpha_times_step_size > 0 && sampler.step_size_times_gradient_rms > 0)
    graph_error(
        "sampler",
        "alpha_times_step_size and step_size_times_gradient_rms cannot both be given: alpha "
        "would differ from task to task");
  if (sampler.trained_size < 0)
    graph_error("sampler", "it was trained on a model of {} weights", sampler.trained_size);
  if (sampler.alpha < 0 || sampler.c < 0)
    graph_error("sampler", "alpha and c must not be negative: {} and {}", sampler.alpha, sampler.c);
}

void draw_weights(LearnedSampler& sampler, std::uint64_t seed) {
  auto stream = static_cast<std::uint32_t>(Streams::weights);
  for (Network* network : {&sampler.curl, &sampler.diffusion}) {
    std::vector<double> weights(static_cast<std::size_t>(network->weight_count()));
    fill_uniform<double>({.seed = seed, .stream = stream++}, 0, weights);
    std::size_t at = 0;
    std::int64_t width = static_cast<std::int64_t>(network->inputs.size());
    std::vector<std::int64_t> layers = network->hidden;
    layers.push_back(1);
    for (std::int64_t next : layers) {
      const double limit = 1 / std::sqrt(static_cast<double>(width));
      for (std::int64_t i = 0; i < (width + 1) * next; ++i, ++at)
        weights[at] = limit * (2 * weights[at] - 1);
      width = next;
    }
    network->weights = std::move(weights);
  }
}

Tensor statistics_tensor(const TaskStatistics& task, DType dtype) {
  const std::array values{task.energy_mean, task.energy_sd, task.momentum_rms, task.gradient_rms};
  return Tensor::from({dtype, {std::ssize(values)}}, values);
}

namespace {

// The share of coordinates where a clamp was active.
Value share_changed(Value raw, Value bounded) {
  return 1 - mean(cast(equal(raw, bounded), raw.dtype()));
}

// Minus the mean log joint is (L + w P) / N for U = L + P.
LearnedInputs mean_inputs(LearnedInputs inputs, const LearnedSampler& sampler, double rows) {
  if (sampler.energy_input == EnergyInput::mean_log_joint)
    inputs.energy = inputs.energy * (-1 / rows);
  if (sampler.mean_gradient) inputs.gradient = inputs.gradient * (1 / rows);
  return inputs;
}

}  // namespace

// L + w P = U - (1 - w) P.
Value weigh_prior(const LearnedSampler& sampler, std::int64_t size, Value all, Value prior) {
  if (sampler.trained_size == 0 || sampler.trained_size == size) return all;
  if (!prior)
    fail(ErrorKind::usage, "sampler",
         "the sampler weighs the prior by its {} weights in training over {} here, so the energy "
         "must have the outputs 'prior' and 'likelihood'",
         sampler.trained_size, size);
  const double weight = static_cast<double>(sampler.trained_size) / static_cast<double>(size);
  return all - (1 - weight) * prior;
}

// asinh(x) = sign(x) log(|x| + sqrt(x^2 + 1)).
LearnedInputs task_inputs(StepBuilder& step, LearnedInputs inputs, const LearnedSampler& sampler,
                          const TaskStatistics& task) {
  if (sampler.needs_rows()) inputs = mean_inputs(inputs, sampler, task.rows);
  if (!sampler.needs_statistics()) return inputs;
  const Value all =
      step.parameter(std::string(task_statistics), statistics_tensor(task, step.dtype()));
  const auto statistic = [&](std::int64_t i) { return reshape(slice(all, 0, i, i + 1), Shape{}); };
  if (sampler.energy_input == EnergyInput::standardised ||
      sampler.energy_input == EnergyInput::asinh)
    inputs.energy = (inputs.energy - statistic(0)) / statistic(1);
  if (sampler.energy_input == EnergyInput::asinh) {
    const Value size = abs(inputs.energy);
    inputs.energy = sign(inputs.energy) * log(size + sqrt(square(size) + 1));
  }
  if (sampler.scale_momentum) inputs.momentum = inputs.momentum / statistic(2);
  if (sampler.scale_gradient) inputs.gradient = inputs.gradient / statistic(3);
  return inputs;
}

Value curl_part(StepBuilder& step, const LearnedSampler& sampler, const LearnedInputs& inputs) {
  return apply(step, sampler.curl, curl_weights, {inputs.energy, inputs.momentum});
}

Value diffusion_part(StepBuilder& step, const LearnedSampler& sampler,
                     const LearnedInputs& inputs) {
  return apply(step, sampler.diffusion, diffusion_weights,
               {inputs.energy, inputs.momentum, inputs.gradient});
}

Value curl_of(const LearnedSampler& sampler, Value part) {
  const Value q = bounded(sampler.curl, part);
  return sampler.beta == 0 ? q : q + sampler.beta;
}

Value unbounded_diffusion(const LearnedSampler& sampler, double alpha, Value curl, Value part) {
  const Value d = alpha > 0 ? alpha * square(curl) + part : part;
  return sampler.c > 0 ? d + sampler.c : d;
}

namespace {

Matrices matrices(StepBuilder& step, const LearnedSampler& sampler, double alpha,
                  const LearnedInputs& inputs) {
  const Value f_q = curl_part(step, sampler, inputs);
  const Value q = curl_of(sampler, f_q);
  const Value sum = unbounded_diffusion(sampler, alpha, q, diffusion_part(step, sampler, inputs));
  Value d = bounded(sampler.diffusion, sum);
  // By abs it is seen that D stays non-negative.
  if (sampler.step_size_times_gradient_rms > 0) d = minimum(d, 1 / abs(step.step_size()));
  if (!step.has_statistic("curl")) {
    step.statistic("curl", mean(q));
    step.statistic("diffusion", mean(d));
    step.statistic("curl_clamped", share_changed(f_q, bounded(sampler.curl, f_q)));
    step.statistic("diffusion_clamped", share_changed(sum, d));
  }
  return {{{"momentum", "position", q}}, {{"momentum", d}}};
}

}  // namespace

double alpha_of(const LearnedSampler& sampler, double first_step_size) {
  const double alpha = sampler.alpha_times_step_size > 0
                           ? sampler.alpha_times_step_size / first_step_size
                           : sampler.alpha;
  if (!std::isfinite(alpha) || alpha < 0)
    fail(ErrorKind::usage, "sampler", "alpha is given by the step size, which must be positive: {}",
         first_step_size);
  return alpha;
}

Dynamics learned_dynamics(const LearnedSampler& sampler, const TaskStatistics& task,
                          double first_step_size) {
  check(sampler);
  if (sampler.needs_rows() && task.rows <= 0)
    fail(ErrorKind::usage, "sampler",
         "the sampler looks at means over rows of data, and the target has none");
  const double alpha = alpha_of(sampler, first_step_size);
  return {{{"momentum"}}, [sampler, task, alpha](StepBuilder& step, const Point& point) {
            LearnedInputs inputs{point.energy, point.variables.at("momentum"), point.gradient};
            if (sampler.energy_input == EnergyInput::mean_log_joint)
              inputs.energy = weigh_prior(sampler, step.size(), point.energy, point.prior);
            if (sampler.mean_gradient)
              inputs.gradient =
                  weigh_prior(sampler, step.size(), point.gradient, point.prior_gradient);
            return matrices(step, sampler, alpha, task_inputs(step, inputs, sampler, task));
          }};
}

}  // namespace whorl
