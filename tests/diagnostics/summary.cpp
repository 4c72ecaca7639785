// The summary of several chains: fixed ones, known ones, and chains that do not agree.
//
// The fixed chains are compared with reference/summary.py, plain formulas that share nothing with
// the code. Its numbers were compared with those of posterior 1.4.0 (R) and ArviZ 0.23.4 (Python):
// they agree to 4e-15, `far_away` to 4e-9 (neither centres it first), but for these:
//   - 12 draws a chain or fewer: how the sum over lags ends where there are hardly any lags is
//     different in all three; for 4 and 5 draws posterior, too, has no sizes, ArviZ has them;
//   - odd lengths: ArviZ folds about the median of the halves, posterior and we about that of all
//     draws (seen for 7 draws, below 1e-9 for 501);
//   - `binary`: where a quantile is the largest draw, ArviZ takes its indicator, which is constant,
//     for independent draws; posterior and we have no ess_tail;
//   - `one_chain`: ArviZ has no R-hat of a single chain;
//   - a symmetric parameter of two values: posterior has no R-hat, because all distances from the
//     median are equal; we have that of the ranks.
// coda 0.19.4 defines other numbers: its effectiveSize() fits an autoregression to each chain (125
// for `one_chain`, where ess_bulk is 140), its gelman.diag() neither splits nor ranks.
#include "diagnostics/summary.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/diagnostics/chains.hpp"
#include "tests/diagnostics/fixed_chains.hpp"
#include "tests/diagnostics/reference/summary_values.hpp"
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

// In the order of summary_values::Row.
std::vector<double> numbers_of(const ParameterSummary& s) {
  return {s.mean,
          s.sd,
          s.mcse,
          s.mcse_sd,
          s.quantiles[0],
          s.quantiles[1],
          s.quantiles[2],
          s.mcse_quantiles[0],
          s.mcse_quantiles[1],
          s.mcse_quantiles[2],
          s.rhat,
          s.ess_bulk,
          s.ess_tail};
}

ParameterSummary summary_of(const FixedChains& chains) {
  return summarise(chains.draws, chains.chains, chains.length, 1).front();
}

