#include "driver/meta_learning.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/ops.hpp"
#include "engine/plan.hpp"
#include "engine/random.hpp"
#include "losses/kl.hpp"
#include "samplers/chains.hpp"

namespace whorl::driver {

namespace {

constexpr std::string_view chosen_chains = "in_chain/chains";

// Not finite where the transform does not reach y.
double inverse(Transform transform, double y) {
  switch (transform) {
    case Transform::softplus:
      return y + std::log(-std::expm1(-y));  // log(e^y - 1), also where e^y is too large
    case Transform::square:
      return std::sqrt(y);
    case Transform::tanh:
      return std::atanh(y);
    case Transform::absolute:
      return y >= 0 ? y : std::numeric_limits<double>::quiet_NaN();
    case Transform::none:
      break;
  }
  return y;
}

// Weights as they are drawn, with f_Q scaled and f_D's output bias set as the settings ask.
LearnedSampler first_sampler(const TrainingSettings& settings) {
  LearnedSampler sampler = settings.start;
  draw_weights(sampler, settings.seed);
  std::vector<double>& curl = sampler.curl.weights;
  const auto outputs = static_cast<std::size_t>(sampler.curl.hidden.back()) + 1;
  for (std::size_t i = curl.size() - outputs; i < curl.size(); ++i) curl[i] *= settings.curl_output;
  if (settings.curl_start) {
    // Q begins near beta + scale T(bias).
    const double bias =
        inverse(sampler.curl.transform, (*settings.curl_start - sampler.beta) / sampler.curl.scale);
    if (!std::isfinite(bias))
      fail(ErrorKind::usage, "train",
           "Q cannot begin at {}: the network's transform cannot give it", *settings.curl_start);
    curl.back() = bias;
  }
  if (settings.diffusion_start) {
    // D begins near c + scale T(bias).
    const double wanted = (*settings.diffusion_start - sampler.c) / sampler.diffusion.scale;
    const double bias = inverse(sampler.diffusion.transform, wanted);
    if (!std::isfinite(bias))
      fail(ErrorKind::usage, "train",
           "D cannot begin at {}: beside c, {}, the network would have to give {} before its scale "
           "of {}, and its transform cannot",
           *settings.diffusion_start, sampler.c, wanted, sampler.diffusion.scale);
    sampler.diffusion.weights.back() = bias;
  }
  return sampler;
}

// An unrolled graph that takes gigabytes before it is even planned helps nobody.
void check_nodes(const Step& step, const TrainingSettings& settings) {
  constexpr std::int64_t most = 1'000'000;
  const auto nodes = static_cast<std::int64_t>(step.graph.size());
  if (settings.steps > most / nodes)
    fail(ErrorKind::memory, "train",
         "a roll-out of {} steps with {} nodes each is a graph of {} nodes, expected at most {}; "
         "fewer steps may help",
         settings.steps, nodes, settings.steps * nodes, most);
}

// Puts one number into every element.
void assign(Tensor& tensor, double value) {
  dispatch(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto values = tensor.values<T>();
    std::fill(values.begin(), values.end(), static_cast<T>(value));
  });
}

// `rate` for the weights that f_Q's output layer has, zero for the others.
Tensor output_layer_decay(const Network& network, double rate, DType dtype) {
  const std::int64_t all = network.weight_count(), last = network.hidden.back() + 1;
  Tensor decay({dtype, {all}});
  Tensor tail =
      Tensor::borrow({dtype, {last}}, static_cast<char*>(decay.raw()) +
                                          (all - last) * static_cast<std::int64_t>(size_of(dtype)));
  assign(tail, rate);
  return decay;
}

}  // namespace

