// Rank histograms: chains that agree stay in the band, others leave it.
#include "diagnostics/rank_histogram.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>

#include "tests/diagnostics/fixed_chains.hpp"
#include "tests/support/errors.hpp"

using namespace whorl;
using namespace whorl::testing;

namespace {

std::int64_t outside(const RankHistogram& histogram) {
  return std::count_if(histogram.counts.begin(), histogram.counts.end(), [&](std::int64_t count) {
    const double c = static_cast<double>(count);
    return c < histogram.low || c > histogram.high;
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(rank_histograms)

BOOST_AUTO_TEST_CASE(small_ones_are_as_by_hand) {
  const std::vector<double> draws{1, 2, 5, 6, 3, 4, 7, 8};
  const RankHistogram found = rank_histogram(draws, 2, 4, 4);
  const std::vector<std::int64_t> expected{2, 0, 2, 0, 0, 2, 0, 2};
  BOOST_TEST(found.counts == expected, boost::test_tools::per_element());
  BOOST_TEST(found.expected == 1.0);
  // Of 2 among 8, a chain with 4 has none in 3 cases of 14, one in 8, both in 3.
  BOOST_TEST(found.low == 0.0);
  BOOST_TEST(found.high == 2.0);
}

BOOST_AUTO_TEST_CASE(the_band_is_that_of_the_hypergeometric_law) {
  // Of 200 among 4000, a chain with 1000 has 34 or fewer with probability 0.0036 and 35 or fewer
  // with 0.0062; 66 or more with 0.0056, 67 or more with 0.0035.
  const RankHistogram found = rank_histogram(walk(0, 4, 1000, 1).draws, 4, 1000, 20);
  BOOST_TEST(found.low == 35.0);
  BOOST_TEST(found.high == 66.0);
}

BOOST_AUTO_TEST_CASE(chains_of_one_law_stay_in_the_band) {
  std::int64_t left = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const FixedChains chains = walk(0, 4, 1000, 1000 * seed);
    const RankHistogram found = rank_histogram(chains.draws, 4, 1000, 20);
    BOOST_TEST(std::accumulate(found.counts.begin(), found.counts.end(), std::int64_t{0}) == 4000);
    left += outside(found);
  }
  BOOST_TEST(left < 32);  // of 1600, one in a hundred or fewer: five standard errors
}

BOOST_AUTO_TEST_CASE(correlated_chains_have_a_wider_band) {
  std::int64_t left = 0, left_of_narrow = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const FixedChains chains = walk(0.95, 4, 1000, 1000 * seed);
    left_of_narrow += outside(rank_histogram(chains.draws, 4, 1000, 20));
    left += outside(rank_histogram(chains.draws, 4, 1000, 20, 4 * 1000 / 39.0));
  }
  BOOST_TEST(left_of_narrow > 160);
  BOOST_TEST(left < 48);
}

BOOST_AUTO_TEST_CASE(a_chain_elsewhere_leaves_the_band) {
  const FixedChains chains = fixed_chains("one_elsewhere");
  BOOST_TEST(outside(rank_histogram(chains.draws, 4, chains.length, 20)) > 30);
}

BOOST_AUTO_TEST_CASE(a_single_chain_is_uniform_among_itself) {
  const RankHistogram found = rank_histogram(walk(0.9, 1, 1000, 3).draws, 1, 1000, 10);
  BOOST_TEST(outside(found) == 0);
  BOOST_TEST(found.low == 100.0);
  BOOST_TEST(found.high == 100.0);
}

BOOST_AUTO_TEST_CASE(draws_that_are_not_finite_are_not_counted) {
  BOOST_TEST(rank_histogram(std::vector<double>{1, NAN, 2, 3}, 2, 2, 2).counts.empty());
  BOOST_TEST(std::isnan(rank_histogram(std::vector<double>{1, 1}, 1, 2, 2, NAN).low));
}

BOOST_AUTO_TEST_CASE(numbers_that_do_not_fit_are_refused) {
  const std::vector<double> x(6);
  BOOST_TEST(error_text([&] { rank_histogram(x, 2, 3, 0); }) ==
             "[rank_histogram] there are 0 bins; expected 1 or more");
  BOOST_TEST(error_text([&] { rank_histogram(x, 2, 4, 5); }) ==
             "[rank_histogram] there are 6 numbers in 2 chains of 4 draws; expected a number for "
             "each draw");
}

BOOST_AUTO_TEST_SUITE_END()
