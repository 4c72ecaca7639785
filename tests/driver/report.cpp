// whorl report, through the program: what a page has for which run, and what is said when it cannot
// be made.
#include <fmt/format.h>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <sstream>

#include "driver/scores_file.hpp"
#include "program.hpp"

using namespace whorl;
using namespace whorl::testing;

namespace {

namespace fs = std::filesystem;

const char* const gaussian = R"(format_version: 1
experiment: "plane & <simple>"
targets { gaussian { dimension: 3 mean: 1 covariance: [2, 1, 0, 1, 2, 0, 0, 0, 1] } }
sampler { name: "sghmc" settings { name: "friction" value: 1 } }
run {
  chains: 4 steps: 1000 burn_in: 200 seed: 1
  step_size { constant: 0.1 }
  position { normal { mean: 0 sd: 1 } }
}
published {
  sampler: "Someone's" quantity: "kl" value: 0.125 spread: 0.01 step: 500 source: "a <paper>"
}
)";

const char* const training = R"(format_version: 1
experiment: "small"
targets { gaussian { dimension: 2 mean: 0 diagonal: 1 seed: 1 } gradient_noise: 1 }
training {
  start {
    curl { hidden: 4 }
    diffusion { hidden: 4 transform: "softplus" low: 0 high: 5 }
    beta: 1
  }
  epochs: 3 rollouts: 2 steps: 10 truncate: 5
  cross_chain { every: 2 }
  chains: 8 step_size: 0.05 seed: 1
}
)";

// The whole page is XML, too.
void check_page(const std::string& page) {
  std::istringstream stream(page);
  boost::property_tree::ptree tree;
  BOOST_CHECK_NO_THROW(boost::property_tree::read_xml(stream, tree));
  BOOST_TEST(page.starts_with("<!DOCTYPE html>"));
  for (const char* word : {"<script", "http://", "https://", "=\"nan", "Mnan", "Lnan", " nan "})
    BOOST_CHECK_MESSAGE(page.find(word) == std::string::npos, word << " is in the page");
}

bool has(const std::string& page, std::string_view text) {
  return page.find(text) != std::string::npos;
}

std::string sections(const std::string& page) {
  std::string found;
  constexpr std::string_view begin = "<section id=\"";
  for (std::size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at + 1)) {
    const std::size_t first = at + begin.size();
    found += (found.empty() ? "" : " ") + page.substr(first, page.find('"', first) - first);
  }
  return found;
}

