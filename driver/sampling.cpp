#include "driver/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "diagnostics/gaussian_kl.hpp"
#include "driver/chain_means.hpp"

namespace whorl::driver {

namespace {

constexpr std::string_view kinetic = "kinetic_temperature",
                           configurational = "configurational_temperature";
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
// Momenta this hot are on their way to infinity.
constexpr double hottest = 1e6;

// The way in and out of a run of steps costs some microseconds, which only small models notice.
// Every choice divides metrics_every.
std::int64_t steps_per_run(std::span<const Step> steps, const SamplingOptions& options,
                           std::int64_t size) {
  constexpr std::int64_t numbers = 20'000, nodes = 4'000;
  const Step& step = steps.front();
  if (options.chains * size > numbers || steps.size() > 1) return 1;
  for (std::int64_t group : {20, 10, 5, 4, 2})
    if (options.steps % group == 0 && options.metrics_every % group == 0 &&
        static_cast<std::int64_t>(step.graph.size()) * group <= nodes)
      return group;
  return 1;
}

bool has_variable(const Step& step, std::string_view name) {
  return std::any_of(step.state.begin(), step.state.end(),
                     [&](const StateVariable& variable) { return variable.name == name; });
}

// The statistics that are one number for a chain, but for the energy, which is always kept.
std::vector<std::string> scalar_statistics(const Step& step) {
  std::vector<std::string> names;
  for (const Graph::Output& output : step.graph.outputs())
    if (output.name != "energy" && step.graph.type(output.node).shape.rank() == 0 &&
        is_float(step.graph.type(output.node).dtype) &&
        std::find(step.statistics.begin(), step.statistics.end(), output.name) !=
            step.statistics.end())
      names.push_back(output.name);
  return names;
}

// One statistic of the draws: which of the chains' it is, and under what name it is stored.
struct DrawStatistic {
  std::string stored, source;
  double factor = 1;
  // Whether it tells of the state that a step begins with, or of the step that leads to it.
  bool of_state = true;
};

}  // namespace

struct SamplingRun::Impl {
  const Target& target;
  SamplingOptions options;
  std::int64_t size;
  bool has_momentum, needs_path = false;
  std::unique_ptr<Chains> chains;
  TaskData data;
  std::optional<PooledMoments> pooled;
  std::vector<DrawStatistic> stored;
  std::vector<std::string> stored_names;
  std::int64_t before = 0;  // the step where the last run of steps began
  std::map<std::string, ChainMeans> means, recent;
  std::vector<double> row;  // one number for each chain
  std::vector<std::int64_t> lost_steps;
  std::size_t known = 0;  // divergences that are in lost_steps
  Tensor masked;          // a state whose lost chains are NaN
  std::vector<std::unique_ptr<Evaluation>> evaluations;
  Metrics measured;  // for who looks before there is anything newer

  Impl(const Target& from, std::span<const Step> steps, SamplingOptions chosen)
      : target(from),
        options(std::move(chosen)),
        size(from.energy.size()),
        has_momentum(has_variable(steps.front(), "momentum")),
        data(from.task_data(options.seed)),
        row(static_cast<std::size_t>(options.chains)),
        lost_steps(row.size(), std::numeric_limits<std::int64_t>::max()) {
    const std::int64_t group = steps_per_run(steps, options, size);
    // Without the path, draws must fall on the end of a run.
    needs_path = target.gaussian || options.thin % group != 0 || options.burn_in % group != 0;
    const std::vector<std::string> kept = choose_statistics(steps.front());
    chains = std::make_unique<Chains>(steps, ChainsOptions{.chains = options.chains,
                                                           .steps_per_run = group,
                                                           .seed = options.seed,
                                                           .threads = options.threads,
                                                           .keep_path = needs_path,
                                                           .statistics = kept,
                                                           .drop_diverged = options.drop_diverged,
                                                           .memory_budget = options.memory_budget});
    data.bind(*chains);
    chains->start("position", options.position);
    if (has_momentum && options.momentum) chains->start("momentum", *options.momentum);
    if (target.gaussian) pooled.emplace(size);
    evaluations = make_evaluations(target, options.chains, options.threads);
  }

