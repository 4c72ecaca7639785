// scores.json: written and read back, and what is said of one that is damaged.
#include "driver/scores_file.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>

#include "driver/run_record.hpp"
#include "fake_run.hpp"
#include "scratch.hpp"
#include "tests/support/errors.hpp"

using namespace whorl;
using namespace whorl::driver;
using namespace whorl::testing;

namespace {

RunScores some_scores() {
  PredictiveMean mean(4, 3);
  mean.add(std::vector<double>{2, 1, 0, 0, 0, 0, -1, 5, 0.1, 0, 0, 3});
  mean.add(std::vector<double>{1, 1, 0, 0, 2, 0, -1, 5, 0.3, 1, 0, 3});
  RunScores scores{1200, {{"test", "current", mean.scores(std::vector{0, 1, 1, 0})}}};
  scores.ensembles.push_back({"validation", "average", mean.scores(std::vector{1, 1, 1, 2})});
  return scores;
}

struct Fixture {
  Scratch directory;
  std::string error_of(const std::string& text) const {
    directory.write("scores.json", text);
    const std::string found = error_text([&] { load_scores(directory / "scores.json"); });
    const std::string begin = "[load] " + directory.path() + "/scores.json: ";
    BOOST_TEST(found.starts_with(begin), found);
    return found.substr(std::min(begin.size(), found.size()));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(scores_file, Fixture)

BOOST_AUTO_TEST_CASE(what_is_written_is_read_back) {
  const RunScores scores = some_scores();
  const std::string text = to_json(scores);
  directory.write("scores.json", text);
  const RunScores found = load_scores(directory / "scores.json");
  BOOST_TEST(found.step == 1200);
  BOOST_TEST_REQUIRE(found.ensembles.size() == 2u);
  BOOST_TEST(found.ensembles[1].data == "validation");
  BOOST_TEST(found.ensembles[1].ensemble == "average");
  for (std::size_t i = 0; i < 2; ++i) {
    const ClassificationScores &a = scores.ensembles[i].scores, &b = found.ensembles[i].scores;
    BOOST_TEST(a.rows == b.rows);
    BOOST_TEST(a.draws == b.draws);
    BOOST_TEST(a.nll_sum == b.nll_sum);
    BOOST_TEST(a.brier == b.brier);
    BOOST_TEST(a.ece == b.ece);
    BOOST_TEST(a.epistemic == b.epistemic);
    for (std::size_t bin = 0; bin < a.calibration.size(); ++bin) {
      BOOST_TEST(a.calibration[bin].count == b.calibration[bin].count);
      BOOST_TEST(a.calibration[bin].confidence == b.calibration[bin].confidence);
      BOOST_TEST(a.calibration[bin].accuracy == b.calibration[bin].accuracy);
    }
  }
  BOOST_TEST(to_json(found) == text);
}

BOOST_AUTO_TEST_CASE(numbers_that_are_not_finite_are_null) {
  RunScores scores = some_scores();
  scores.ensembles[0].scores.nll = NAN;
  const std::string text = to_json(scores);
  BOOST_TEST(text.find("\"nll\": null") != std::string::npos);
  directory.write("scores.json", text);
  BOOST_TEST(std::isnan(load_scores(directory / "scores.json").ensembles[0].scores.nll));
}

BOOST_AUTO_TEST_CASE(runs_have_the_scores_of_their_directory) {
  good_run().write(directory / "run");
  BOOST_TEST(!load_run(directory / "run").scores);
  directory.write("run/scores.json", to_json(some_scores()));
  BOOST_TEST(load_run(directory / "run").scores->step == 1200);
}

BOOST_AUTO_TEST_CASE(what_is_damaged_is_named) {
  BOOST_TEST(error_of("") == "the file is no JSON");
  BOOST_TEST(error_of("{\"step\": 1") == "the file is no JSON");
  BOOST_TEST(error_of("[]") == "there is no 'step'");
  BOOST_TEST(error_of("{\"step\": -1}") == "no count is 'step'");
  BOOST_TEST(error_of("{\"step\": 1e99}") == "no count is 'step'");
  BOOST_TEST(error_of("{\"step\": 1, \"ensembles\": {}}") == "no list is 'ensembles'");
  BOOST_TEST(error_of("{\"step\": 1, \"ensembles\": [3]}") == "there is no 'data'");
  const std::string text = to_json(some_scores());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    return error_of(changed.replace(changed.find(from), from.size(), to));
  };
  BOOST_TEST(with("\"test\"", "7") == "no text is 'data'");
  BOOST_TEST(with("\"brier\": ", "\"brier\": \"x\", \"other\": ") == "no number is 'brier'");
  BOOST_TEST(with("\"count\": ", "\"counts\": ") == "there is no 'count'");
  BOOST_TEST(with("\"bins\": [", "\"bins\": [], \"others\": [") == "15 of them are not in 'bins'");
}

BOOST_AUTO_TEST_SUITE_END()
