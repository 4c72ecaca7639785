// Nested R-hat, against plain formulas and for what superchains are for.
//
// arviz_stats 0.8.0 (rhat_nested, method "identity") gives the same to the nine digits it shows.
#include "diagnostics/nested_rhat.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/diagnostics/fixed_chains.hpp"
#include "tests/diagnostics/reference/summary_values.hpp"
#include "tests/support/errors.hpp"

using namespace whorl;
using namespace whorl::testing;

namespace {

std::vector<double> first_draws(const FixedChains& chains) {
  std::vector<double> result;
  for (std::int64_t c = 0; c < chains.chains; ++c)
    result.push_back(chains.draws[static_cast<std::size_t>(c * chains.length)]);
  return result;
}

// One draw of each of `chains`: a start that `shared` chains have in common, and noise.
std::vector<double> started_in_groups(std::int64_t chains, std::int64_t shared, double spread) {
  Numbers starts(1), noise(2);
  std::vector<double> result;
  double start = 0;
  for (std::int64_t c = 0; c < chains; ++c) {
    if (c % shared == 0) start = spread * starts.bell();
    result.push_back(start + noise.bell());
  }
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(nested_rhats)

BOOST_AUTO_TEST_CASE(they_are_those_of_plain_formulas) {
  std::size_t i = 0;
  for (std::string_view name : {"independent", "one_elsewhere"}) {
    const FixedChains chains = fixed_chains(name);
    const auto close = boost::test_tools::tolerance(1e-12);
    for (std::int64_t superchains : {2, 4})
      BOOST_TEST(
          nested_rhat(chains.draws, 4, chains.length, superchains) == summary_values::nested[i++],
          close);
    BOOST_TEST(nested_rhat(first_draws(chains), 4, 1, 2) == summary_values::nested[i++], close);
  }
}

BOOST_AUTO_TEST_CASE(one_draw_a_chain_tells_whether_the_start_is_forgotten) {
  const double forgotten = nested_rhat(started_in_groups(2048, 128, 0), 2048, 1, 16);
  BOOST_TEST(forgotten < 1.01);
  BOOST_TEST(nested_rhat(started_in_groups(2048, 128, 1), 2048, 1, 16) > 1.2);
}

BOOST_AUTO_TEST_CASE(groups_at_will_hide_what_chains_remember) {
  // Every chain started for itself, and remembers all of it.
  const std::vector<double> draws = started_in_groups(2048, 1, 10);
  BOOST_TEST(nested_rhat(draws, 2048, 1, 16) < std::sqrt(1 + 3.0 / 128));
}

BOOST_AUTO_TEST_CASE(what_has_no_value_is_nan) {
  BOOST_TEST(std::isnan(nested_rhat(std::vector<double>(8, 0.1), 4, 2, 2)));
  BOOST_TEST(std::isnan(nested_rhat(std::vector<double>{1, 2, 3, 4}, 4, 1, 4)));
  BOOST_TEST(std::isnan(nested_rhat(std::vector<double>{1, 2, 3, NAN}, 4, 1, 2)));
  BOOST_TEST(std::isnan(nested_rhat(std::vector<double>{1, 2, 3, INFINITY}, 4, 1, 2)));
  BOOST_TEST(nested_rhat(std::vector<double>{0.1, 0.1, 0.1, 0.3, 0.3, 0.3}, 2, 3, 2) == INFINITY);
}

BOOST_AUTO_TEST_CASE(chains_that_do_not_fit_are_refused) {
  const std::vector<double> x(12);
  BOOST_TEST(error_text([&] { nested_rhat(x, 4, 2, 2); }) ==
             "[nested_rhat] there are 12 numbers in 4 chains of 2 draws; expected a number for "
             "each draw");
  BOOST_TEST(error_text([&] { nested_rhat(x, 4, 3, 3); }) ==
             "[nested_rhat] 4 chains do not make 3 superchains; expected two or more of equal "
             "size");
  BOOST_TEST(error_text([&] { nested_rhat(x, 4, 3, 1); }) ==
             "[nested_rhat] 4 chains do not make 1 superchains; expected two or more of equal "
             "size");
}

BOOST_AUTO_TEST_SUITE_END()