  // Fills in what is stored of each draw, and returns what the chains have to keep for it.
  std::vector<std::string> choose_statistics(const Step& step) {
    std::vector<std::string> kept;
    stored.push_back({"lp", "energy", -1, true});
    if (has_momentum) stored.push_back({std::string(kinetic), std::string(kinetic)});
    stored.push_back({std::string(configurational), std::string(configurational)});
    for (const std::string& name : scalar_statistics(step))
      stored.push_back({name == "accepted" ? "acceptance_rate" : name, name, 1, false});
    for (const DrawStatistic& statistic : stored) {
      stored_names.push_back(statistic.stored);
      means.emplace(statistic.source, options.chains);
      recent.emplace(statistic.source, options.chains);
      if (statistic.source != "energy") kept.push_back(statistic.source);
    }
    if (options.drop_diverged) stored_names.emplace_back("diverging");
    return kept;
  }

  bool is_draw(std::int64_t step) const {
    return step > options.burn_in && (step - options.burn_in) % options.thin == 0;
  }
  std::int64_t draw_of(std::int64_t step) const {
    return (step - options.burn_in) / options.thin - 1;
  }

  // The steps that a chain had made when it was given up; more than there are for one that lives.
  std::int64_t lost_at(std::int64_t chain) {
    const std::vector<Divergence>& all = chains->divergences();
    for (; known < all.size(); ++known)
      lost_steps[static_cast<std::size_t>(all[known].chain)] = all[known].step;
    return lost_steps[static_cast<std::size_t>(chain)];
  }

  // Row `at` of states [any, K, n].
  void keep_state(DrawsWriter& writer, std::int64_t step, const Tensor& states, std::int64_t at) {
    if (chains->divergences().empty()) return writer.put(draw_of(step), step, states, at);
    const Type type{states.dtype(), {1, options.chains, size}};
    if (masked.type() != type) masked = Tensor(type);
    std::memcpy(masked.raw(), static_cast<const std::byte*>(states.raw()) + at * type.bytes(),
                static_cast<std::size_t>(type.bytes()));
    for (std::int64_t chain = 0; chain < options.chains; ++chain)
      if (step >= lost_at(chain))
        dispatch(type.dtype, [&](auto zero) {
          using T = decltype(zero);
          std::fill_n(masked.data<T>() + chain * size, size, static_cast<T>(not_a_number));
        });
    writer.put(draw_of(step), step, masked, 0);
  }

  // Statistic `s` of the state after `step`, from row `at` of what the chains tell.
  void keep_statistic(DrawsWriter& writer, std::size_t s, std::int64_t step, const Tensor& values,
                      std::int64_t at) {
    for (std::int64_t chain = 0; chain < options.chains; ++chain)
      row[static_cast<std::size_t>(chain)] =
          step >= lost_at(chain) ? not_a_number
                                 : stored[s].factor * values.at(at * options.chains + chain);
    writer.put_statistic(s, draw_of(step), row);
  }

  // As the energy of a state, what became of it is known one step later.
  void keep_divergence(DrawsWriter& writer, std::int64_t step) {
    if (!options.drop_diverged) return;
    for (std::int64_t chain = 0; chain < options.chains; ++chain)
      row[static_cast<std::size_t>(chain)] = step >= lost_at(chain) ? 1 : 0;
    writer.put_statistic(stored.size(), draw_of(step), row);
  }

