// MetaLearning: learns the weights of a sampler on one or several tasks.
//
// An epoch puts the chains of one task to a fresh start; each of its roll-outs continues from the
// last one's state, and ends in one update of the weights (two with separate updates). Tasks take
// turns by epoch. They share one energy graph and differ in the data bound to it, so one plan
// serves all of them.
// The result depends on the settings alone: same seed, same bits, for any number of threads.
// Thread safety: one thread at a time.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/evaluate.hpp"
#include "engine/executor.hpp"
#include "graphs/experiment_file.hpp"
#include "samplers/energy.hpp"
#include "samplers/meta_training.hpp"
#include "storage/checkpoint.hpp"

namespace whorl::driver {

struct TrainingTask {
  std::string name;
  Feeds data;  // the energy's data inputs
  TaskStatistics statistics;
  // Fills in the rows of a step, when the energy takes minibatches.
  std::function<void(std::int64_t, std::span<std::int32_t>)> batch = {};
};

// What one update reports.
struct UpdateReport {
  std::int64_t update = 0, updates = 0;  // this one, from 1, of so many
  std::int64_t epoch = 0;                // from 0
  double mean_energy = 0;                // over the roll-out
  double curl = 0, diffusion = 0;        // means of Q and D over the roll-out
  double clamped = 0;                    // the share of coordinates where Q or D is clamped
  // By name. They are surrogates: their gradients mean something, their values do not.
  std::vector<std::pair<std::string, double>> losses = {};
};

class MetaLearning {
 public:
  // `gradient` must be the same for all tasks. Throws a memory Error when the graph would be too
  // large to make, or to run within the budget.
  MetaLearning(const Energy& energy, const GradientSource& gradient,
               const TrainingSettings& settings, std::vector<TrainingTask> tasks, int threads,
               std::int64_t memory_budget);

  // The whole update as a graph: unrolled, differentiated, with Adam.
  const Graph& graph() const { return graph_; }
  std::int64_t updates() const { return settings_.epochs * settings_.rollouts; }

  // Makes one update; false when all are done. Throws a numeric Error that names the update when a
  // state or a weight is no longer finite.
  bool update(UpdateReport& report);
  // With the weights as they are now.
  LearnedSampler sampler() const;
  std::int64_t memory_bytes() const { return executor_->memory_bytes(); }

  // Everything that the updates to come depend on. load() throws a checkpoint Error that names what
  // does not fit.
  void save(Checkpoint& checkpoint) const;
  void load(const Checkpoint& checkpoint);

 private:
  std::vector<MetaLoss> losses(Graph& graph, const std::vector<Moment>& moments) const;
  // Binds what an epoch's task has of its own.
  void bind_task(std::int64_t epoch);
  void start_epoch(std::int64_t epoch);
  void choose_chains();
  void choose_rows(const TrainingTask& task);

  TrainingSettings settings_;
  std::vector<TrainingTask> tasks_;
  LearnedSampler sampler_;
  Graph graph_;
  std::vector<StateVariable> state_;
  std::unique_ptr<Executor> executor_;
  Feeds feeds_;                       // every input's tensor
  std::vector<std::string> carried_;  // those that an update replaces
  std::int64_t update_ = 0;
};

}  // namespace whorl::driver
