#include "driver/sampling.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "diagnostics/gaussian_kl.hpp"

namespace whorl::driver {

namespace {

// A running mean in f64.
struct Mean {
  double sum = 0;
  std::int64_t count = 0;

  // The rows of [rows, ...] from `first` on.
  void add(const Tensor& values, std::int64_t first = 0) {
    const std::int64_t skipped = first * (values.elements() / values.shape()[0]);
    dispatch(values.dtype(), [&](auto zero) {
      for (auto x : values.values<decltype(zero)>().subspan(static_cast<std::size_t>(skipped)))
        sum += static_cast<double>(x);
    });
    count += values.elements() - skipped;
  }
  void add(const Mean& other) {
    sum += other.sum;
    count += other.count;
  }
  double value() const { return sum / static_cast<double>(count); }
};

// The mean square of each row.
std::vector<Mean> mean_squares(const Tensor& rows) {
  std::vector<Mean> means(static_cast<std::size_t>(rows.shape()[0]));
  const std::size_t size = static_cast<std::size_t>(rows.elements()) / means.size();
  dispatch(rows.dtype(), [&](auto zero) {
    const auto values = rows.values<decltype(zero)>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto x = static_cast<double>(values[i]);
      means[i / size].sum += x * x;
    }
  });
  for (Mean& mean : means) mean.count = static_cast<std::int64_t>(size);
  return means;
}

// The way in and out of a run of steps costs some microseconds, which only small models notice.
// Every choice divides metrics_every.
std::int64_t steps_per_run(const Step& step, const SamplingOptions& options, std::int64_t size) {
  constexpr std::int64_t numbers = 20'000, nodes = 4'000;
  if (options.chains * size > numbers) return 1;
  for (std::int64_t group : {20, 10, 5, 4, 2})
    if (options.steps % group == 0 && static_cast<std::int64_t>(step.graph.size()) * group <= nodes)
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

std::int64_t draw_bytes(const SamplingOptions& options, std::int64_t size, DType dtype) {
  const double bytes = static_cast<double>(options.chains) * static_cast<double>(options.draws()) *
                       static_cast<double>(size) * static_cast<double>(size_of(dtype));
  if (bytes > static_cast<double>(options.memory_budget))
    fail(ErrorKind::memory, "sample",
         "{} draws of {} chains with {} numbers each need {:.0f} bytes, the budget is {}; a larger "
         "--thin keeps fewer",
         options.draws(), options.chains, size, bytes, options.memory_budget);
  return static_cast<std::int64_t>(bytes);
}

}  // namespace

struct SamplingRun::Impl {
  const Target& target;
  SamplingOptions options;
  std::int64_t size;
  bool has_momentum, needs_path;
  std::int64_t draws_need;
  std::unique_ptr<Chains> chains;
  TaskData data;
  std::optional<PooledMoments> pooled;
  Tensor draws;
  std::int64_t kept = 0;
  Mean energy, recent_energy, recent_temperature;
  std::vector<Mean> temperatures;  // of each chain
  std::map<std::string, Mean> statistics;

  Impl(const Target& from, const Step& step, SamplingOptions chosen)
      : target(from),
        options(std::move(chosen)),
        size(from.energy.size()),
        has_momentum(has_variable(step, "momentum")),
        draws_need(draw_bytes(options, size, from.energy.dtype())),
        data(from.task_data(options.seed)) {
    const std::int64_t group = steps_per_run(step, options, size);
    // Without the path, draws must fall on the end of a run.
    needs_path = target.gaussian || options.thin % group != 0 || options.burn_in % group != 0;
    const std::vector<std::string> kept_statistics = scalar_statistics(step);
    for (const std::string& name : kept_statistics) statistics[name];
    // Of no bytes at all there is no limit.
    const std::int64_t chains_budget =
        std::max<std::int64_t>(1, options.memory_budget - draws_need);
    chains = std::make_unique<Chains>(step, ChainsOptions{.chains = options.chains,
                                                          .steps_per_run = group,
                                                          .seed = options.seed,
                                                          .threads = options.threads,
                                                          .keep_path = needs_path,
                                                          .statistics = kept_statistics,
                                                          .memory_budget = chains_budget});
    data.bind(*chains);
    chains->start("position", options.position);
    if (has_momentum && options.momentum) chains->start("momentum", *options.momentum);
    if (has_momentum) temperatures.resize(static_cast<std::size_t>(options.chains));
    if (target.gaussian) pooled.emplace(size);
  }

  std::int64_t element_bytes() const {
    return static_cast<std::int64_t>(size_of(target.energy.dtype()));
  }

  // One state of all chains, [K, n].
  void keep(const std::byte* state) {
    const std::int64_t row = size * element_bytes();
    auto* to = static_cast<std::byte*>(draws.raw());
    for (std::int64_t chain = 0; chain < options.chains; ++chain)
      std::memcpy(to + (chain * options.draws() + kept) * row, state + chain * row,
                  static_cast<std::size_t>(row));
    ++kept;
  }