  void keep_draws(DrawsWriter& writer) {
    for (std::int64_t step = before + 1; step <= chains->step(); ++step) {
      if (is_draw(step - 1)) keep_divergence(writer, step - 1);
      if (!is_draw(step)) continue;
      if (needs_path) {
        keep_state(writer, step, chains->path(), step - before - 1);
      } else {
        const Tensor& last = chains->state("position");
        const Type one{last.dtype(), last.shape().with_front(1)};
        keep_state(writer, step, Tensor::borrow(one, const_cast<void*>(last.raw())), 0);
      }
    }
    for (std::size_t s = 0; s < stored.size(); ++s) {
      const Tensor& values = chains->statistic(stored[s].source);
      // Row t tells of the state after step before + t, or of step before + t + 1 itself.
      const std::int64_t first = before + (stored[s].of_state ? 0 : 1);
      for (std::int64_t t = 0; t < chains->step() - before; ++t)
        if (is_draw(first + t)) keep_statistic(writer, s, first + t, values, t);
    }
  }

  void gather_means() {
    // The first steps of a run may still be burn-in.
    const std::int64_t first = std::max<std::int64_t>(0, options.burn_in - before);
    for (auto& [name, all] : means) {
      const Tensor& values = chains->statistic(name);
      recent.at(name).add(values, 0);
      if (chains->step() > options.burn_in) all.add(values, first);
    }
  }

  // A momentum may run away where the energy does not notice.
  void check_momenta() {
    if (!has_momentum) return;
    const Tensor& squares = chains->statistic(std::string(kinetic));
    const std::int64_t last = (chains->step() - before - 1) * options.chains;
    for (std::int64_t chain = 0; chain < options.chains; ++chain)
      if (const double now = squares.at(last + chain); chains->alive(chain) && !(now <= hottest))
        chains->diverged(chain, fmt::format("the mean square of the momentum is {:.3g}", now));
  }

  void pool_states() {
    if (!pooled) return;
    // What a lost chain has added cannot be taken out again.
    if (!chains->divergences().empty()) return pooled.reset();
    const Tensor& states = chains->path();
    dispatch(states.dtype(), [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_floating_point_v<T>) pooled->add(states.values<T>());
    });
  }

  std::optional<double> kl() const {
    if (!pooled) return std::nullopt;
    return gaussian_kl(*pooled, target.gaussian->mean(), target.gaussian->covariance());
  }

  std::vector<bool> alive() const {
    std::vector<bool> chosen;
    for (std::int64_t chain = 0; chain < options.chains; ++chain)
      chosen.push_back(chains->alive(chain));
    return chosen;
  }
};

SamplingRun::SamplingRun(const Target& target, std::span<const Step> steps, SamplingOptions options)
    : impl_(std::make_unique<Impl>(target, steps, std::move(options))) {}
SamplingRun::~SamplingRun() = default;

std::int64_t SamplingRun::memory_bytes() const {
  std::int64_t bytes = impl_->chains->memory_bytes();
  for (const auto& evaluation : impl_->evaluations) bytes += evaluation->memory_bytes();
  return bytes;
}
const std::vector<std::string>& SamplingRun::draw_statistics() const { return impl_->stored_names; }
std::int64_t SamplingRun::step() const { return impl_->chains->step(); }
std::int64_t SamplingRun::draws() const {
  return step() > impl_->options.burn_in ? impl_->draw_of(step()) + 1 : 0;
}
const std::vector<Divergence>& SamplingRun::divergences() const {
  return impl_->chains->divergences();
}

void SamplingRun::advance() {
  Impl& impl = *impl_;
  impl.before = impl.chains->step();
  impl.chains->advance(impl.options.step_size, impl.data.batch);
  impl.check_momenta();
  impl.gather_means();
  impl.pool_states();
}

void SamplingRun::keep(DrawsWriter& writer) { impl_->keep_draws(writer); }

Metrics SamplingRun::recent() const {
  if (step() == impl_->measured.step && step() > 0) return impl_->measured;
  const std::vector<bool> alive = impl_->alive();
  const auto mean = [&](std::string_view name) {
    return impl_->recent.find(std::string(name))->second.over(alive).value;
  };
  Metrics metrics;
  metrics.step = step();
  metrics.energy = mean("energy");
  metrics.configurational_temperature = mean(configurational);
  if (const std::int64_t pass = impl_->target.steps_per_pass(); pass > 0)
    metrics.epoch = static_cast<double>(step()) / static_cast<double>(pass);
  if (impl_->has_momentum) metrics.temperature = mean(kinetic);
  return metrics;
}

