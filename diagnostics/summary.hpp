// What several chains say of each parameter: moments and quantiles with their Monte Carlo errors,
// R-hat, and effective sample sizes.
//
// The definitions are those of Vehtari, Gelman, Simpson, Carpenter and Buerkner
// ("Rank-normalization, folding, and localization", 2021). Every chain is split in halves (the
// middle draw of an odd number is left out), so that a drift within chains shows; half_chains.hpp
// has R and S, the R-hat and the effective sample size of any function of the draws so split. With
// q_p the quantile of all n draws and z(f) the normal scores Phi^-1((r - 3/8) / (m + 1/4)) of the
// ranks r of f among the m draws of the halves,
//
//   rhat             the larger of R(z(x)) and R(z(|x - q_0.5|))
//   ess_bulk         S(z(x))
//   ess_tail         the smaller of S(x <= q_0.05) and S(x <= q_0.95)
//   mcse             sd / sqrt(S(x)), of the mean
//   mcse_sd          sqrt((mean d^4 - (mean d^2)^2) / S(d^2) / (4 mean d^2)),  d = x - mean
//   mcse_quantiles   half the distance of the draws at the places n b of their order, rounded
//                    outwards, for the b with cumulative probability Phi(-1) and Phi(1) in
//                    Beta(S p + 1, S (1 - p) + 1),  S = S(x <= q_p)
//
// Ranks are of no scale, so that rhat and ess_bulk mean something for tails without a variance,
// too; mean, sd and their errors then mean nothing. R of the distances is left out where all are
// equal.
//
// NaN is what has no value: everything when a draw is not finite; all errors, rhat and sizes of a
// parameter that never moves; a size with fewer than 6 draws a chain; ess_tail and mcse_quantiles
// where a quantile is also the largest draw, as for discrete parameters.
// Thread safety: a Summariser belongs to one thread; summarise() is a pure function.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "diagnostics/ranks.hpp"

namespace whorl {

inline constexpr std::array<double, 3> summary_probabilities{0.05, 0.5, 0.95};

struct ParameterSummary {
  double mean = 0, sd = 0;  // of all draws; the variance has the divisor n - 1
  double mcse = 0, mcse_sd = 0;
  std::array<double, 3> quantiles{}, mcse_quantiles{};  // at summary_probabilities
  double rhat = 0, ess_bulk = 0, ess_tail = 0;
};

// Summarises one parameter after the other in the same memory: about 60 bytes for each draw.
class Summariser {
 public:
  // Throws a usage Error for fewer than one chain or 4 draws.
  Summariser(std::int64_t chains, std::int64_t length);

  // Of draws [chains, length]. Throws a usage Error when their number does not fit.
  ParameterSummary operator()(std::span<const double> draws);

 private:
  void split(std::span<const double> draws);
  void add_moments(std::span<const double> draws, ParameterSummary& result);
  void add_quantiles(ParameterSummary& result);
  void add_rank_statistics(double median, ParameterSummary& result);
  double score(double rank) const;
  void set_scores(std::span<const SortedDraw> sorted);

  std::size_t length_, half_, halves_;
  std::vector<double> scores_;  // of the ranks 1, 2, ... up to the middle
  std::vector<double> path_;    // the draws, [half, halves]
  std::vector<double> work_;    // a function of them
  std::vector<SortedDraw> sorted_, folded_;
};

// The draws are [chains, length, parameters]. Throws a usage Error when their number does not fit,
// or a chain has fewer than 4.
std::vector<ParameterSummary> summarise(std::span<const double> draws, std::int64_t chains,
                                        std::int64_t length, std::int64_t parameters);
std::vector<ParameterSummary> summarise(std::span<const float> draws, std::int64_t chains,
                                        std::int64_t length, std::int64_t parameters);

}  // namespace whorl
