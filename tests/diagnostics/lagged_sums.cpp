// Lagged sums against plain ones, on both sides of the lag from which they are transforms.
#include "diagnostics/lagged_sums.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/diagnostics/chains.hpp"

using namespace whorl;
using namespace whorl::testing;

namespace {

double plain_sum(const std::vector<double>& x, std::int64_t dimension, std::int64_t lag) {
  const std::int64_t size = static_cast<std::int64_t>(x.size()), n = size / dimension;
  std::vector<double> mean(static_cast<std::size_t>(dimension));
  for (std::int64_t i = 0; i < size; ++i) mean[i % dimension] += x[i] / static_cast<double>(n);
  double total = 0;
  for (std::int64_t i = 0; i + lag * dimension < size; ++i)
    total += (x[i] - mean[i % dimension]) * (x[i + lag * dimension] - mean[i % dimension]);
  return total;
}

// The largest error of a lag, in units of lag 0's sum.
double error_of(const std::vector<double>& x, std::int64_t dimension, std::int64_t lags) {
  std::vector<double> path = x;
  LaggedSums sums(path, dimension, lags);
  double worst = 0;
  for (std::int64_t lag = 0; lag < lags; ++lag) {
    const double error = std::abs(sums.at(lag) - plain_sum(x, dimension, lag)) / sums.at(0);
    worst = error <= worst ? worst : error;
  }
  return worst;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(lagged_sums)

BOOST_AUTO_TEST_CASE(every_lag_is_that_of_plain_sums) {
  for (std::int64_t dimension : {1, 2, 5})
    for (std::int64_t length : {1, 2, 64, 65, 256, 700})
      BOOST_TEST(error_of(ar1(0.99, length + 1, dimension, 3), dimension, length) < 1e-13);
}

BOOST_AUTO_TEST_CASE(a_bound_on_the_lags_changes_no_lag_below_it) {
  const std::vector<double> x = ar1(0.999, 2000, 3, 8);
  for (std::int64_t lags : {1, 48, 65, 100, 666}) BOOST_TEST(error_of(x, 3, lags) < 1e-13);
}

BOOST_AUTO_TEST_CASE(large_and_small_numbers_stay_in_range) {
  for (double scale : {1e-140, 1e152}) {
    std::vector<double> x = ar1(0.99, 500, 2, 4);
    for (double& v : x) v *= scale;
    BOOST_TEST(error_of(x, 2, 500) < 1e-13);
  }
}

BOOST_AUTO_TEST_CASE(a_path_that_never_moves_has_zero_sums) {
  std::vector<double> path(400, 0.1);
  LaggedSums sums(path, 2, 200);
  BOOST_TEST(sums.mean()[1] == 0.1);
  BOOST_TEST(sums.at(0) == 0.0);
  BOOST_TEST(sums.at(199) == 0.0);
}

BOOST_AUTO_TEST_SUITE_END()
