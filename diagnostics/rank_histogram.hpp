// Where a chain's draws stand among those of all chains: histograms of their ranks.
//
// If all chains draw from one law, each chain's ranks among the n draws of all are uniform, and
// every bin of its histogram holds length / bins of them but for chance (Vehtari et al. 2021). A
// chain that stays to one side leans; one that is too narrow has a hill; a chain that is stuck
// stands out in one bin.
//
// Chance is the hypergeometric law: of the n draws, n / bins are in the bin, and a chain holds
// `length` of them. The band [low, high] is what a bin of independent draws leaves one time in a
// hundred at most, half of that on each side. Draws that are correlated count for fewer: with `ess`
// effective draws in all chains, the band is that of ess / chains draws a chain, scaled.
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace whorl {

struct RankHistogram {
  std::int64_t bins = 0;
  std::vector<std::int64_t> counts;        // [chains, bins]; equal draws share their mean rank
  double expected = 0, low = 0, high = 0;  // the band is NaN when the ess is
};

// Of draws [chains, length]. No counts when a draw is not finite. Throws a usage Error when the
// draws do not fit, or there is no bin.
RankHistogram rank_histogram(std::span<const double> draws, std::int64_t chains,
                             std::int64_t length, std::int64_t bins,
                             double ess = std::numeric_limits<double>::infinity());

}  // namespace whorl