MetaLearning::MetaLearning(const Energy& energy, const GradientSource& gradient,
                           const TrainingSettings& settings, std::vector<TrainingTask> tasks,
                           int threads, std::int64_t memory_budget)
    : settings_(settings), tasks_(std::move(tasks)), sampler_(first_sampler(settings)) {
  if (tasks_.empty()) fail(ErrorKind::usage, "train", "there is no target to train on");
  RecipeOptions recipe;
  recipe.gradient = gradient;
  recipe.gradient.differentiable = settings.through_gradient;
  const Step step = recipe_step(
      energy, complete_recipe(learned_dynamics(sampler_, tasks_[0].statistics, settings.step_size)),
      recipe);
  check_nodes(step, settings);
  state_ = step.state;

  MetaTrainingOptions options;
  options.unroll = {settings.chains, settings.steps, settings.truncate};
  options.adam = {settings.adam.beta1, settings.adam.beta2, settings.adam.epsilon};
  options.clip = settings.adam.clip;
  options.separate_updates = settings.separate_updates;
  options.trained = {std::string(curl_weights), std::string(diffusion_weights)};
  if (settings.curl_decay > 0)
    options.decay[std::string(curl_weights)] =
        output_layer_decay(sampler_.curl, settings.curl_decay, energy.dtype());
  options.statistics = {"energy", "curl", "diffusion", "curl_clamped", "diffusion_clamped"};
  graph_ = meta_training_graph(
      step, options,
      [&](Graph& graph, const std::vector<Moment>& moments) { return losses(graph, moments); });
  for (const std::string& name : energy.data())
    for (const Graph::Output& output : graph_.outputs())
      if (output.name == name)
        graph_error("energy", "the data input '{}' has a name that training uses itself; rename it",
                    name);
  carried_ = carried_inputs(graph_);

  const auto plan = compile(graph_);
  if (plan->memory_bytes(threads) > memory_budget)
    fail(ErrorKind::memory, "train", "the training graph needs {} bytes, the budget is {}",
         plan->memory_bytes(threads), memory_budget);
  executor_ = std::make_unique<Executor>(plan, ExecutorOptions{threads, false});
  for (NodeId id : graph_.input_nodes())
    feeds_.emplace(std::string(graph_.name(id)), Tensor(graph_.type(id)));
  for (const StepParameter& parameter : step.parameters)
    feeds_.insert_or_assign(parameter.name, parameter.value.clone());
  feeds_.insert_or_assign("seed", seed_tensor(settings.seed));
  for (const auto& [name, tensor] : feeds_) executor_->bind(name, tensor);
}

std::vector<MetaLoss> MetaLearning::losses(Graph& graph, const std::vector<Moment>& moments) const {
  // What moment t + 1 begins with is what step t has left behind.
  const auto snapshots = [&](std::int64_t from, std::int64_t every) {
    std::vector<Snapshot> chosen;
    for (std::int64_t t = from; t + 1 < static_cast<std::int64_t>(moments.size()); t += every) {
      const Moment& moment = moments[static_cast<std::size_t>(t + 1)];
      chosen.push_back({moment.state.at("position"), moment.statistics.at("gradient")});
    }
    return chosen;
  };
  std::vector<MetaLoss> all;
  if (const auto& cross = settings_.cross_chain)
    all.push_back({"cross_chain", cross->weight * cross_chain_loss(snapshots(0, cross->every),
                                                                   {.ridge = cross->ridge})});
  if (const auto& in = settings_.in_chain) {
    const Value chains = input(graph, chosen_chains, {DType::i32, Shape{in->chains}});
    all.push_back({"in_chain", in->weight * in_chain_loss(snapshots(in->from, in->every), chains,
                                                          {in->ridge, in->pooled})});
  }
  return all;
}

void MetaLearning::bind_task(std::int64_t epoch) {
  const TrainingTask& task = tasks_[static_cast<std::size_t>(epoch) % tasks_.size()];
  for (const auto& [name, tensor] : task.data) executor_->bind(name, tensor);
  const DType dtype = graph_.type(*graph_.find("position")).dtype;
  if (const auto statistics = feeds_.find(task_statistics); statistics != feeds_.end()) {
    const Tensor values = statistics_tensor(task.statistics, dtype);
    std::memcpy(statistics->second.raw(), values.raw(), static_cast<std::size_t>(values.bytes()));
  }
  const double own = sampler_.step_size(task.statistics);
  assign(feeds_.at("step_sizes"), own > 0 ? own : settings_.step_size);
}

void MetaLearning::start_epoch(std::int64_t epoch) {
  bind_task(epoch);
  for (std::size_t k = 0; k < state_.size(); ++k) {
    const Start& start = state_[k].name == "position"   ? settings_.position
                         : state_[k].name == "momentum" ? settings_.momentum
                                                        : state_[k].start;
    fill_start(start, {settings_.seed, start_stream(k), static_cast<std::uint32_t>(epoch)},
               feeds_.at(state_[k].name));
  }
}

// m chains, `stride` apart from a random first one, all different.
void MetaLearning::choose_chains() {
  const auto chains = feeds_.find(chosen_chains);
  if (chains == feeds_.end()) return;
  const auto chosen = chains->second.values<std::int32_t>();
  const RandomCoordinates at{settings_.seed, static_cast<std::uint32_t>(Streams::choice),
                             static_cast<std::uint32_t>(update_)};
  const auto count = static_cast<std::uint64_t>(settings_.chains);
  const std::uint64_t first = uniform_index(at, 0, count);
  const std::uint64_t stride = 1 + uniform_index(at, 1, count / chosen.size());
  for (std::size_t k = 0; k < chosen.size(); ++k)
    chosen[k] = static_cast<std::int32_t>((first + k * stride) % count);
}

