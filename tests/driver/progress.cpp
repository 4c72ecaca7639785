#include "driver/progress.hpp"

#include <boost/test/unit_test.hpp>

namespace whorl::driver {

BOOST_AUTO_TEST_SUITE(progress)

BOOST_AUTO_TEST_CASE(the_text_tells_share_time_left_and_speed) {
  BOOST_TEST(progress_text(4500, 10000, 0.5, "steps") == "45%  1 s left  9,000 steps/s");
  BOOST_TEST(progress_text(1, 3, 2, "updates") == "33%  4 s left  0.5 updates/s");
  BOOST_TEST(progress_text(999, 1000, 1e-3, "steps") == "99%  1 s left  999,000 steps/s");
  BOOST_TEST(progress_text(0, 1000, 0, "steps") == "0%  ? left  0 steps/s");
  BOOST_TEST(progress_text(10, 10, 1, "steps") == "100%  0 s left  10 steps/s");
}

BOOST_AUTO_TEST_CASE(the_bar_grows_and_keeps_its_width) {
  BOOST_TEST(progress_bar(0, 10, 5) == "[>    ]");
  BOOST_TEST(progress_bar(5, 10, 5) == "[==>  ]");
  BOOST_TEST(progress_bar(9, 10, 5) == "[====>]");
  BOOST_TEST(progress_bar(10, 10, 5) == "[=====]");
}

BOOST_AUTO_TEST_CASE(durations_have_two_units) {
  BOOST_TEST(duration_text(0.2) == "1 s");
  BOOST_TEST(duration_text(59.5) == "1 min 0 s");
  BOOST_TEST(duration_text(125) == "2 min 5 s");
  BOOST_TEST(duration_text(12000) == "3 h 20 min");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::driver