struct Reports : Program {
  Reports() { directory.write("g.pbtxt", gaussian); }
  // A run of `sample`, and what is said of it is not asked for.
  void sample(const std::string& words) const {
    const Outcome outcome = (*this)("sample " + words + " --quiet");
    BOOST_REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  }
  std::string report(const std::string& words, const std::string& file) const {
    const Outcome outcome = (*this)("report " + words);
    BOOST_REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    BOOST_TEST(outcome.out == "wrote " + file + "\n");
    std::string page = directory.read(file);
    check_page(page);
    return page;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(report)

BOOST_AUTO_TEST_CASE(a_run_has_a_page_in_its_own_directory) {
  const Reports program;
  program.sample("g.pbtxt --out run");
  const std::string page = program.report("run", "run/report.html");
  BOOST_TEST(sections(page) == "curves draws trajectories provenance");
  BOOST_TEST(has(page, "<h1>plane &amp; &lt;simple&gt;</h1>"));
  BOOST_TEST(has(page, "worst R-hat"));
  BOOST_TEST(has(page, "done, 1,000 steps"));
  BOOST_TEST(has(page, "no chain diverged"));
  BOOST_TEST(has(page, "trace of theta["));
  BOOST_TEST(has(page, "trace of log joint density"));
  BOOST_TEST(has(page, "the exact density"));
  BOOST_TEST(has(page, "whorl sample run/config.pbtxt --out NEW_DIRECTORY"));
  BOOST_TEST(!has(page, "whorl resume"));
}

BOOST_AUTO_TEST_CASE(published_values_stand_beside_ours) {
  const Reports program;
  program.sample("g.pbtxt --out run");
  const std::string page = program.report("run", "run/report.html");
  BOOST_TEST(has(page, "<tr class=\"published\"><th scope=\"row\">published</th>"));
  BOOST_TEST(has(page, "<td title=\"a &lt;paper&gt;\">0.125</td>"));
  BOOST_TEST(has(page, "0.125 \u00b1 0.01 after 500 steps. a &lt;paper&gt;"));
  BOOST_TEST(
      has(page, "class=\"mark\"><title>Someone&#39;s, published: 0.125 at 500; a &lt;paper"));
}

BOOST_AUTO_TEST_CASE(several_runs_are_compared_on_one_page) {
  const Reports program;
  program.sample("g.pbtxt --out a/run");
  program.sample("g.pbtxt --sampler sgld --out b/run");
  const std::string page = program.report("a/run b/run", "report.html");
  BOOST_TEST(has(page, "a/run: SGHMC"));
  BOOST_TEST(has(page, "b/run: SGLD"));
  BOOST_TEST(has(page, "class=\"best\""));
  BOOST_TEST(has(page, "A report on 2 runs"));
  program.report("a/run b/run -o both.html", "both.html");
  BOOST_TEST(program("report a/run b/run --quiet -o quiet.html").out == "");
}

BOOST_AUTO_TEST_CASE(seeds_share_a_colour_and_have_a_mean) {
  const Reports program;
  program.sample("g.pbtxt --seeds 1..3 --out runs/a");
  program.sample("g.pbtxt --sampler sgld --seeds 1,2 --out runs/b");
  const std::string page = program.report("runs", "runs/report.html");
  BOOST_TEST(has(page, "A report on 5 runs"));
  BOOST_TEST(has(page, "Thin: every run. Thick: the mean over runs"));
  BOOST_TEST(has(page, "class=\"label c0\">SGHMC (3 seeds)</text>"));
  BOOST_TEST(has(page, "class=\"label c1\">SGLD (2 seeds)</text>"));
  BOOST_TEST(has(page, "<span class=\"key c1\"></span>b/seed-2</th>"));
  BOOST_TEST(!has(page, "class=\"key c2\""));
  BOOST_TEST(has(page, "Means over seeds"));
  BOOST_TEST(has(page, "<span class=\"key c0\"></span>SGHMC</th><td>3</td><td>500</td>"));
  BOOST_TEST(has(page,
                 "Someone&#39;s</th><td>published</td><td>500</td>"
                 "<td title=\"a &lt;paper&gt;\">0.125 \u00b1 0.010</td>"));
  // Alone, a run has neither.
  const std::string alone = program.report("runs/a/seed-1", "runs/a/seed-1/report.html");
  BOOST_TEST(!has(alone, "Means over seeds"));
  BOOST_TEST(!has(alone, "Thick: "));
}

BOOST_AUTO_TEST_CASE(errors_and_likelihoods_have_curves) {
  const Reports program;
  program.sample("g.pbtxt --out run");
  std::string metrics;
  for (int step = 100; step <= 1000; step += 100)
    metrics += fmt::format(
        "{{\"step\": {}, \"error\": {}, \"nll\": {}, \"nll_sum\": {}, "
        "\"validation_average_error\": 0.5}}\n",
        step, 10.0 / step, 2.0 / step, 2e4 / step);
  program.directory.write("run/metrics.jsonl", metrics);
  const std::string page = program.report("run", "run/report.html");
  for (const char* text : {"<h4>Test error</h4>", "<h4>Test negative log likelihood</h4>",
                           "<h4>Validation error, posterior average</h4>", "share that is wrong",
                           "nats, all data together"})
    BOOST_TEST(has(page, text), text << " is missing");
  BOOST_TEST(!has(page, "nats for each datum"));
}

BOOST_AUTO_TEST_CASE(predictions_are_judged_where_there_are_scores) {
  const Reports program;
  PredictiveMean mean(3, 2);
  mean.add(std::vector<double>{3, 0, 0, 1, 0, 0});
  const ClassificationScores scores = mean.scores(std::vector{0, 1, 1});
  const driver::RunScores both{1000, {{"test", "current", scores}, {"test", "average", scores}}};
  program.sample("g.pbtxt --seeds 1,2 --out runs");
  BOOST_TEST(!has(program.report("runs", "runs/report.html"), "id=\"calibration\""));
  for (const char* run : {"runs/seed-1", "runs/seed-2"})
    program.directory.write(std::string(run) + "/scores.json", to_json(both));
  std::string page = program.report("runs", "runs/report.html");
  BOOST_TEST(sections(page) == "curves calibration draws trajectories provenance");
  BOOST_TEST(has(page, "<a href=\"#calibration\">Predictions</a>"));
  BOOST_TEST(has(page, "<h4>Reliability: all chains at the last step, test data</h4>"));
  BOOST_TEST(has(page, "<h4>Confidence: the posterior average, test data</h4>"));
  BOOST_TEST(has(page, "SGHMC (2 seeds)</th><td>0.33333 \u00b1 0</td>"));
  // The data of both runs are in the bins.
  BOOST_TEST(has(page, "<td>0.467 to 0.533</td><td>2</td><td>0.5000</td><td>0.0000</td>"));
  BOOST_TEST(!has(page, "got no probability"));
  page = program.report("runs/seed-1", "runs/seed-1/report.html");
  BOOST_TEST(has(page, "<td>0.3333</td>"));
  program.directory.write("runs/seed-1/scores.json", "{}");
  BOOST_TEST(program.error("report runs/seed-1") ==
             "4: [load] runs/seed-1/scores.json: there is no 'step'");
}

BOOST_AUTO_TEST_CASE(runs_on_other_targets_are_not_compared) {
  const Reports program;
  std::string other = gaussian;
  other.replace(other.find("mean: 1"), 7, "mean: 2");
  program.directory.write("h.pbtxt", other);
  program.sample("g.pbtxt --out a");
  program.sample("h.pbtxt --out b");
  const std::string page = program.report("a b", "report.html");
  BOOST_TEST(has(page, "The runs are not on the same target"));
  BOOST_TEST(!has(page, "class=\"best\""));
}

BOOST_AUTO_TEST_CASE(the_banana_is_drawn_with_its_trajectories) {
  const Reports program;
  const std::string banana =
      (fs::path(WHORL_SOURCE_DIR) / "graphs" / "energies" / "banana.pbtxt").string();
  program.sample(banana + " --sampler hmc --step-size 0.3 --steps 600 --out run");
  const std::string page = program.report("run", "run/report.html");
  BOOST_TEST(sections(page) == "curves draws trajectories provenance");
  BOOST_TEST(has(page, "<h1>banana</h1>"));
  BOOST_TEST(has(page, "class=\"path c1\""));
  BOOST_TEST(has(page, "class=\"contour s"));
}

BOOST_AUTO_TEST_CASE(an_energy_whose_data_is_gone_has_no_contours) {
  const Reports program;
  program.directory.write("e.pbtxt", R"(format_version: 1
inputs { name: "y" type: "f32[4]" }
inputs { name: "m" type: "f32[2]" role: "parameter" }
nodes { name: "s" op: "sum" inputs: "m" }
nodes { name: "r" op: "sub" inputs: "y" inputs: "s" }
nodes { name: "r2" op: "square" inputs: "r" }
nodes { name: "m2" op: "square" inputs: "m" }
nodes { name: "a" op: "sum" inputs: "r2" }
nodes { name: "b" op: "sum" inputs: "m2" }
nodes { name: "U" op: "add" inputs: "a" inputs: "b" }
outputs { name: "U" }
)");
  program.npy("y.npy", Tensor::of<float>({4}, {1, 0, 1, 0}));
  program.sample("e.pbtxt --data y=y.npy --step-size 0.05 --steps 200 --out run");
  BOOST_TEST(has(program.report("run", "run/report.html"), "class=\"contour s"));
  fs::remove(program.directory / "y.npy");
  const std::string page = program.report("run", "run/report.html");
  BOOST_TEST(!has(page, "class=\"contour s"));
  BOOST_TEST(has(page, "The contours of the target are left out: "));
}

BOOST_AUTO_TEST_CASE(a_training_shows_its_curves_and_what_was_learned) {
  const Reports program;
  program.directory.write("t.pbtxt", training);
  BOOST_REQUIRE(program("train t.pbtxt --out g --quiet").code == 0);
  std::string page = program.report("g", "g/report.html");
  BOOST_TEST(sections(page) == "training networks provenance");
  for (const char* text : {"trained:", "Mean curl Q", "Mean diffusion D", "loss, cross chain",
                           "Curl Q(u, p)", "whorl train g/config.pbtxt"})
    BOOST_TEST(has(page, text), text << " is missing");
  program.sample("g.pbtxt --sampler g/sampler.pbtxt --step-size 0.05 --out run");
  page = program.report("run g", "report.html");
  BOOST_TEST(sections(page) == "curves training draws trajectories networks provenance");
  BOOST_TEST(has(page, "run: learned"));
}

BOOST_AUTO_TEST_CASE(a_run_that_has_only_begun_has_a_page) {
  const Reports program;
  fs::create_directory(program.directory / "run");
  program.directory.write("run/config.pbtxt", gaussian);
  std::string page = program.report("run", "run/report.html");
  BOOST_TEST(sections(page) == "provenance");
  BOOST_TEST(has(page, "nothing to judge yet"));
  program.directory.write("run/metrics.jsonl",
                          "{\"step\": 100, \"energy\": null, \"kl\": null}\n{\"step\": 200, \"en");
  page = program.report("run", "run/report.html");
  BOOST_TEST(sections(page) == "curves provenance");
}

BOOST_AUTO_TEST_CASE(a_run_with_three_draws_is_not_judged) {
  const Reports program;
  program.sample("g.pbtxt --steps 30 --burn-in 0 --thin 10 --out run");
  const std::string page = program.report("run", "run/report.html");
  BOOST_TEST(has(page, "3 draws a chain, R-hat needs at least 4"));
  BOOST_TEST(sections(page) == "curves trajectories provenance");
}

BOOST_AUTO_TEST_CASE(a_stopped_run_tells_how_to_go_on) {
  const Reports program;
  program.sample("g.pbtxt --out run");
  program.directory.write("run/events.jsonl",
                          "{\"event\": \"begin\", \"step\": 0, \"seconds\": 0, \"at\": "
                          "\"2026-01-31T12:00:00Z\", \"threads\": 2}\n"
                          "{\"event\": \"stop\", \"step\": 500, \"seconds\": 1, \"reason\": "
                          "\"signal 15\"}\n");
  const std::string page = program.report("run", "run/report.html");
  BOOST_TEST(has(page, "(signal 15)"));
  BOOST_TEST(has(page, "whorl resume run"));
  BOOST_TEST(has(page, "begun 2026-01-31T12:00:00Z"));
}

BOOST_AUTO_TEST_CASE(what_is_no_run_is_refused) {
  const Reports program;
  BOOST_TEST(program.error("report none") == "2: [run] none: there is no such directory");
  fs::create_directory(program.directory / "empty");
  BOOST_TEST(program.error("report empty") ==
             "2: [run] empty: is not the directory of a run: it has no config.pbtxt");
  BOOST_TEST(program.error("report") ==
             "2: [report] DIR is missing; as in: whorl report runs/t runs/s -o comparison.html");
  program.sample("g.pbtxt --out run");
  BOOST_TEST(program.error("report run empty") ==
             "2: [run] empty: is not the directory of a run: it has no config.pbtxt");
  BOOST_TEST(
      program.error("report run -o none/page.html").starts_with("6: [report] none/page.html"));
}

BOOST_AUTO_TEST_CASE(help_shows_an_example_and_fits_a_screen) {
  const Reports program;
  const std::string help = program("report --help").out;
  BOOST_TEST(has(help, "whorl report DIR... [options]"));
  BOOST_TEST(has(help, "whorl report runs/t runs/s -o comparison.html"));
  std::istringstream lines(help);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) BOOST_TEST(line.size() <= 100U);
  BOOST_TEST(count <= 24);
}

BOOST_AUTO_TEST_SUITE_END()
