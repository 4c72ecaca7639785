// Temperatures over chains, and the rule by which they are judged.
#include "diagnostics/temperature.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

using namespace whorl;
using boost::test_tools::tolerance;

namespace {

std::string_view verdict(double estimate, std::optional<double> error, double expected = 1) {
  return to_string(temperature_verdict(estimate, error, expected));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(temperatures)

BOOST_AUTO_TEST_CASE(the_mean_over_chains_has_a_standard_error) {
  const Temperature found = temperature_of(std::vector<double>{0.9, 1.0, 1.1, 1.2}, 1);
  BOOST_TEST(found.estimate == 1.05, tolerance(1e-14));
  BOOST_TEST(*found.error == std::sqrt(0.05 / 3 / 4), tolerance(1e-14));
  BOOST_TEST(to_string(found.verdict) == "cannot tell");
  BOOST_TEST(!temperature_of(std::vector<double>{1.0, 1.1, 0.9}, 1).error);
}

BOOST_AUTO_TEST_CASE(the_rule_is_the_one_that_is_stated) {
  BOOST_TEST(verdict(1.04, 0.01) == "agrees");
  BOOST_TEST(verdict(0.96, 0.01) == "agrees");
  BOOST_TEST(verdict(1.04, 0.001) == "agrees");  // 40 errors, but near
  BOOST_TEST(verdict(1.0, 0.06) == "cannot tell");
  BOOST_TEST(verdict(1.10, 0.01) == "too hot");
  BOOST_TEST(verdict(0.90, 0.01) == "too cold");
  BOOST_TEST(verdict(1.10, 0.03) == "cannot tell");
  BOOST_TEST(verdict(1.26, 1.0) == "too hot");
  BOOST_TEST(verdict(0.74, std::nullopt) == "too cold");
  BOOST_TEST(verdict(1.24, std::nullopt) == "cannot tell");
  BOOST_TEST(verdict(1.0, std::nullopt) == "cannot tell");
  BOOST_TEST(verdict(0.104, 0.001, 0.1) == "agrees");
  BOOST_TEST(verdict(0.11, 0.001, 0.1) == "too hot");
}

BOOST_AUTO_TEST_CASE(numbers_that_are_not_finite_cannot_tell) {
  for (const std::vector<double>& means :
       {std::vector<double>{}, std::vector<double>{1, NAN}, std::vector<double>{1, INFINITY}}) {
    const Temperature found = temperature_of(means, 1);
    BOOST_TEST(std::isnan(found.estimate));
    BOOST_TEST(to_string(found.verdict) == "cannot tell");
  }
}

BOOST_AUTO_TEST_CASE(only_what_is_wrong_gets_advice) {
  BOOST_TEST(temperature_advice(TemperatureVerdict::agrees) == "");
  BOOST_TEST(temperature_advice(TemperatureVerdict::cannot_tell) == "");
  BOOST_TEST(!temperature_advice(TemperatureVerdict::too_hot).empty());
  BOOST_TEST(!temperature_advice(TemperatureVerdict::too_cold).empty());
}

BOOST_AUTO_TEST_SUITE_END()
