// Autocorrelations, against plain sums and known chains.
//
// For a single chain, acf() of R 4.2.2 and autocorr() of coda 0.19.4 give the same to 1e-14.
#include "diagnostics/autocorrelation.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/diagnostics/fixed_chains.hpp"
#include "tests/diagnostics/reference/summary_values.hpp"
#include "tests/support/errors.hpp"

using namespace whorl;
using namespace whorl::testing;
using boost::test_tools::tolerance;

BOOST_AUTO_TEST_SUITE(autocorrelations)

BOOST_AUTO_TEST_CASE(they_are_those_of_plain_sums) {
  const FixedChains slow = fixed_chains("slow");
  const std::vector<double> found = autocorrelation(slow.draws, slow.chains, slow.length, 1000);
  BOOST_TEST(found.size() == 1001u);
  BOOST_TEST(found[0] == 1.0);
  std::size_t i = 0;
  for (std::size_t lag : {1, 10, 100, 1000})
    BOOST_TEST(found[lag] == summary_values::correlations[i++], tolerance(1e-11));
}

BOOST_AUTO_TEST_CASE(they_are_those_that_coda_finds) {
  const FixedChains one = fixed_chains("one_chain");
  const std::vector<double> found = autocorrelation(one.draws, 1, one.length, 20);
  BOOST_TEST(found[1] == 0.22876003458456512, tolerance(1e-13));
  BOOST_TEST(found[2] == -0.02800478268990803, tolerance(1e-13));
  BOOST_TEST(found[10] == -0.05166507977505514, tolerance(1e-13));
  BOOST_TEST(found[20] == -0.02169920356491508, tolerance(1e-13));
}

BOOST_AUTO_TEST_CASE(they_decay_as_those_of_known_chains) {
  const FixedChains chains = walk(0.9, 50, 4000, 7);
  const std::vector<double> found = autocorrelation(chains.draws, 50, 4000, 20);
  for (int lag : {1, 5, 20}) BOOST_TEST(std::abs(found[lag] - std::pow(0.9, lag)) < 0.02);
}

BOOST_AUTO_TEST_CASE(chains_that_never_move_have_none) {
  BOOST_TEST(std::isnan(autocorrelation(std::vector<double>(6, 0.1), 2, 3, 1)[0]));
  BOOST_TEST(std::isnan(autocorrelation(std::vector<double>{1, 2, NAN, 4}, 1, 4, 2)[1]));
}

BOOST_AUTO_TEST_CASE(lags_that_are_not_there_are_refused) {
  const std::vector<double> x(6);
  BOOST_TEST(error_text([&] { autocorrelation(x, 2, 3, 3); }) ==
             "[autocorrelation] the lag is 3; expected 0 to 2 for 3 draws");
  BOOST_TEST(error_text([&] { autocorrelation(x, 2, 4, 1); }) ==
             "[autocorrelation] there are 6 numbers in 2 chains of 4 draws; expected a number for "
             "each draw");
}

BOOST_AUTO_TEST_SUITE_END()
