// Sorted draws, their quantiles, distances and ranks, against plain sorting.
#include "diagnostics/ranks.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/diagnostics/fixed_chains.hpp"

using namespace whorl;
using namespace whorl::testing;

namespace {

std::vector<SortedDraw> sorted(const std::vector<double>& values) {
  std::vector<SortedDraw> draws, scratch;
  for (double v : values) draws.push_back({v, static_cast<std::int64_t>(draws.size())});
  sort_draws(draws, scratch);
  return draws;
}

bool in_plain_order(const std::vector<double>& values) {
  std::vector<SortedDraw> plain;
  for (double v : values) plain.push_back({v, static_cast<std::int64_t>(plain.size())});
  std::stable_sort(plain.begin(), plain.end(),
                   [](const SortedDraw& a, const SortedDraw& b) { return a.value < b.value; });
  const std::vector<SortedDraw> found = sorted(values);
  return std::equal(found.begin(), found.end(), plain.begin(), plain.end(),
                    [](const SortedDraw& a, const SortedDraw& b) {
                      return a.value == b.value && a.index == b.index;
                    });
}

std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<double> ranks(values.size());
  for_each_rank(sorted(values), [&](std::span<const SortedDraw> equal, double rank) {
    for (const SortedDraw& draw : equal) ranks[static_cast<std::size_t>(draw.index)] = rank;
  });
  return ranks;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ranks)

BOOST_AUTO_TEST_CASE(draws_of_all_kinds_are_sorted) {
  for (std::string_view name : {"independent", "heavy_tails", "discrete", "far_away"})
    BOOST_TEST(in_plain_order(fixed_chains(name).draws));
  // Those that differ in their last bits alone.
  FixedChains close = walk(0, 2, 2000, 1);
  for (double& x : close.draws) x = 1 + x * 0x1p-48;
  BOOST_TEST(in_plain_order(close.draws));
  BOOST_TEST(in_plain_order({}));
  BOOST_TEST(in_plain_order({3}));
  BOOST_TEST(in_plain_order({1e308, -1e308, 5e-324, -5e-324, 0, 1e-308, -1e-308, 2, 1, -1, -2}));
}

BOOST_AUTO_TEST_CASE(both_zeros_are_one_number) {
  const std::vector<double> expected{3, 3, 3, 1, 5};
  BOOST_TEST(ranks_of({0.0, -0.0, 0.0, -1, 1}) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(equal_draws_share_the_mean_of_their_places) {
  const std::vector<double> expected{4.5, 1.5, 4.5, 1.5, 3};
  BOOST_TEST(ranks_of({7, 2, 7, 2, 5}) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(quantiles_lie_between_the_draws_beside_them) {
  const std::vector<SortedDraw> draws = sorted({4, 1, 3, 2});
  BOOST_TEST(quantile_of(draws, 0) == 1.0);
  BOOST_TEST(quantile_of(draws, 0.5) == 2.5);
  BOOST_TEST(quantile_of(draws, 0.25) == 1.75);
  BOOST_TEST(quantile_of(draws, 1) == 4.0);
  std::vector<double> many(101);
  for (int i = 0; i < 101; ++i) many[i] = std::sqrt(i);
  for (int percent : {5, 7, 29, 58, 95})
    BOOST_TEST(quantile_of(sorted(many), percent / 100.0) == std::sqrt(percent));
}

BOOST_AUTO_TEST_CASE(distances_are_sorted_by_one_merge) {
  const std::vector<double> values = fixed_chains("discrete").draws;
  for (double centre : {-100.0, -0.5, 0.0, 0.25, 100.0}) {
    std::vector<SortedDraw> folded;
    fold_sorted(sorted(values), centre, folded);
    BOOST_TEST(folded.size() == values.size());
    std::vector<bool> seen(values.size());
    double before = 0;
    bool ascending = true, right = true;
    for (const SortedDraw& draw : folded) {
      const std::size_t index = static_cast<std::size_t>(draw.index);
      ascending = ascending && draw.value >= before;
      right = right && !seen[index] && draw.value == std::abs(values[index] - centre);
      before = draw.value;
      seen[index] = true;
    }
    BOOST_TEST(ascending);
    BOOST_TEST(right);
  }
}

BOOST_AUTO_TEST_SUITE_END()
