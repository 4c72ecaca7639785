// The probability of frames, against plain sums of a few of them.
#include "diagnostics/predictive_density.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "errors.hpp"

namespace whorl {

namespace {

using boost::test_tools::tolerance;
using testing::error_text;

// Sequences of 3, 1 and 2 frames.
const std::vector<std::int64_t> starts{0, 3, 4, 6};
const std::vector<double> first{1, 2, 3, 0.5, 0.25, 4}, second{2, 1, 1, 1.5, 0.75, 3};

double mean_loss(std::size_t frame) {
  return -std::log((std::exp(-first[frame]) + std::exp(-second[frame])) / 2);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(predictive_density)

BOOST_AUTO_TEST_CASE(probabilities_are_averaged_and_not_their_logarithms) {
  PredictiveDensity density(starts);
  density.add(std::span<const double>(first), 0);
  density.add(std::span<const double>(second), 0);
  const std::vector<double> losses = density.losses();
  for (std::size_t i = 0; i < losses.size(); ++i)
    BOOST_TEST(losses[i] == mean_loss(i), tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(the_three_rules_count_frames_each_in_its_way) {
  PredictiveDensity density(starts);
  density.add(std::span<const double>(first), 0);
  const SequenceScores scores = density.scores();
  BOOST_TEST(scores.sequences == 3);
  BOOST_TEST(scores.frames == 6);
  BOOST_TEST(scores.draws == 1);
  BOOST_TEST(scores.nll == 10.75 / 6, tolerance(1e-14));
  BOOST_TEST(scores.nll_after_first == (2 + 3 + 4) / 3.0, tolerance(1e-14));
  BOOST_TEST(scores.nll_by_sequence == (2 + 0.5 + 4.25 / 2) / 3, tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(frames_of_one_draw_may_come_in_parts_and_draws_in_groups) {
  PredictiveDensity whole(starts), parts(starts), other(starts);
  whole.add(std::span<const double>(first), 0);
  whole.add(std::span<const double>(second), 0);
  parts.add(std::span<const double>(first).subspan(4), 4);
  parts.add(std::span<const double>(first).first(4), 0);
  other.add(std::span<const double>(second), 0);
  parts.add(other);
  BOOST_TEST(parts.losses() == whole.losses(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(probabilities_that_no_double_holds_are_averaged) {
  PredictiveDensity density({0, 1});
  const auto add = [&](double loss) { density.add(std::span<const double>(&loss, 1), 0); };
  add(2000);
  add(2000);
  add(std::numeric_limits<double>::infinity());
  add(2001);
  BOOST_TEST(density.losses()[0] == 2000 - std::log((2 + std::exp(-1.0)) / 4), tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(a_draw_that_is_not_a_number_is_not_hidden) {
  PredictiveDensity density({0, 2});
  for (const auto& draw :
       {std::vector{1.0, 1.0}, std::vector{std::nan(""), 1.0}, std::vector{1.0, 1.0}})
    density.add(std::span<const double>(draw), 0);
  BOOST_TEST(std::isnan(density.scores().nll));
}

BOOST_AUTO_TEST_CASE(a_first_frame_that_nobody_expected_does_not_touch_the_others) {
  PredictiveDensity density({0, 3});
  const std::vector<double> draw{std::numeric_limits<double>::infinity(), 1, 2};
  density.add(std::span<const double>(draw), 0);
  const SequenceScores scores = density.scores();
  BOOST_TEST(scores.nll == std::numeric_limits<double>::infinity());
  BOOST_TEST(scores.nll_after_first == 1.5);
}

BOOST_AUTO_TEST_CASE(what_is_saved_goes_on_bit_for_bit) {
  PredictiveDensity whole(starts), half(starts);
  half.add(std::span<const double>(first), 0);
  whole.add(std::span<const double>(first), 0);
  whole.add(std::span<const double>(second), 0);
  PredictiveDensity loaded(starts);
  loaded.load(half.sums());
  loaded.add(std::span<const double>(second), 0);
  BOOST_TEST(loaded.losses() == whole.losses(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
  PredictiveDensity density(starts);
  const std::string order = "[density] expected sequences that begin at 0 and have a frame or more";
  BOOST_TEST(error_text([] { PredictiveDensity({0, 2, 2}); }) == order);
  BOOST_TEST(error_text([] { PredictiveDensity({1, 2}); }) == order);
  BOOST_TEST(error_text([] { PredictiveDensity({0}); }) == order);
  BOOST_TEST(error_text([&] { density.add(std::span<const double>(first), 1); }) ==
             "[density] frames 1 to 7 are given; there are 6");
  BOOST_TEST(error_text([&] { density.scores(); }) == "[density] there are no draws");
  BOOST_TEST(error_text([&] {
               density.add(PredictiveDensity({0, 6}));
             }) == "[density] the other one is of other sequences");
  BOOST_TEST(error_text([&] { density.load(std::vector<double>(3)); }) ==
             "[density] there are 3 numbers, expected 12");
  BOOST_TEST(error_text([&] { density.load(std::vector<double>(12, 0.5)); }) ==
             "[density] a frame has 0.5 draws, expected a count");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
