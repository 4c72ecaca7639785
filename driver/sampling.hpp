// SamplingRun: a sampler run on a target, with what is kept of it.
//
// The state after step s (from 1 on) is a draw when s > burn_in and s - burn_in is a multiple of
// `thin`. Beside the draws, a run keeps the mean energy, the mean square of the momentum and other
// statistics of the step, and for Gaussian targets the KL divergence: that of all states of all
// chains so far, burn-in included, from the target.
// Results depend on target, step, options and seed, not on threads.
// Thread safety: for one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "driver/target.hpp"

namespace whorl::driver {

struct SamplingOptions {
  std::int64_t chains = 4, steps = 2000, thin = 1, burn_in = 1000;
  std::uint64_t seed = 0;
  int threads = 1;
  std::int64_t memory_budget = 0;  // bytes
  std::function<double(std::int64_t)> step_size;
  Start position{Start::Kind::normal, 0, 1};
  std::optional<Start> momentum;

  std::int64_t draws() const { return (steps - burn_in) / thin; }
};

// What is known every `metrics_every` steps, and at the end.
struct Metrics {
  std::int64_t step = 0;
  double seconds = 0;
  double energy = 0;                  // mean over chains and the steps since the last metrics
  std::optional<double> temperature;  // mean p^2 over the same time
  std::optional<double> kl;
};
inline constexpr std::int64_t metrics_every = 100;

struct RunCallbacks {
  // After every few steps; false ends the run.
  std::function<bool(std::int64_t step, double energy, std::optional<double> temperature)> advanced;
  std::function<void(const Metrics&)> measured;
};

struct SamplingResult {
  Tensor draws;            // [chains, kept, n]
  std::int64_t steps = 0;  // that were made
  double seconds = 0;
  double energy = 0;                  // mean over chains and the steps after burn-in
  std::optional<double> temperature;  // the same for p^2
  // Its standard error, from the chains' own means; empty for chains too few to tell.
  std::optional<double> temperature_error;
  std::map<std::string, double> statistics;  // of the sampler's own, such as acceptance
  std::optional<double> kl;
};

class SamplingRun {
 public:
  // Plans the run. Throws a memory Error when plan and draws together need more than the budget.
  SamplingRun(const Target& target, const Step& step, SamplingOptions options);
  ~SamplingRun();

  std::int64_t memory_bytes() const;
  SamplingResult run(const RunCallbacks& callbacks);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace whorl::driver