  bool is_draw(std::int64_t step) const {
    return step > options.burn_in && (step - options.burn_in) % options.thin == 0;
  }

  void keep_draws(std::int64_t before) {
    const std::int64_t group = chains->step() - before;
    const Tensor& states = needs_path ? chains->path() : chains->state("position");
    const std::int64_t bytes = options.chains * size * element_bytes();
    const auto* first = static_cast<const std::byte*>(states.raw());
    for (std::int64_t t = 0; t < group; ++t)
      if (is_draw(before + t + 1)) keep(needs_path ? first + t * bytes : first);
    if (pooled)
      dispatch(states.dtype(), [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_floating_point_v<T>) pooled->add(states.values<T>());
      });
  }

  void keep_statistics(std::int64_t before) {
    Mean now;
    now.add(chains->statistic("energy"));
    recent_energy.add(now);
    std::vector<Mean> squares;
    if (has_momentum) squares = mean_squares(chains->state("momentum"));
    for (const Mean& mean : squares) recent_temperature.add(mean);
    if (chains->step() <= options.burn_in) return;
    // The first steps of a run may still be burn-in.
    const std::int64_t first = std::max<std::int64_t>(0, options.burn_in - before);
    energy.add(chains->statistic("energy"), first);
    for (std::size_t chain = 0; chain < squares.size(); ++chain)
      temperatures[chain].add(squares[chain]);
    for (auto& [name, mean] : statistics) mean.add(chains->statistic(name), first);
  }

  Metrics measure(double seconds) {
    Metrics metrics{chains->step(), seconds, recent_energy.value(), {}, {}};
    if (has_momentum) metrics.temperature = recent_temperature.value();
    if (pooled)
      metrics.kl = gaussian_kl(*pooled, target.gaussian->mean(), target.gaussian->covariance());
    recent_energy = {};
    recent_temperature = {};
    return metrics;
  }

  // A run that was stopped has fewer draws than there is room for.
  Tensor kept_draws() const {
    if (kept == options.draws()) return draws;
    Tensor result({draws.dtype(), {options.chains, kept, size}});
    const std::int64_t row = size * element_bytes();
    for (std::int64_t chain = 0; chain < options.chains && kept > 0; ++chain)
      std::memcpy(static_cast<std::byte*>(result.raw()) + chain * kept * row,
                  static_cast<const std::byte*>(draws.raw()) + chain * options.draws() * row,
                  static_cast<std::size_t>(kept * row));
    return result;
  }

  void add_temperature(SamplingResult& result) const {
    const auto count = static_cast<double>(temperatures.size());
    double mean = 0, scatter = 0;
    for (const Mean& chain : temperatures) mean += chain.value() / count;
    for (const Mean& chain : temperatures) scatter += std::pow(chain.value() - mean, 2);
    result.temperature = mean;
    if (temperatures.size() >= 4)
      result.temperature_error = std::sqrt(scatter / (count - 1) / count);
  }

  SamplingResult result(double seconds, const std::optional<double>& kl) const {
    SamplingResult result;
    result.draws = kept_draws();
    result.steps = chains->step();
    result.seconds = seconds;
    result.energy = energy.value();
    if (has_momentum) add_temperature(result);
    for (const auto& [name, mean] : statistics) result.statistics[name] = mean.value();
    result.kl = kl;
    return result;
  }
};

SamplingRun::SamplingRun(const Target& target, const Step& step, SamplingOptions options)
    : impl_(std::make_unique<Impl>(target, step, std::move(options))) {}
SamplingRun::~SamplingRun() = default;

std::int64_t SamplingRun::memory_bytes() const {
  return impl_->chains->memory_bytes() + impl_->draws_need;
}

SamplingResult SamplingRun::run(const RunCallbacks& callbacks) {
  Impl& impl = *impl_;
  const SamplingOptions& options = impl.options;
  impl.draws = Tensor({impl.target.energy.dtype(), {options.chains, options.draws(), impl.size}});
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::optional<double> kl;
  bool go_on = true;
  while (go_on && impl.chains->step() < options.steps) {
    const std::int64_t before = impl.chains->step();
    impl.chains->advance(options.step_size, impl.data.batch);
    impl.keep_draws(before);
    impl.keep_statistics(before);
    const double energy = impl.recent_energy.value();
    const std::optional<double> temperature =
        impl.has_momentum ? std::optional(impl.recent_temperature.value()) : std::nullopt;
    go_on = callbacks.advanced(impl.chains->step(), energy, temperature);
    if (!go_on || impl.chains->step() % metrics_every == 0 ||
        impl.chains->step() == options.steps) {
      const Metrics metrics = impl.measure(seconds());
      kl = metrics.kl;
      callbacks.measured(metrics);
    }
  }
  impl.chains->check_finite();
  return impl.result(seconds(), kl);
}

}  // namespace whorl::driver
