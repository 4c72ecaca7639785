#include "samplers/schedule.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "errors.hpp"

namespace whorl {

using testing::error_text;

BOOST_AUTO_TEST_SUITE(schedule)

BOOST_AUTO_TEST_CASE(a_constant_stays) {
  const Schedule schedule = Schedule::constant(0.25);
  BOOST_TEST(schedule.at(0) == 0.25);
  BOOST_TEST(schedule.at(std::int64_t{1} << 40) == 0.25);
  BOOST_TEST(schedule.largest() == 0.25);
}

BOOST_AUTO_TEST_CASE(a_phase_holds_until_the_next_begins) {
  const Schedule schedule = Schedule::phases({{0, 0.5}, {120, 2}, {500, 1}});
  const std::vector<std::pair<std::int64_t, double>> values{{0, 0.5}, {119, 0.5}, {120, 2},
                                                            {499, 2}, {500, 1},   {9999, 1}};
  for (const auto& [step, value] : values) BOOST_TEST(schedule.at(step) == value);
  BOOST_TEST(schedule.largest() == 2);
}

BOOST_AUTO_TEST_CASE(a_polynomial_decays) {
  const Schedule schedule = Schedule::polynomial(3, 10, 0.55);
  for (std::int64_t t : {0, 1, 1000})
    BOOST_TEST(schedule.at(t) == 3 * std::pow(10 + static_cast<double>(t), -0.55));
  BOOST_TEST(schedule.largest() == schedule.at(0));
}

BOOST_AUTO_TEST_CASE(a_cycle_falls_as_a_cosine_and_begins_again) {
  const Schedule schedule = Schedule::cyclical(8, 2);
  for (std::int64_t t = 0; t < 24; ++t) {
    const double part = static_cast<double>(t % 8) / 8;
    BOOST_TEST(std::abs(schedule.at(t) - (1 + std::cos(std::numbers::pi * part))) < 1e-15);
  }
  BOOST_TEST(schedule.largest() == 2);
  const std::int64_t period = 1'000'000'000;
  BOOST_TEST(Schedule::cyclical(period, 1).at(period - 1) > 0);
}

BOOST_AUTO_TEST_CASE(numbers_that_make_no_step_are_refused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const auto constant = [](double value) { return error_text([=] { Schedule::constant(value); }); };
  BOOST_TEST(constant(0) == "[schedule] a step size must be positive and finite: 0");
  BOOST_TEST(constant(-0.5) == "[schedule] a step size must be positive and finite: -0.5");
  BOOST_TEST(constant(nan) == "[schedule] a step size must be positive and finite: nan");
  BOOST_TEST(constant(inf) == "[schedule] a step size must be positive and finite: inf");

  const auto phases = [](std::vector<Schedule::Phase> list) {
    return error_text([&] { Schedule::phases(list); });
  };
  BOOST_TEST(phases({}) == "[schedule] the first phase must begin at step 0: there is none");
  BOOST_TEST(phases({{5, 1}}) == "[schedule] the first phase must begin at step 0: 5");
  BOOST_TEST(phases({{0, 1}, {7, 2}, {7, 3}}) ==
             "[schedule] phases must be in order of their steps: 7 after 7");
  BOOST_TEST(phases({{0, 1}, {7, -2}}) == "[schedule] a step size must be positive and finite: -2");

  const auto polynomial = [](double a, double b, double gamma) {
    return error_text([=] { Schedule::polynomial(a, b, gamma); });
  };
  BOOST_TEST(polynomial(0, 1, 0.5) == "[schedule] a step size must be positive and finite: 0");
  BOOST_TEST(polynomial(1, 0, 0.5) ==
             "[schedule] b of a (b + t)^-gamma must be positive and finite: 0");
  BOOST_TEST(polynomial(1, 1, 1.5) ==
             "[schedule] gamma of a (b + t)^-gamma must be in [0, 1]: 1.5");
  BOOST_TEST(polynomial(1e300, 1e-300, 1) ==
             "[schedule] a step size must be positive and finite: inf");

  const auto cyclical = [](std::int64_t period, double high) {
    return error_text([=] { Schedule::cyclical(period, high); });
  };
  BOOST_TEST(cyclical(0, 1) == "[schedule] the period of a cycle must be positive: 0");
  BOOST_TEST(cyclical(5, nan) == "[schedule] a step size must be positive and finite: nan");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
