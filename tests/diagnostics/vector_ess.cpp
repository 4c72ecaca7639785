// The effective sample size of vectors, against independent numbers and known chains.
#include "diagnostics/vector_ess.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/diagnostics/chains.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/vectors/path.hpp"

using namespace whorl;
using namespace whorl::testing;

BOOST_AUTO_TEST_SUITE(vector_ess_of_paths)

BOOST_AUTO_TEST_CASE(it_is_that_of_an_independent_program) {
  const VectorEss found = vector_ess(path_vectors::path, 2);
  BOOST_TEST(found.ess == path_vectors::ess, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(found.lags == 18);
  BOOST_TEST(!found.capped);
  std::vector<float> rounded(path_vectors::path.begin(), path_vectors::path.end());
  BOOST_TEST(vector_ess(rounded, 2).ess == path_vectors::ess, boost::test_tools::tolerance(1e-5));
}

BOOST_AUTO_TEST_CASE(long_paths_agree_with_plain_sums) {
  // Longer than a group of lags and than a tile of the path, and of no round size.
  const std::vector<double> x = ar1(0.99, 3001, 3, 5);
  const std::int64_t n = 3001;
  double mean[3] = {};
  for (std::int64_t i = 0; i < 3 * n; ++i) mean[i % 3] += x[i] / n;
  const auto gamma = [&](std::int64_t lag) {
    double total = 0;
    for (std::int64_t i = 0; i + 3 * lag < 3 * n; ++i)
      total += (x[i] - mean[i % 3]) * (x[i + 3 * lag] - mean[i % 3]);
    return total / static_cast<double>(n - lag);
  };
  double v = gamma(0);
  std::int64_t lag = 2;
  for (; lag < 1000; lag += 2) {
    const double pair = gamma(lag - 1) + gamma(lag);
    if (pair <= 0) break;
    v += 2 * pair;
  }
  const VectorEss found = vector_ess(x, 3);
  BOOST_TEST(found.ess == n * gamma(0) / v, boost::test_tools::tolerance(1e-10));
  BOOST_TEST(found.lags == lag - 2);
  BOOST_TEST(found.lags > 64);
}

BOOST_AUTO_TEST_CASE(chains_of_known_size_are_measured) {
  for (double phi : {0.0, 0.5, 0.9}) {
    double total = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed)
      total += vector_ess(ar1(phi, 20000, 10, seed), 10).ess / 10;
    BOOST_TEST(total == 20000 * (1 - phi) / (1 + phi), boost::test_tools::tolerance(0.05));
  }
}

BOOST_AUTO_TEST_CASE(the_cap_is_told) {
  const VectorEss slow = vector_ess(ar1(0.9999, 12000, 2, 1), 2);
  BOOST_TEST(slow.capped);
  BOOST_TEST(slow.lags == 998);
  BOOST_TEST(vector_ess(ar1(0.9999, 300, 2, 1), 2).lags <= 98);
}

BOOST_AUTO_TEST_CASE(a_path_that_never_moves_has_no_size) {
  BOOST_TEST(std::isnan(vector_ess(std::vector<double>(100, 2.5), 2).ess));
  std::vector<double> broken = ar1(0.5, 100, 2, 1);
  broken[7] = INFINITY;
  BOOST_TEST(std::isnan(vector_ess(broken, 2).ess));
}

BOOST_AUTO_TEST_CASE(numbers_that_are_no_path_are_refused) {
  const std::vector<double> x(7, 0.0);
  BOOST_TEST(error_text([&] { vector_ess(x, 2); }) ==
             "[vector_ess] the path has 7 numbers; expected a positive multiple of the dimension "
             "2");
}

BOOST_AUTO_TEST_SUITE_END()
