// Scores of predicted classes: by hand, against plain formulas, and where calibration is known.
#include "diagnostics/classification.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>
#include <random>

#include "tests/support/errors.hpp"

using namespace whorl;
using namespace whorl::testing;
using boost::test_tools::tolerance;

namespace {

using Numbers = std::vector<double>;
using Labels = std::vector<std::int32_t>;

// Logits of probabilities, with a shift that must not matter.
Numbers logits_of(Numbers probabilities, double shift = 0) {
  for (double& p : probabilities) p = std::log(p) + shift;
  return probabilities;
}

ClassificationScores scores_of(std::int64_t columns, const std::vector<Numbers>& draws,
                               const Labels& labels) {
  PredictiveMean mean(static_cast<std::int64_t>(labels.size()), columns);
  for (const Numbers& draw : draws) mean.add(draw);
  return mean.scores(labels);
}

double entropy(const Numbers& p) {
  double sum = 0;
  for (double v : p) sum -= v > 0 ? v * std::log(v) : 0;
  return sum;
}

Numbers softmax(const Numbers& x) {
  Numbers p(x.size());
  double total = 0;
  for (double v : x) total += std::exp(v);
  for (std::size_t i = 0; i < x.size(); ++i) p[i] = std::exp(x[i]) / total;
  return p;
}

Numbers normals(std::int64_t size, double sd, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal(0, sd);
  Numbers x(static_cast<std::size_t>(size));
  for (double& v : x) v = normal(engine);
  return x;
}

// Every number by its definition, row by row.
ClassificationScores plain_scores(std::size_t classes, const std::vector<Numbers>& draws,
                                  const Labels& labels) {
  ClassificationScores s;
  const double rows = static_cast<double>(labels.size()), n = static_cast<double>(draws.size());
  for (std::size_t row = 0; row < labels.size(); ++row) {
    Numbers mean(classes);
    for (const Numbers& draw : draws) {
      const auto at = draw.begin() + static_cast<std::ptrdiff_t>(row * classes);
      const Numbers p = softmax({at, at + static_cast<std::ptrdiff_t>(classes)});
      for (std::size_t c = 0; c < classes; ++c) mean[c] += p[c] / n;
      s.aleatoric += entropy(p) / n / rows;
    }
    const auto label = static_cast<std::size_t>(labels[row]);
    const auto top =
        static_cast<std::size_t>(std::max_element(mean.begin(), mean.end()) - mean.begin());
    s.error += (top != label) / rows;
    s.nll_sum -= std::log(mean[label]);
    for (std::size_t c = 0; c < classes; ++c) s.brier += std::pow(mean[c] - (c == label), 2) / rows;
    s.entropy += entropy(mean) / rows;
    for (std::size_t b = 0; b < 15; ++b)
      if (mean[top] > static_cast<double>(b) / 15 && mean[top] <= static_cast<double>(b + 1) / 15) {
        ++s.calibration[b].count;
        s.calibration[b].confidence += mean[top];
        s.calibration[b].accuracy += top == label;
      }
  }
  for (const CalibrationBin& bin : s.calibration)
    s.ece += std::abs(bin.accuracy - bin.confidence) / rows;
  s.nll = s.nll_sum / rows;
  s.epistemic = s.entropy - s.aleatoric;
  return s;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(classification)

BOOST_AUTO_TEST_CASE(two_draws_of_two_rows_are_as_by_hand) {
  // The mean is 0.5 0.3 0.2 and 0.2 0.2 0.6.
  const ClassificationScores found = scores_of(3,
                                               {logits_of({0.7, 0.2, 0.1, 0.1, 0.1, 0.8}, 5),
                                                logits_of({0.3, 0.4, 0.3, 0.3, 0.3, 0.4}, -900)},
                                               {1, 2});
  BOOST_TEST(found.rows == 2);
  BOOST_TEST(found.draws == 2);
  BOOST_TEST(found.error == 0.5);
  BOOST_TEST(found.nll_sum == -std::log(0.3) - std::log(0.6), tolerance(1e-13));
  BOOST_TEST(found.nll == found.nll_sum / 2);
  BOOST_TEST(found.brier == (0.25 + 0.49 + 0.04 + 0.04 + 0.04 + 0.16) / 2, tolerance(1e-13));
  BOOST_TEST(found.entropy == (entropy({0.5, 0.3, 0.2}) + entropy({0.2, 0.2, 0.6})) / 2,
             tolerance(1e-13));
  BOOST_TEST(
      found.aleatoric ==
          (entropy({0.7, 0.2, 0.1}) + entropy({0.1, 0.1, 0.8}) + 2 * entropy({0.3, 0.4, 0.3})) / 4,
      tolerance(1e-12));
  BOOST_TEST(found.epistemic == found.entropy - found.aleatoric);
  // Confidences 0.5, wrong, and 0.6, right, in the bins (7/15, 8/15] and (8/15, 9/15].
  BOOST_TEST(found.ece == (0.5 + 0.4) / 2, tolerance(1e-13));
  BOOST_TEST(found.calibration[7].count == 1);
  BOOST_TEST(found.calibration[7].confidence == 0.5, tolerance(1e-13));
  BOOST_TEST(found.calibration[7].accuracy == 0.0);
  BOOST_TEST(found.calibration[8].accuracy + found.calibration[9].accuracy == 1.0);
}

BOOST_AUTO_TEST_CASE(many_rows_are_as_by_plain_formulas) {
  for (std::size_t classes : {2u, 3u, 10u, 1500u}) {
    const std::size_t rows = classes > 100 ? 3 : 500;
    std::vector<Numbers> draws;
    for (unsigned d = 0; d < 4; ++d)
      draws.push_back(normals(static_cast<std::int64_t>(rows * classes), 4, d));
    Labels labels(rows);
    for (std::size_t i = 0; i < rows; ++i) labels[i] = static_cast<std::int32_t>(i * 7 % classes);
    const ClassificationScores found = scores_of(static_cast<std::int64_t>(classes), draws, labels);
    const ClassificationScores plain = plain_scores(classes, draws, labels);
    BOOST_TEST(found.error == plain.error, tolerance(1e-12));
    BOOST_TEST(found.nll == plain.nll, tolerance(1e-12));
    BOOST_TEST(found.brier == plain.brier, tolerance(1e-12));
    BOOST_TEST(found.ece == plain.ece, tolerance(1e-11));
    BOOST_TEST(found.entropy == plain.entropy, tolerance(1e-12));
    BOOST_TEST(found.aleatoric == plain.aleatoric, tolerance(1e-12));
    BOOST_TEST(found.epistemic == plain.epistemic, tolerance(1e-11));
    for (std::size_t b = 0; b < 15; ++b)
      BOOST_TEST(found.calibration[b].count == plain.calibration[b].count);
  }
}

BOOST_AUTO_TEST_CASE(labels_of_the_predicted_law_are_calibrated) {
  constexpr std::int64_t rows = 20'000;
  const Numbers draw = normals(rows * 5, 2, 1);
  std::mt19937 engine(2);
  Labels right;
  for (std::int64_t i = 0; i < rows; ++i) {
    const Numbers p = softmax({draw.begin() + i * 5, draw.begin() + i * 5 + 5});
    right.push_back(std::discrete_distribution<std::int32_t>(p.begin(), p.end())(engine));
  }
  const ClassificationScores calibrated = scores_of(5, {draw}, right);
  BOOST_TEST(calibrated.ece < 0.02);
  BOOST_TEST(calibrated.nll == calibrated.entropy, tolerance(0.02));
  Numbers doubled = draw;
  for (double& v : doubled) v *= 2;
  BOOST_TEST(scores_of(5, {doubled}, right).ece > 0.1);
}

BOOST_AUTO_TEST_CASE(confidences_on_an_edge_belong_to_the_bin_below) {
  const ClassificationScores found = scores_of(2, {{0, 0, 800, 0}}, {0, 0});
  BOOST_TEST(found.calibration[7].count == 1);   // 1/2, in (7/15, 8/15]
  BOOST_TEST(found.calibration[14].count == 1);  // 1
  BOOST_TEST(found.calibration[14].confidence == 1.0);
  BOOST_TEST(found.ece == 0.25);
  for (std::size_t b : {0u, 6u, 8u, 13u}) {
    BOOST_TEST(found.calibration[b].count == 0);
    BOOST_TEST(found.calibration[b].confidence == 0.0);
    BOOST_TEST(found.calibration[b].accuracy == 0.0);
  }
}

BOOST_AUTO_TEST_CASE(of_equal_classes_the_lowest_wins) {
  BOOST_TEST(scores_of(3, {{0, 1, 1}}, {1}).error == 0.0);
  BOOST_TEST(scores_of(3, {{0, 1, 1}}, {2}).error == 1.0);
  BOOST_TEST(scores_of(1, {{0}}, {0}).error == 0.0);
}

BOOST_AUTO_TEST_CASE(a_single_column_is_the_logit_of_class_one) {
  const ClassificationScores one = scores_of(1, {{2, -1, 0.5}, {1, -3, 800}}, {1, 0, 0});
  const ClassificationScores two =
      scores_of(2, {{0, 2, 0, -1, 0, 0.5}, {0, 1, 0, -3, 0, 800}}, {1, 0, 0});
  BOOST_TEST(one.nll_sum == two.nll_sum);
  BOOST_TEST(one.error == two.error);
  BOOST_TEST(one.brier == two.brier);
  BOOST_TEST(one.epistemic == two.epistemic);
  BOOST_TEST(scores_of(1, {{2}}, {1}).nll == std::log1p(std::exp(-2)), tolerance(1e-13));
  BOOST_TEST(PredictiveMean(3, 1).classes() == 2);
}

BOOST_AUTO_TEST_CASE(small_probabilities_keep_their_digits) {
  for (double x : {0.0, 1.0, 20.0, 690.0, 707.9}) {
    const ClassificationScores found = scores_of(2, {{0, -x}}, {1});
    BOOST_TEST(found.nll == x + std::log1p(std::exp(-x)), tolerance(1e-15));
    BOOST_TEST(found.floored == 0);
  }
  PredictiveMean mean(1, 2);
  mean.add(std::vector<float>{300.0f, -391.0f});  // far below what a float's exp can be
  BOOST_TEST(mean.scores(Labels{1}).nll == 691.0, tolerance(1e-15));
}

BOOST_AUTO_TEST_CASE(what_no_draw_allows_is_counted_and_finite) {
  const ClassificationScores found = scores_of(2, {{0, -1e6, 0, 0}, {0, -INFINITY, 0, 0}}, {1, 0});
  BOOST_TEST(found.floored == 1);
  BOOST_TEST(found.nll_sum == -std::log(std::numeric_limits<double>::min()) + std::log(2),
             tolerance(1e-14));
  // One draw that allows it is enough.
  BOOST_TEST(scores_of(2, {{0, -1e6}, {0, 0}}, {1}).nll == std::log(4), tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(draws_that_agree_know_all_that_can_be_known) {
  const Numbers draw = normals(60, 3, 4);
  const Labels labels(20, 0);
  const ClassificationScores found = scores_of(3, {draw, draw, draw}, labels);
  BOOST_TEST(found.epistemic < 1e-14);
  BOOST_TEST(found.epistemic >= 0.0);
  // Two that are sure of different things know nothing.
  const ClassificationScores torn = scores_of(2, {{0, 800}, {800, 0}}, {0});
  BOOST_TEST(torn.aleatoric == 0.0);
  BOOST_TEST(torn.epistemic == std::log(2), tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(parts_of_rows_sums_and_saved_sums_are_the_same_bits) {
  const Numbers a = normals(40 * 3, 2, 1), b = normals(40 * 3, 2, 2);
  const Labels labels(40, 2);
  PredictiveMean whole(40, 3), parts(40, 3), merged(40, 3), loaded(40, 3), second(40, 3);
  whole.add(a);
  whole.add(b);
  parts.add(std::span(a).subspan(30), 10);
  parts.add(std::span(a).first(30));
  BOOST_TEST(parts.draws() == 1);
  loaded.load(parts.sums());
  loaded.add(b);
  merged.add(parts);
  second.add(b);
  merged.add(second);
  for (const PredictiveMean* other : {&loaded, &merged}) {
    BOOST_TEST(std::equal(whole.sums().begin(), whole.sums().end(), other->sums().begin()));
    BOOST_TEST(other->scores(labels).nll_sum == whole.scores(labels).nll_sum);
  }
  const Numbers p = whole.probabilities();
  BOOST_TEST(p.size() == 120u);
  BOOST_TEST(std::accumulate(p.begin(), p.end(), 0.0) == 40.0, tolerance(1e-14));
  whole.clear();
  BOOST_TEST(whole.draws() == 0);
}

BOOST_AUTO_TEST_CASE(draws_that_are_not_finite_have_no_scores) {
  for (double bad : {std::nan(""), static_cast<double>(INFINITY)})
    for (std::size_t at : {0u, 1u, 5u}) {
      Numbers draw{0, 1, 2, 3, 4, 5};
      draw[at] = bad;
      const ClassificationScores found = scores_of(3, {draw, {0, 1, 2, 3, 4, 5}}, {0, 1});
      BOOST_TEST(std::isnan(found.error));
      BOOST_TEST(std::isnan(found.nll));
      BOOST_TEST(std::isnan(found.ece));
      BOOST_TEST(std::isnan(found.epistemic));
    }
  BOOST_TEST(std::isnan(scores_of(2, {{-INFINITY, -INFINITY}}, {0}).nll));
  // Whatever a file that was read back holds.
  PredictiveMean mean(1, 2);
  for (double bad : {std::nan(""), static_cast<double>(INFINITY), 1e300}) {
    mean.load(Numbers{0.5, bad, 0.1, 1});
    BOOST_TEST(!(mean.scores(Labels{1}).brier < 2));
  }
}

BOOST_AUTO_TEST_CASE(numbers_that_do_not_fit_are_refused) {
  PredictiveMean mean(2, 3);
  const Labels labels{0, 1};
  BOOST_TEST(error_text([] { PredictiveMean(0, 3); }) ==
             "[classification] there are 0 rows of 3 columns; expected 1 or more");
  BOOST_TEST(error_text([&] { mean.add(Numbers(5)); }) ==
             "[classification] 5 logits from row 0 on do not fit; expected rows of 3, up to row 2");
  BOOST_TEST(error_text([&] { mean.add(Numbers(6), 1); }) ==
             "[classification] 6 logits from row 1 on do not fit; expected rows of 3, up to row 2");
  mean.add(Numbers(3), 1);
  BOOST_TEST(error_text([&] { mean.scores(labels); }) ==
             "[classification] row 0 has 0 draws and row 1 has 1; expected as many for each row, 1 "
             "or more");
  mean.add(Numbers(3), 0);
  BOOST_TEST(error_text([&] {
               mean.scores(Labels{0, 3});
             }) == "[classification] the label of row 1 is 3; expected a class from 0 to 2");
  BOOST_TEST(error_text([&] { mean.scores(Labels{0}); }) ==
             "[classification] there are 1 labels for 2 rows");
  BOOST_TEST(error_text([&] { mean.add(PredictiveMean(3, 2)); }) ==
             "[classification] a mean of 3 rows of 2 columns does not fit one of 2 rows of 3");
  BOOST_TEST(error_text([&] { mean.load(Numbers(4)); }) ==
             "[classification] there are 4 sums for 2 rows of 3 columns; expected 10");
  BOOST_TEST(error_text([&] { mean.load(Numbers(10, 0.5)); }) ==
             "[classification] the draws of a row are not a count");
}

BOOST_AUTO_TEST_SUITE_END()
