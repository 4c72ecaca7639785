// The summary of several chains: known chains, and chains that do not agree.
#include "diagnostics/summary.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/diagnostics/chains.hpp"
#include "tests/support/errors.hpp"

using namespace whorl;
using namespace whorl::testing;
using boost::test_tools::tolerance;

namespace {

// Chains [chains, length, 1], each AR(1).
std::vector<double> chains_of(double phi, int chains, std::int64_t length, std::uint64_t seed) {
  std::vector<double> all;
  for (int c = 0; c < chains; ++c) {
    const std::vector<double> one = ar1(phi, length, 1, seed + static_cast<std::uint64_t>(c));
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(summary)

BOOST_AUTO_TEST_CASE(chains_of_known_size_are_measured) {
  for (double phi : {-0.3, 0.0, 0.6, 0.95}) {
    const ParameterSummary found = summarise(chains_of(phi, 20, 20000, 1), 20, 20000, 1).front();
    const double size = 20 * 20000 * (1 - phi) / (1 + phi);
    BOOST_TEST(found.ess == size, tolerance(0.08));
    BOOST_TEST(found.sd == 1.0, tolerance(0.05));
    BOOST_TEST(found.mcse == 1 / std::sqrt(size), tolerance(0.08));
    BOOST_TEST(std::abs(found.mean) < 5.85 / std::sqrt(size));
    BOOST_TEST(found.rhat < 1.01);
    BOOST_TEST(found.rhat > 0.999);
  }
}

BOOST_AUTO_TEST_CASE(two_short_chains_are_summarised_as_by_hand) {
  // Halves (0,1) (2,3) (1,0) (5,2): variances .5 .5 .5 4.5, means .5 2.5 .5 3.5.
  const std::vector<double> draws{0, 1, 2, 3, 1, 0, 5, 2};
  const ParameterSummary found = summarise(draws, 2, 4, 1).front();
  const double within = 1.5, between = (1.25 * 1.25 * 2 + 0.75 * 0.75 + 1.75 * 1.75) / 3;
  const double total = 0.5 * within + between;
  BOOST_TEST(found.mean == 1.75, tolerance(1e-14));
  BOOST_TEST(found.rhat == std::sqrt(total / within), tolerance(1e-14));
  // Lag 1 of a half (a,b) is -(a-b)^2/4, and a half has two draws: -.25 -.25 -.25 -2.25, over 2.
  const double rho = 1 - (within + 0.375) / total;
  BOOST_TEST(found.ess == 8 / (1 + 2 * rho), tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(slow_chains_agree_with_plain_sums) {
  // Correlated over more lags than are summed directly; the middle draw of a chain is left out.
  const std::int64_t length = 4001, n = 2000;
  const std::vector<double> x = chains_of(0.995, 2, length, 11);
  const std::int64_t begins[4] = {0, n + 1, length, length + n + 1};
  double means[4] = {}, mean = 0, within = 0, between = 0;
  for (int h = 0; h < 4; ++h) {
    for (std::int64_t t = 0; t < n; ++t) means[h] += x[begins[h] + t] / n;
    mean += means[h] / 4;
  }
  const auto covariance = [&](std::int64_t lag) {
    double total = 0;
    for (int h = 0; h < 4; ++h)
      for (std::int64_t t = begins[h]; t + lag < begins[h] + n; ++t)
        total += (x[t] - means[h]) * (x[t + lag] - means[h]);
    return total / (4 * n);
  };
  within = covariance(0) * n / (n - 1);
  for (double m : means) between += (m - mean) * (m - mean) / 3;
  const double total = (n - 1.0) / n * within + between;
  double tau = -1, before = INFINITY;
  std::int64_t lag = 0;
  for (; lag + 1 < n; lag += 2) {
    const double first = lag == 0 ? 1 : 1 - (within - covariance(lag)) / total;
    const double pair = first + 1 - (within - covariance(lag + 1)) / total;
    if (pair <= 0) break;
    before = std::min(before, pair);
    tau += 2 * before;
  }
  const ParameterSummary found = summarise(x, 2, length, 1).front();
  BOOST_TEST(lag > 128);
  BOOST_TEST(found.ess == 4 * n / tau, tolerance(1e-10));
  BOOST_TEST(found.rhat == std::sqrt(total / within), tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(chains_that_never_move_in_different_places_are_worth_next_to_nothing) {
  std::vector<double> x(2 * 1000, 1.0);
  for (int i = 1000; i < 2000; ++i) x[i] = 2;
  BOOST_TEST(summarise(x, 2, 1000, 1).front().ess == 4 * 500 / 999.0, tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(chains_in_different_places_have_a_large_rhat_and_a_small_size) {
  std::vector<double> x = chains_of(0.2, 4, 1000, 3);
  for (int i = 0; i < 1000; ++i) x[i] += 5;
  const ParameterSummary found = summarise(x, 4, 1000, 1).front();
  BOOST_TEST(found.rhat > 2.0);
  BOOST_TEST(found.ess < 20.0);
}

BOOST_AUTO_TEST_CASE(a_drift_within_chains_shows) {
  std::vector<double> x = chains_of(0.0, 4, 1000, 3);
  for (int i = 0; i < 4000; ++i) x[i] += 0.005 * (i % 1000);
  BOOST_TEST(summarise(x, 4, 1000, 1).front().rhat > 1.4);
}

BOOST_AUTO_TEST_CASE(parameters_are_told_apart) {
  const std::vector<double> a = chains_of(0.0, 3, 501, 1), b = chains_of(0.9, 3, 501, 50);
  std::vector<float> both;
  for (std::size_t i = 0; i < a.size(); ++i) {
    both.push_back(static_cast<float>(a[i]));
    both.push_back(static_cast<float>(10 + b[i]));
  }
  const std::vector<ParameterSummary> found = summarise(both, 3, 501, 2);
  BOOST_TEST(found.size() == 2u);
  BOOST_TEST(found[0].ess == summarise(a, 3, 501, 1).front().ess, tolerance(1e-4));
  BOOST_TEST(found[1].ess == summarise(b, 3, 501, 1).front().ess, tolerance(1e-4));
  BOOST_TEST(found[1].mean == 10.0, tolerance(0.1));
}

BOOST_AUTO_TEST_CASE(a_parameter_that_never_moves_has_no_rhat) {
  const ParameterSummary found = summarise(std::vector<double>(40, 2.5), 4, 10, 1).front();
  BOOST_TEST(found.mean == 2.5, tolerance(1e-14));
  BOOST_TEST(std::isnan(found.rhat));
  BOOST_TEST(std::isnan(found.ess));
  BOOST_TEST(std::isnan(found.mcse));
}

BOOST_AUTO_TEST_CASE(draws_that_do_not_fit_are_refused) {
  const std::vector<double> x(12, 0.0);
  BOOST_TEST(error_text([&] { summarise(x, 2, 5, 1); }) ==
             "[summarise] there are 12 numbers; expected 10 for 2 chains of 5 draws of 1 "
             "parameters");
  BOOST_TEST(error_text([&] { summarise(x, 4, 3, 1); }) ==
             "[summarise] there are 4 chains of 3 draws of 1 parameters; expected a chain of 4 "
             "draws or more");
}

BOOST_AUTO_TEST_SUITE_END()
