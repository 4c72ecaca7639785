// Evaluation: how well chains predict data that none of them has seen.
//
// Two ensembles are judged. The current one is the chains as they are at one step, each with the
// same weight. The average is the mean prediction of all chains at all steps that were counted: an
// estimate of the posterior predictive that gets better with time. Of a classifier, rows are taken
// in blocks of as many as the energy's graph was loaded for, so memory beside the rows themselves
// is a block of predictions and, for the average, the sums of PredictiveMean. Results depend on the
// positions alone, not on threads. Thread safety: for one thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diagnostics/classification.hpp"
#include "driver/scores_file.hpp"
#include "engine/executor.hpp"
#include "samplers/energy.hpp"

namespace whorl::driver {

// Rows of data that are set aside: an array for each data input that has rows.
struct HeldOut {
  std::map<std::string, Tensor> tensors;
  std::int64_t rows = 0;
};

// Rows first .. first + count of a table, in place.
Tensor rows_of(const Tensor& table, std::int64_t first, std::int64_t count);

// What predictions of an energy are compared with: the only data input with rows that its logits do
// not depend on. Throws a usage Error when there are none or several of them.
std::string label_input(const Energy& energy, const std::vector<std::string>& row_inputs);

// Labels as whole numbers, from i32[rows], or f32 or f64 with 0 and 1. Throws a data Error for
// others.
std::vector<std::int32_t> labels_of(const Tensor& tensor, std::string_view input);

// The logits of K positions on rows, block by block.
class Predictor {
 public:
  // `data` holds the data inputs without rows. Throws a usage Error when the energy has no logits.
  Predictor(const Energy& energy, const std::vector<std::string>& row_inputs,
            const std::map<std::string, Tensor>& data, std::int64_t chains, int threads);

  std::int64_t columns() const { return columns_; }
  // Adds what each position [K, n] predicts to `mean`, but for those that do not count.
  void predict(const Tensor& positions, const HeldOut& rows, const std::vector<bool>& counts,
               PredictiveMean& mean);
  std::int64_t memory_bytes() const { return executor_->memory_bytes(); }

 private:
  std::int64_t chains_, block_ = 0, columns_ = 0;
  std::vector<std::string> inputs_;       // with rows, that the logits need
  std::map<std::string, Tensor> padded_;  // for the last block, which may not be full
  std::unique_ptr<Executor> executor_;
};

class Evaluation {
 public:
  // `prefix` begins the names of what is found, such as "validation_".
  explicit Evaluation(std::string prefix) : prefix_(std::move(prefix)) {}
  virtual ~Evaluation() = default;

  const std::string& prefix() const { return prefix_; }
  // Judges the chains at `positions` [K, n], and adds them to the average when they `count` for it.
  virtual void look(const Tensor& positions, const std::vector<bool>& alive, bool count) = 0;
  // What was found at the last look, and of the average when anything counted, by names with the
  // prefix, for metrics.
  virtual std::vector<std::pair<std::string, double>> numbers() const = 0;
  // The same for scores.json, which has the scores of classifiers.
  virtual bool has_scores() const { return false; }
  virtual std::vector<EnsembleScores> scores() const { return {}; }
  virtual std::int64_t memory_bytes() const = 0;

  // What the average is made of.
  virtual std::span<const double> save() const = 0;
  // Throws a checkpoint Error when the numbers do not fit.
  void load(std::span<const double> saved);

 private:
  // Throws a usage Error when the numbers do not fit.
  virtual void take(std::span<const double> saved) = 0;

  std::string prefix_;
};

class ClassifierEvaluation : public Evaluation {
 public:
  // `rows` must outlive it.
  ClassifierEvaluation(const Energy& energy, const std::vector<std::string>& row_inputs,
                       const std::map<std::string, Tensor>& data, const HeldOut& rows,
                       std::string prefix, std::int64_t chains, int threads);

  void look(const Tensor& positions, const std::vector<bool>& alive, bool count) override;
  // As of the last look.
  const ClassificationScores& current() const { return current_; }
  // Empty before anything counted.
  std::optional<ClassificationScores> average() const;
  // error, nll, nll_sum, average_error, ...
  std::vector<std::pair<std::string, double>> numbers() const override;
  bool has_scores() const override { return true; }
  std::vector<EnsembleScores> scores() const override;
  std::int64_t memory_bytes() const override;
  std::span<const double> save() const override { return average_.sums(); }

 private:
  void take(std::span<const double> saved) override { average_.load(saved); }

  const HeldOut& rows_;
  std::vector<std::int32_t> labels_;
  Predictor predictor_;
  PredictiveMean now_, average_;
  ClassificationScores current_;
};

}  // namespace whorl::driver