bool has_nothing(const ParameterSummary& s) {
  const std::vector<double> numbers = numbers_of(s);
  return std::all_of(numbers.begin(), numbers.end(), [](double v) { return std::isnan(v); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(summary)

BOOST_AUTO_TEST_CASE(fixed_chains_have_the_numbers_of_plain_formulas) {
  for (const summary_values::Row& row : summary_values::rows) {
    const std::vector<double> found = numbers_of(summary_of(fixed_chains(row.name)));
    for (std::size_t i = 0; i < row.values.size(); ++i)
      BOOST_TEST_CONTEXT(row.name << ", number " << i) {
        if (std::isnan(row.values[i]))
          BOOST_TEST(std::isnan(found[i]));
        else
          BOOST_TEST(found[i] == row.values[i], tolerance(1e-9));
      }
  }
}

BOOST_AUTO_TEST_CASE(chains_of_known_size_are_measured) {
  for (double phi : {-0.3, 0.0, 0.6, 0.95}) {
    const ParameterSummary found = summarise(chains_of(phi, 20, 20000, 1), 20, 20000, 1).front();
    const double size = 20 * 20000 * (1 - phi) / (1 + phi);
    BOOST_TEST(found.ess_bulk == size, tolerance(0.08));
    BOOST_TEST(found.sd == 1.0, tolerance(0.05));
    BOOST_TEST(found.mcse == 1 / std::sqrt(size), tolerance(0.08));
    BOOST_TEST(std::abs(found.mean) < 5.85 / std::sqrt(size));
    BOOST_TEST(found.rhat < 1.01);
    BOOST_TEST(found.rhat > 0.999);
    // The square of an AR(1) chain is one with phi^2; an sd of a normal law is known to
    // sd/sqrt(2n).
    const double of_squares = 20 * 20000 * (1 - phi * phi) / (1 + phi * phi);
    BOOST_TEST(found.mcse_sd == 1 / std::sqrt(2 * of_squares), tolerance(0.08));
  }
}

BOOST_AUTO_TEST_CASE(errors_of_quantiles_are_those_of_order_statistics) {
  // Of n independent draws, sqrt(p (1-p) / n) / density. It is taken from a few hundred draws.
  const ParameterSummary found = summarise(chains_of(0, 20, 20000, 5), 20, 20000, 1).front();
  const double z[3] = {-1.6448536269514722, 0, 1.6448536269514722};
  for (int k = 0; k < 3; ++k) {
    const double p = summary_probabilities[k], density = std::exp(-z[k] * z[k] / 2) * 0.3989422804;
    const double error = std::sqrt(p * (1 - p) / 400000) / density;
    BOOST_TEST(found.mcse_quantiles[k] == error, tolerance(0.25));
    BOOST_TEST(std::abs(found.quantiles[k] - z[k]) < 5.85 * error);
  }
}

BOOST_AUTO_TEST_CASE(chains_that_never_move_in_different_places_are_worth_next_to_nothing) {
  std::vector<double> x(2 * 1000, 0.1);
  for (int i = 1000; i < 2000; ++i) x[i] = 0.2;
  const ParameterSummary found = summarise(x, 2, 1000, 1).front();
  BOOST_TEST(found.ess_bulk < 2.1);
  BOOST_TEST(found.rhat == INFINITY);
}

BOOST_AUTO_TEST_CASE(chains_in_different_places_have_a_large_rhat_and_a_small_size) {
  std::vector<double> x = chains_of(0.2, 4, 1000, 3);
  for (int i = 0; i < 1000; ++i) x[i] += 5;
  const ParameterSummary found = summarise(x, 4, 1000, 1).front();
  BOOST_TEST(found.rhat > 1.5);
  BOOST_TEST(found.ess_bulk < 20.0);
}

BOOST_AUTO_TEST_CASE(a_chain_that_is_only_wider_shows) {
  std::vector<double> x = chains_of(0, 4, 1000, 3);
  for (int i = 0; i < 1000; ++i) x[i] *= 4;
  BOOST_TEST(summarise(x, 4, 1000, 1).front().rhat > 1.1);
}

BOOST_AUTO_TEST_CASE(a_drift_within_chains_shows) {
  std::vector<double> x = chains_of(0.0, 4, 1000, 3);
  for (int i = 0; i < 4000; ++i) x[i] += 0.005 * (i % 1000);
  BOOST_TEST(summarise(x, 4, 1000, 1).front().rhat > 1.4);
}

BOOST_AUTO_TEST_CASE(ranks_do_not_mind_what_scale_the_draws_are_on) {
  FixedChains chains = fixed_chains("correlated");
  const ParameterSummary plain = summary_of(chains);
  for (double& x : chains.draws) x = std::exp(x);
  const ParameterSummary stretched = summary_of(chains);
  BOOST_TEST(stretched.ess_bulk == plain.ess_bulk);
  BOOST_TEST(stretched.ess_tail == plain.ess_tail);
}

BOOST_AUTO_TEST_CASE(memory_that_was_used_before_changes_nothing) {
  Summariser used(4, 1000);
  for (const char* name : {"heavy_tails", "correlated", "independent", "heavy_tails"}) {
    const FixedChains chains = fixed_chains(name);
    BOOST_TEST(numbers_of(used(chains.draws)) == numbers_of(summary_of(chains)),
               boost::test_tools::per_element());
  }
  std::vector<double> broken = fixed_chains("correlated").draws;
  broken[17] = NAN;
  used(broken);
  const FixedChains chains = fixed_chains("correlated");
  BOOST_TEST(numbers_of(used(chains.draws)) == numbers_of(summary_of(chains)),
             boost::test_tools::per_element());
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
  BOOST_TEST(found[0].ess_bulk == summarise(a, 3, 501, 1).front().ess_bulk, tolerance(1e-4));
  BOOST_TEST(found[1].ess_bulk == summarise(b, 3, 501, 1).front().ess_bulk, tolerance(1e-4));
  BOOST_TEST(found[1].mean == 10.0, tolerance(0.1));
}

BOOST_AUTO_TEST_CASE(a_parameter_that_never_moves_has_a_mean_and_no_more) {
  for (int length : {4, 10, 11}) {
    const ParameterSummary found =
        summarise(std::vector<double>(4 * length, 0.1), 4, length, 1).front();
    BOOST_TEST(found.mean == 0.1);
    BOOST_TEST(found.sd == 0.0);
    for (double q : found.quantiles) BOOST_TEST(q == 0.1);
    for (double error : found.mcse_quantiles) BOOST_TEST(std::isnan(error));
    for (double v : {found.mcse, found.mcse_sd, found.rhat, found.ess_bulk, found.ess_tail})
      BOOST_TEST(std::isnan(v));
  }
}

BOOST_AUTO_TEST_CASE(draws_that_are_not_finite_have_no_summary) {
  for (double broken : {NAN, INFINITY, -INFINITY})
    for (std::size_t at : {0, 250, 1502}) {
      FixedChains chains = fixed_chains("odd_length");
      chains.draws[at] = broken;
      BOOST_TEST(has_nothing(summary_of(chains)));
    }
  BOOST_TEST(has_nothing(summarise(std::vector<double>{1e200, 0, -1e200, 1}, 1, 4, 1).front()));
}

BOOST_AUTO_TEST_CASE(two_values_that_are_equally_frequent_have_an_rhat) {
  FixedChains chains = walk(0, 4, 100, 5);
  for (std::size_t i = 0; i < 400; i += 2) {
    const bool up = chains.draws[i] > 0;
    chains.draws[i] = up ? 0.7 : 0.1;
    chains.draws[i + 1] = up ? 0.1 : 0.7;
  }
  const ParameterSummary found = summary_of(chains);
  BOOST_TEST(found.rhat == 1.0, tolerance(0.02));
  BOOST_TEST(found.ess_bulk > 100.0);
  BOOST_TEST(std::isnan(found.mcse_sd));
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