void MetaLearning::choose_rows(const TrainingTask& task) {
  const auto batches = feeds_.find("batches");
  if (batches == feeds_.end()) return;
  const auto rows = batches->second.values<std::int32_t>();
  const auto size = rows.size() / static_cast<std::size_t>(settings_.steps);
  for (std::int64_t t = 0; t < settings_.steps; ++t)
    task.batch(update_ * settings_.steps + t,
               rows.subspan(static_cast<std::size_t>(t) * size, size));
}

bool MetaLearning::update(UpdateReport& report) {
  if (update_ == updates()) return false;
  const std::int64_t epoch = update_ / settings_.rollouts;
  if (update_ % settings_.rollouts == 0) start_epoch(epoch);
  choose_chains();
  choose_rows(tasks_[static_cast<std::size_t>(epoch) % tasks_.size()]);
  const double done =
      updates() > 1 ? static_cast<double>(update_) / static_cast<double>(updates() - 1) : 0;
  const double rate =
      settings_.adam.rate + done * (settings_.adam.final_rate - settings_.adam.rate);
  assign(feeds_.at("adam/rate"), rate);
  *feeds_.at("step").data<std::int32_t>() = static_cast<std::int32_t>(update_ * settings_.steps);

  try {
    executor_->run();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numeric) throw;
    fail(ErrorKind::numeric, "train",
         "update {} of epoch {} ran into numbers that are not finite; a smaller step size or "
         "learning rate may help: {}",
         update_ + 1, epoch, error.what());
  }
  for (const std::string& name : carried_) {
    const Tensor& next = executor_->output(name);
    std::memcpy(feeds_.at(name).raw(), next.raw(), static_cast<std::size_t>(next.bytes()));
  }
  ++update_;
  const auto mean_of = [&](std::string_view name) {
    return executor_->output(fmt::format("mean/{}", name)).at(0);
  };
  report = {update_,
            updates(),
            epoch,
            mean_of("energy"),
            mean_of("curl"),
            mean_of("diffusion"),
            std::max(mean_of("curl_clamped"), mean_of("diffusion_clamped")),
            {}};
  for (const Graph::Output& output : graph_.outputs())
    if (output.name.starts_with("loss/"))
      report.losses.emplace_back(output.name.substr(5), executor_->output(output.name).at(0));
  for (std::string_view name : {curl_weights, diffusion_weights})
    for (std::int64_t i = 0; i < feeds_.find(name)->second.elements(); ++i)
      if (!std::isfinite(feeds_.find(name)->second.at(i)))
        fail(ErrorKind::numeric, "train",
             "a weight is not finite after update {} (epoch {}, mean energy {}); a smaller step "
             "size or learning rate may help",
             update_, epoch, report.mean_energy);
  return true;
}

void MetaLearning::save(Checkpoint& checkpoint) const {
  checkpoint.step = update_;
  for (const std::string& name : carried_)
    checkpoint.tensors.insert_or_assign("training/" + name, feeds_.find(name)->second);
}

void MetaLearning::load(const Checkpoint& checkpoint) {
  if (checkpoint.step < 0 || checkpoint.step > updates())
    fail(ErrorKind::checkpoint, "checkpoint", "it is of update {}; there are {}", checkpoint.step,
         updates());
  std::vector<const Tensor*> saved;
  for (const std::string& name : carried_) {
    saved.push_back(&checkpoint.tensor("training/" + name, feeds_.at(name).type()));
    if (is_float(saved.back()->dtype()))
      for (std::int64_t i = 0; i < saved.back()->elements(); ++i)
        if (!std::isfinite(saved.back()->at(i)))
          fail(ErrorKind::checkpoint, "checkpoint", "its {} is not finite", name);
  }
  for (std::size_t k = 0; k < saved.size(); ++k)
    std::memcpy(feeds_.at(carried_[k]).raw(), saved[k]->raw(),
                static_cast<std::size_t>(saved[k]->bytes()));
  update_ = checkpoint.step;
  // An epoch that has begun is not begun again.
  if (update_ % settings_.rollouts != 0) bind_task(update_ / settings_.rollouts);
}

LearnedSampler MetaLearning::sampler() const {
  LearnedSampler sampler = sampler_;
  const auto take = [&](std::string_view name, Network& network) {
    const Tensor& weights = feeds_.find(name)->second;
    for (std::int64_t i = 0; i < weights.elements(); ++i)
      network.weights[static_cast<std::size_t>(i)] = weights.at(i);
  };
  take(curl_weights, sampler.curl);
  take(diffusion_weights, sampler.diffusion);
  return sampler;
}

}  // namespace whorl::driver
