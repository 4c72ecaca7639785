// How good predicted class probabilities are, for the mean of any number of draws.
//
// A draw gives every row (a datum) a probability for each class, p_d(c). What a Bayesian predicts
// is their mean over draws, p(c) = mean_d p_d(c), and of it are, as means over rows with label y,
//
//   error      1 if arg max_c p(c) is not y, else 0; of equal ones the lowest class wins
//   nll        -log p(y), in nats; nll_sum is the sum over rows
//   brier      sum_c (p(c) - [c = y])^2: between 0 and 2
//   entropy    H(p) = -sum_c p(c) log p(c), in nats: all that is uncertain
//   aleatoric  mean_d H(p_d): what each draw leaves open by itself
//   epistemic  entropy - aleatoric: the mutual information of label and parameters, what draws
//              disagree about
//   ece        sum_b n_b/rows |accuracy_b - confidence_b|, the expected calibration error: rows are
//              in 15 bins of equal width by their confidence max_c p(c), bin b being
//              (b/15, (b+1)/15] for b = 0..14 (Guo et al. 2017)
//
// Everything is computed in double. A draw's p_d(c) that is below e^-708 counts as 0, so that p(y)
// may be 0: such a row has the nll of the smallest normal double, 708.4, and is counted in
// `floored`. The nll is then a lower bound. A draw that is not finite makes all scores NaN.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace whorl {

struct CalibrationBin {
  std::int64_t count = 0;
  // Means over the bin's rows; 0 in one that is empty.
  double confidence = 0, accuracy = 0;
};

struct ClassificationScores {
  static constexpr std::int64_t bins = 15;

  std::int64_t rows = 0, draws = 0;
  double error = 0, nll = 0, nll_sum = 0, brier = 0, ece = 0;
  double entropy = 0, aleatoric = 0, epistemic = 0;
  std::int64_t floored = 0;
  std::array<CalibrationBin, bins> calibration = {};
};

// The mean prediction of draws as they come, in rows * (classes + 2) doubles.
//
// Invariants: sums are made in the order of the calls, so that the same calls give the same bits.
// Thread safety: a plain value; calls of add() for different rows may run at the same time.
class PredictiveMean {
 public:
  // What it is given of a row are `columns` logits, of which the classes' probabilities are the
  // softmax; log-probabilities will do. A single column is the logit of class 1 of two.
  PredictiveMean(std::int64_t rows, std::int64_t columns);

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t classes() const { return columns_ == 1 ? 2 : columns_; }
  // The smallest number of draws that a row has.
  std::int64_t draws() const;

  // One draw, [any, columns], of the rows from `first_row` on. Throws a usage Error when there are
  // not whole rows, or too many.
  void add(std::span<const float> logits, std::int64_t first_row = 0);
  void add(std::span<const double> logits, std::int64_t first_row = 0);
  // All draws of another mean, of as many rows and columns.
  void add(const PredictiveMean& other);
  void clear();

  // p(c), [rows, classes].
  std::vector<double> probabilities() const;
  // Throws a usage Error when a row has no draws or another number of them than the others, a data
  // Error for a label that is none of the classes.
  ClassificationScores scores(std::span<const std::int32_t> labels) const;

  // All that it knows, and back: sums of p [rows, classes], of entropies [rows], of draws [rows].
  // load() throws a usage Error when the size is not that of sums(), or the draws of a row are not
  // a count.
  std::span<const double> sums() const { return sums_; }
  void load(std::span<const double> sums);

 private:
  template <class T>
  void add_draw(std::span<const T> logits, std::int64_t first_row);
  const double* entropies() const { return sums_.data() + rows_ * classes(); }
  const double* counts() const { return entropies() + rows_; }
  void check_draws() const;

  std::int64_t rows_, columns_;
  std::vector<double> sums_;
};

}  // namespace whorl