std::optional<Metrics> SamplingRun::measure(bool last) {
  if (!last && step() % impl_->options.metrics_every != 0) return std::nullopt;
  Metrics metrics = recent();
  metrics.kl = impl_->kl();
  for (const auto& evaluation : impl_->evaluations) {
    evaluation->look(impl_->chains->state("position"), impl_->alive(),
                     step() > impl_->options.burn_in);
    for (auto& number : evaluation->numbers()) metrics.scores.push_back(std::move(number));
  }
  for (auto& [name, mean] : impl_->recent) mean = ChainMeans(impl_->options.chains);
  impl_->measured = metrics;
  return metrics;
}

void SamplingRun::finish(DrawsWriter& writer) {
  Impl& impl = *impl_;
  const auto now = impl.chains->statistics_now(impl.data.batch);
  if (!impl.is_draw(step())) return;
  for (std::size_t s = 0; s < impl.stored.size(); ++s)
    if (impl.stored[s].of_state)
      impl.keep_statistic(writer, s, step(), now.at(impl.stored[s].source), 0);
  impl.keep_divergence(writer, step());
}

SamplingTotals SamplingRun::totals() const {
  const Impl& impl = *impl_;
  const std::vector<bool> alive = impl.alive();
  SamplingTotals totals;
  totals.steps = step();
  totals.draws = draws();
  for (const auto& [name, mean] : impl.means) {
    const ChainMean found = mean.over(alive);
    if (name == "energy") {
      totals.energy = found.value;
    } else if (name == kinetic) {
      totals.temperature = found;
    } else if (name == configurational) {
      totals.configurational_temperature = found;
    } else {
      totals.statistics[name] = found.value;
    }
  }
  totals.kl = impl.kl();
  return totals;
}

const std::vector<std::unique_ptr<Evaluation>>& SamplingRun::evaluations() const {
  return impl_->evaluations;
}

void SamplingRun::look() {
  for (const auto& evaluation : impl_->evaluations)
    evaluation->look(impl_->chains->state("position"), impl_->alive(), false);
}

void SamplingRun::save(Checkpoint& checkpoint) const {
  checkpoint.step = step();
  for (auto& [name, tensor] : impl_->chains->save())
    checkpoint.tensors.insert_or_assign(name, tensor);
  for (const auto& [name, mean] : impl_->means) checkpoint.put("mean/" + name, mean.save());
  for (const auto& [name, mean] : impl_->recent) checkpoint.put("recent/" + name, mean.save());
  if (impl_->pooled) checkpoint.put("pooled", impl_->pooled->save());
  for (const auto& evaluation : impl_->evaluations)
    checkpoint.put(evaluation->prefix() + "average", evaluation->save());
}

void SamplingRun::load(const Checkpoint& checkpoint) {
  Impl& impl = *impl_;
  impl.chains->load(checkpoint.tensors);
  if (step() != checkpoint.step || step() > impl.options.steps)
    fail(ErrorKind::checkpoint, "checkpoint",
         "it is of step {}, its chains of step {}; there are {}", checkpoint.step, step(),
         impl.options.steps);
  for (auto& [name, mean] : impl.means) mean.load(checkpoint.numbers("mean/" + name));
  for (auto& [name, mean] : impl.recent) mean.load(checkpoint.numbers("recent/" + name));
  for (const auto& evaluation : impl.evaluations)
    evaluation->load(checkpoint.numbers(evaluation->prefix() + "average"));
  if (!impl.chains->divergences().empty()) impl.pooled.reset();
  if (impl.pooled) {
    const std::vector<double> saved = checkpoint.numbers("pooled");
    try {
      impl.pooled->load(saved);
    } catch (const Error& error) {
      throw Error(ErrorKind::checkpoint, "checkpoint", bare_text(error));
    }
  }
}

}  // namespace whorl::driver
