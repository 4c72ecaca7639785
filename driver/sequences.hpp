// SequenceTask: an energy of sequences of different lengths, and the sequences.
//
// The energy's graph has a data input [frames,columns] whose first size has a name, and the data
// input `length` i32[]. It is loaded again for each of a few numbers of frames; a sequence is seen
// by the shortest graph that it fits into, filled up with frames that the graph leaves out by
// `length`. So a few plans serve all sequences, and little is computed for nothing. Thread safety:
// plain values; energies and sequences are immutable.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/sequences.hpp"
#include "diagnostics/predictive_density.hpp"
#include "driver/evaluation.hpp"
#include "graphs/experiment_file.hpp"
#include "samplers/measure_task.hpp"

namespace whorl::driver {

// The data input that an energy of sequences gets their lengths by.
inline constexpr const char* length_input = "length";

struct SequenceTask {
  std::string input;                           // the data input that takes the frames
  std::function<Energy(std::int64_t)> energy;  // for so many frames
  std::string graph_file;                      // what it is loaded from
  Sequences train;
  std::vector<std::int64_t> lengths;  // those of `energies`, which rise
  std::vector<SizedEnergy> energies;  // that sequences of `train` are seen by
  std::optional<Sequences> validation, test;
  std::vector<std::string> notes = {};

  // Which energy each step's sequence needs, and what fills its `batch`.
  TaskData data(std::uint64_t seed) const;
};

// Throws a usage Error for a graph that is not made for sequences, a data Error for sequences that
// do not fit it.
SequenceTask load_sequence_task(const TargetSettings& target, const SequenceSettings& settings);

// All that a sequence task's results depend on, as a text.
std::string hash(const Sequences& sequences);

// -log p of every frame of sequences, for K positions.
class SequencePredictor {
 public:
  // `sequences` must outlive it. Throws a usage Error when the energy has no output `losses`.
  SequencePredictor(const SequenceTask& task, const Sequences& sequences, std::int64_t chains,
                    int threads);

  // Adds what each position [K, n] predicts, but for those that do not count.
  void predict(const Tensor& positions, const std::vector<bool>& counts, PredictiveDensity& into);
  std::int64_t memory_bytes() const { return memory_bytes_; }

 private:
  struct Program {
    std::unique_ptr<Executor> executor;
    Tensor padded;  // for the last sequences, behind which there is nothing to read
  };

  const Sequences& sequences_;
  std::string input_;
  std::int64_t chains_, memory_bytes_ = 0;
  std::vector<std::int64_t> lengths_;
  std::vector<Program> programs_;  // one for each length
  Tensor length_{Type{DType::i32, {}}};
};

class SequenceEvaluation : public Evaluation {
 public:
  SequenceEvaluation(const SequenceTask& task, const Sequences& sequences, std::string prefix,
                     std::int64_t chains, int threads);

  void look(const Tensor& positions, const std::vector<bool>& alive, bool count) override;
  // nll, nll_after_first, nll_by_sequence, average_nll, ...
  std::vector<std::pair<std::string, double>> numbers() const override;
  std::int64_t memory_bytes() const override;
  std::span<const double> save() const override { return average_.sums(); }

 private:
  void take(std::span<const double> saved) override { average_.load(saved); }

  SequencePredictor predictor_;
  PredictiveDensity now_, average_;
};

}  // namespace whorl::driver
