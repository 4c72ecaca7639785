// How probable draws find what happened, frame by frame of sequences.
//
// A draw gives every frame x_t of a sequence a probability given the frames before, p_d(x_t |
// x_<t). What a Bayesian predicts is the mean over draws, p = mean_d p_d, and of -log p are, in
// nats,
//
//   nll              the mean over all frames of all sequences
//   nll_after_first  the same without the first frame of each sequence
//   nll_by_sequence  the mean over sequences of each one's mean
//
// which are three habits of the literature, and three different numbers. Everything is computed in
// double, sums of probabilities as log(exp(a) + exp(b)), so that none is too small. A draw that
// finds a frame impossible has the probability 0 there; one that is NaN makes the scores NaN.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace whorl {

struct SequenceScores {
  std::int64_t sequences = 0, frames = 0, draws = 0;
  double nll = 0, nll_by_sequence = 0;
  double nll_after_first = 0;  // NaN where all sequences have a single frame
};

// The mean probability of each frame over draws as they come, in two doubles for each frame.
//
// Invariants: sums are made in the order of the calls, so that the same calls give the same bits.
// Thread safety: a plain value; calls of add() for different frames may run at the same time.
class PredictiveDensity {
 public:
  // Sequence s has the frames starts[s] .. starts[s + 1] - 1. Throws a usage Error unless they
  // begin at 0 and every sequence has a frame.
  explicit PredictiveDensity(std::vector<std::int64_t> starts);

  std::int64_t frames() const { return starts_.back(); }
  // The smallest number of draws that a frame has.
  std::int64_t draws() const;

  // One draw's -log p of the frames from `first` on. Throws a usage Error when there are too many.
  void add(std::span<const float> losses, std::int64_t first);
  void add(std::span<const double> losses, std::int64_t first);
  // All draws of another one, of the same sequences.
  void add(const PredictiveDensity& other);
  void clear();

  // -log p of each frame.
  std::vector<double> losses() const;
  // Throws a usage Error when a frame has no draws, or another number of them than the others.
  SequenceScores scores() const;

  // All that it knows, and back: log sums [frames], then numbers of draws [frames]. load() throws a
  // usage Error when the size is not that of sums(), or the draws of a frame are not a count.
  std::span<const double> sums() const { return sums_; }
  void load(std::span<const double> sums);

 private:
  template <class T>
  void add_draw(std::span<const T> losses, std::int64_t first);
  std::span<const double> counts() const;

  std::vector<std::int64_t> starts_;
  std::vector<double> sums_;
};

}  // namespace whorl
