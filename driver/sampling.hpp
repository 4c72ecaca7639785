// SamplingRun: a sampler at work on a target, a few steps at a time.
//
// The state after step s (from 1 on) is a draw when s > burn_in and s - burn_in is a multiple of
// `thin`; its place among the draws follows from s alone. Draws and what belongs to each of them
// are handed to a DrawsWriter. Beside them a run keeps means of the energy, of temperatures and of
// the step's other statistics, chain by chain, and for Gaussian targets the KL divergence: that of
// all states of all chains so far, burn-in included, from the target. Chains that were given up
// count nowhere: their draws are marked as diverging and are NaN from then on, but for the state
// that one was given up for, which may be in the file before its energy is known; their means are
// left out; and the KL divergence, in which they were mixed, is unknown. Results depend on target,
// step, options and seed, not on threads, and not on whether the run was saved and loaded in
// between. Thread safety: for one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/target.hpp"
#include "storage/checkpoint.hpp"
#include "storage/draws_file.hpp"

namespace whorl::driver {

struct SamplingOptions {
  std::int64_t chains = 4, steps = 2000, thin = 1, burn_in = 1000;
  std::uint64_t seed = 0;
  int threads = 1;
  std::int64_t memory_budget = 0;  // bytes
  std::function<double(std::int64_t)> step_size;
  Start position{Start::Kind::normal, 0, 1};
  std::optional<Start> momentum;
  bool drop_diverged = false;
  std::int64_t metrics_every = 100;  // steps

  std::int64_t draws() const { return (steps - burn_in) / thin; }
};

// Means over the chains and the steps since the last metrics.
struct Metrics {
  std::int64_t step = 0;
  std::optional<double> epoch;  // passes over the data, where there are minibatches
  double energy = 0;
  std::optional<double> temperature;  // kinetic: p^2
  double configurational_temperature = 0;
  std::optional<double> kl;
  std::vector<std::pair<std::string, double>> scores = {};  // of the chains' predictions, by name
};

// A mean over chains and steps; its standard error is from the chains' own means, and empty where
// they are too few to tell.
struct ChainMean {
  double value = 0;
  std::optional<double> error;
};

// What is known of the steps after burn-in.
struct SamplingTotals {
  std::int64_t steps = 0, draws = 0;
  double energy = 0;
  std::optional<ChainMean> temperature;
  ChainMean configurational_temperature;
  std::map<std::string, double> statistics;  // of the sampler's own, such as acceptance
  std::optional<double> kl;
};

class SamplingRun {
 public:
  // Plans the run. Throws a memory Error when it needs more than the budget.
  // `steps` are one for each of the target's energies.
  SamplingRun(const Target& target, std::span<const Step> steps, SamplingOptions options);
  ~SamplingRun();

  std::int64_t memory_bytes() const;
  // What each draw of each chain comes with, the names of sample_stats.
  const std::vector<std::string>& draw_statistics() const;

  std::int64_t step() const;
  std::int64_t draws() const;  // made so far
  const std::vector<Divergence>& divergences() const;

  // Makes the next few steps. Throws a numeric Error where a chain diverges and is not dropped.
  void advance();
  // Hands over the draws among the last steps. The log joint and the temperatures of a draw are
  // known one step later, and are handed over then.
  void keep(DrawsWriter& writer);
  // The mean energy and temperature since the last metrics, or these, for a look on the way.
  Metrics recent() const;
  // The metrics that are due, every metrics_every steps and at the end; `last`: this is the end.
  // With them the chains' predictions are judged on the target's test and validation rows; those
  // after burn-in are added to the posterior average.
  std::optional<Metrics> measure(bool last);
  // After the last step of all: hands over what the last draw still lacks.
  void finish(DrawsWriter& writer);
  SamplingTotals totals() const;

  // The judgement of the chains as they are now and of the posterior average so far.
  const std::vector<std::unique_ptr<Evaluation>>& evaluations() const;
  void look();

  // Everything that the rest of the run depends on.
  void save(Checkpoint& checkpoint) const;
  // Throws a checkpoint Error that names what does not fit.
  void load(const Checkpoint& checkpoint);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace whorl::driver
