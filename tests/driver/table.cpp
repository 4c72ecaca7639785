// whorl table, through the program, on runs that are made by hand.
#include <fmt/format.h>

#include <algorithm>
#include <boost/property_tree/json_parser.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "driver/run_table.hpp"
#include "fake_run.hpp"
#include "program.hpp"

namespace whorl::testing {

namespace {

using Json = boost::property_tree::ptree;
using boost::test_tools::tolerance;

// A run that has measured errors: 10 + x, 5 + x and x at steps 100, 150 and 200, and what else a
// test wants of it.
struct ScoredRun {
  std::string sampler = "sghmc";
  int seed = 1;
  double error = 0;
  std::string step_size = "0.1", more = "", experiment = "digits";
  std::string events = ended;

  std::string config() const {
    return fmt::format(
        "format_version: 1\nexperiment: \"{}\"\n"
        "targets {{ gaussian {{ dimension: 2 diagonal: 1 }} }}\nsampler {{ name: \"{}\" }}\n"
        "run {{ chains: 4 steps: 200 burn_in: 100 seed: {} step_size {{ constant: {} }} }}\n{}",
        experiment, sampler, seed, step_size, more);
  }
};

const std::string published =
    "published { sampler: \"SGHMC\" quantity: \"error\" value: 5.5 spread: 0.25 step: 150 "
    "source: \"a paper\" }\n"
    "published { sampler: \"Others\" quantity: \"error\" value: 3 source: \"another\" }\n"
    "published { sampler: \"Others\" quantity: \"nll_sum\" value: 600 source: \"another\" }\n"
    "published { sampler: \"Others\" quantity: \"vector_ess\" value: 7 source: \"another\" }\n";

struct Fixture : Program {
  void write(const std::string& name, const ScoredRun& run) const {
    std::filesystem::create_directories(directory / name);
    write_text(directory / (name + "/config.pbtxt"), run.config());
    write_text(directory / (name + "/events.jsonl"), run.events);
    std::string metrics;
    for (const auto& [step, above] : {std::pair(100, 10.0), {150, 5.0}, {200, 0.0}})
      metrics += fmt::format("{{\"step\": {}, \"energy\": 7, \"error\": {}, \"nll_sum\": {}{}}}\n",
                             step, above + run.error, 100 * (above + run.error),
                             step > 100 ? fmt::format(", \"average_error\": {}", run.error) : "");
    write_text(directory / (name + "/metrics.jsonl"), metrics);
  }
  // Seeds 1, 2 and 3 with errors 1, 2 and 6: mean 3, sd sqrt(7).
  void write_three(const std::string& name, ScoredRun run = {}) const {
    for (const auto& [seed, error] : {std::pair(1, 1.0), {2, 2.0}, {3, 6.0}}) {
      run.seed = seed;
      run.error = error;
      write(fmt::format("{}/seed-{}", name, seed), run);
    }
  }
  std::string table(const std::string& words) const {
    const Outcome outcome = (*this)("table " + words);
    BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
    return outcome.out;
  }
  std::vector<Json> rows(const std::string& words) const {
    std::istringstream text(table(words + " --json"));
    Json json;
    boost::property_tree::read_json(text, json);
    std::vector<Json> found;
    for (const auto& [key, part] : json.get_child("tables"))
      for (const auto& [number, row] : part.get_child("rows")) found.push_back(row);
    return found;
  }
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(table, Fixture)

BOOST_AUTO_TEST_CASE(runs_that_differ_in_their_seed_are_one_row) {
  write_three("a");
  BOOST_TEST(table("a") ==
             "digits\n\n"
             "sampler  runs  step       error  average_error     nll_sum\n"
             "sghmc       3   200  3.0 +- 1.5     3.0 +- 1.5  300 +- 153\n\n"
             "mean +- its standard error over runs: the sd, with divisor n - 1, over sqrt n; "
             "published +- the spread that the source gives\n");
  const std::vector<Json> found = rows("a/seed-1 a/seed-3 a/seed-2");
  BOOST_TEST_REQUIRE(found.size() == 1u);
  BOOST_TEST(found[0].get<double>("quantities.error.mean") == 3);
  BOOST_TEST(found[0].get<double>("quantities.error.sd") == std::sqrt(7), tolerance(1e-14));
  BOOST_TEST(found[0].get<double>("quantities.error.standard_error") == std::sqrt(7.0 / 3),
             tolerance(1e-14));
  BOOST_TEST(found[0].get<int>("quantities.error.runs") == 3);
  BOOST_TEST(found[0].get<int>("step") == 200);
  BOOST_TEST(found[0].get_child("seeds").size() == 3u);
}

BOOST_AUTO_TEST_CASE(samplers_have_rows_and_experiments_have_tables) {
  ScoredRun other;
  other.sampler = "sgld";
  write_three("runs/a");
  write_three("runs/b", other);
  other.experiment = "letters";
  write_three("runs/c", other);
  const std::string text = table("runs --quantity error");
  BOOST_TEST(has(text,
                 "digits\n\nsampler  runs  step       error\n"
                 "sghmc       3   200  3.0 +- 1.5\n"
                 "sgld        3   200  3.0 +- 1.5\n"));
  BOOST_TEST(has(text, "\n\nletters\n\nsampler "));
}

BOOST_AUTO_TEST_CASE(a_single_run_has_no_error) {
  write("a", {});
  BOOST_TEST(has(table("a --quantity error --at 100"), "\nsghmc       1   100     10\n"));
  BOOST_TEST(rows("a")[0].get<std::string>("quantities.error.standard_error") == "null");
}

BOOST_AUTO_TEST_CASE(places_are_steps_and_the_end) {
  write_three("a");
  const std::vector<Json> found = rows("a --at 100,160,end,100");
  BOOST_TEST_REQUIRE(found.size() == 3u);
  BOOST_TEST(found[0].get<double>("quantities.error.mean") == 13);
  BOOST_TEST(found[0].get<int>("quantities.average_error.runs") == 0);
  BOOST_TEST(found[1].get<double>("quantities.error.mean") == 8);
  BOOST_TEST(found[1].get<int>("step") == 160);
  BOOST_TEST(found[2].get<std::string>("at") == "end");
  const std::string text = table("a --at 100,160");
  BOOST_TEST(has(text, "note: error was last measured at step 150 before step 160\n"));
  BOOST_TEST(has(text, "13.0 +- 1.5              -  "));
  // No run has come so far.
  BOOST_TEST(has(table("a --at 5000 --quantity error"), "\nsghmc       0  5000      -\n"));
}

BOOST_AUTO_TEST_CASE(passes_over_the_data_are_places_where_runs_count_them) {
  write("a", {});
  BOOST_TEST(error("table a --at 2e") ==
             "2: [table] --at: no run counts passes over the data; give steps");
  write_text(directory / "a/metrics.jsonl",
             "{\"step\": 50, \"epoch\": 0.5, \"error\": 9}\n"
             "{\"step\": 100, \"epoch\": 1, \"error\": 8}\n"
             "{\"step\": 200, \"epoch\": 2, \"error\": 7}\n");
  BOOST_TEST(has(table("a --at 1.5e,2e,3e"),
                 "sghmc       1  100 (epoch 1.5)      8\n"
                 "sghmc       1    200 (epoch 2)      7\n"
                 "sghmc       0          epoch 3      -\n"));
}

BOOST_AUTO_TEST_CASE(published_values_stand_beside_ours) {
  ScoredRun run;
  run.more = published;
  write_three("a", run);
  const std::string text = table("a");
  BOOST_TEST(has(text,
                 "sampler       runs  step         error  average_error     nll_sum\n"
                 "sghmc            3   150    8.0 +- 1.5     3.0 +- 1.5  800 +- 153\n"
                 "SGHMC    published   150  5.50 +- 0.25              -           -\n"
                 "sghmc            3   200    3.0 +- 1.5     3.0 +- 1.5  300 +- 153\n"
                 "Others   published   end             3              -         600\n"));
  BOOST_TEST(has(text, "\nSGHMC: a paper\nOthers: another\n"));
  BOOST_TEST(has(text,
                 "note: published values of vector_ess are left out: metrics.jsonl has none; see "
                 "'whorl report'\n"));
  const std::vector<Json> found = rows("a");
  BOOST_TEST(found[1].get<bool>("published"));
  BOOST_TEST(found[1].get<double>("quantities.error.value") == 5.5);
  BOOST_TEST(found[1].get<double>("quantities.error.spread") == 0.25);
  BOOST_TEST(found[1].get<std::string>("quantities.error.source") == "a paper");
  BOOST_TEST(found[1].get_child("quantities").size() == 1u);
  // Only where they are asked for.
  BOOST_TEST(!has(table("a --at 100"), "published   "));
  BOOST_TEST(!has(table("a --quantity energy"), "published   "));
}

BOOST_AUTO_TEST_CASE(other_settings_are_rows_of_their_own_and_told) {
  write_three("a");
  ScoredRun other;
  other.seed = 4;
  other.step_size = "0.2";
  write("b", other);
  const std::string text = table("a b --quantity error");
  BOOST_TEST(has(text, "\nsghmc         3   200  3.0 +- 1.5\nsghmc (2)     1   200           0\n"));
  BOOST_TEST(has(text,
                 "note: sghmc (2) is apart, because settings differ: b has 'run.step_size."
                 "constant: 0.2', and 'run.step_size.constant: 0.1' in a/seed-1\n"));
  // How often something is saved, and what was published, makes no difference.
  other.step_size = "0.1";
  other.more = "storage { checkpoint_seconds: 3 }\n" + published;
  write("b", other);
  BOOST_TEST(
      has(table("a b --quantity error --at end"), "\nsghmc            4   200  2.2 +- 1.3\n"));
}

BOOST_AUTO_TEST_CASE(a_seed_counts_once) {
  write_three("a");
  write("b", {});
  const std::string text = table("a b a/seed-2 --quantity error");
  BOOST_TEST(has(text, "\nsghmc       3   200  3.0 +- 1.5\n"));
  BOOST_TEST(has(text, "note: b is left out: it has the seed 1, as a/seed-1 has\n"));
}

BOOST_AUTO_TEST_CASE(runs_that_are_not_done_count_as_far_as_they_came) {
  write_three("a");
  ScoredRun stopped;
  stopped.seed = 4;
  stopped.error = 7;
  stopped.events =
      "{\"event\": \"begin\", \"step\": 0, \"seconds\": 0}\n"
      "{\"event\": \"stop\", \"step\": 200, \"seconds\": 2}\n";
  write("a/seed-4", stopped);
  const std::string text = table("a --quantity error --at 100,end");
  BOOST_TEST(has(text, "\nsghmc       4   100  14.0 +- 1.5\nsghmc       3   200   3.0 +- 1.5\n"));
  BOOST_TEST(has(text, "note: a/seed-4 is stopped after step 200: it has no value at the end\n"));
}

BOOST_AUTO_TEST_CASE(numbers_that_are_not_finite_are_not_averaged_away) {
  write_three("a");
  write_text(directory / "a/seed-2/metrics.jsonl", "{\"step\": 200, \"error\": null}\n");
  const std::string text = table("a --quantity error");
  BOOST_TEST(has(text, "\nsghmc       3   200      -\n"));
  BOOST_TEST(has(text, "note: error of a/seed-2 is not finite at step 200\n"));
}

BOOST_AUTO_TEST_CASE(documents_get_a_table_of_their_own) {
  ScoredRun run;
  run.more = published;
  run.experiment = "digits_1";
  write_three("a", run);
  BOOST_TEST(has(table("a --markdown --quantity average_error,error --at end"),
                 "### digits\\_1\n\n"
                 "| sampler | runs | step | average\\_error | error |\n"
                 "|---|---:|---:|---:|---:|\n"
                 "| sghmc | 3 | 200 | 3.0 \u00b1 1.5 | 3.0 \u00b1 1.5 |\n"
                 "| *Others* | *published* | *end* | *-* | *3* |\n"));
  BOOST_TEST(error("table a --markdown --json") ==
             "2: [table] --json and --markdown exclude each other");
}

BOOST_AUTO_TEST_CASE(runs_without_scores_show_their_divergence_or_energy) {
  write("a", {});
  write_text(directory / "a/metrics.jsonl", "{\"step\": 200, \"energy\": 7, \"kl\": 0.5}\n");
  BOOST_TEST(has(table("a"), "sampler  runs  step   kl\nsghmc       1   200  0.5\n"));
  write_text(directory / "a/metrics.jsonl", "{\"step\": 200, \"energy\": 7}\n");
  BOOST_TEST(has(table("a"), "sampler  runs  step  energy\nsghmc       1   200       7\n"));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused) {
  BOOST_TEST(error("table") ==
             "2: [table] DIR is missing; as in: whorl table runs/mnist "
             "--quantity error,nll_sum --at 2000,end");
  BOOST_TEST(error("table none") == "2: [run] none: there is no such directory");
  std::filesystem::create_directory(directory / "empty");
  BOOST_TEST(error("table empty") ==
             "2: [run] empty: is not the directory of a run: it has no config.pbtxt");
  write("a", {});
  BOOST_TEST(error("table a none") == "2: [run] none: there is no such directory");
  BOOST_TEST(error("table a --quantity eror") ==
             "2: [table] --quantity: no run has 'eror', did you mean 'error'?; there are: "
             "average_error, energy, error, nll_sum");
  BOOST_TEST(error("table a --quantity error,") ==
             "2: [table] --quantity 'error,' has an empty word; expected some with commas");
  for (const char* place : {"x", "0", "-5", "1.5", "1e5", "e", "nan", "infe"})
    BOOST_TEST(error(fmt::format("table a --at {}", place)) ==
               fmt::format("2: [table] --at: '{}' is no place; expected a step as in 2000, passes "
                           "over the data as in 10e, end, or best by the validation data",
                           place));
  write_text(directory / "a/metrics.jsonl", "{\"step\": 100, \"error\": 1}\nrubbish\n");
  BOOST_TEST(error("table a").starts_with("4: [load] a/metrics.jsonl:2: the line is no JSON"));
}

BOOST_AUTO_TEST_CASE(the_best_is_where_the_validation_data_say_so_in_each_run_for_itself) {
  for (int seed : {1, 2}) {
    const std::string name = fmt::format("runs/{}", seed);
    write(name, {.seed = seed});
    // Lowest at 150 in the first run, at 100 in the second; the test data would choose the end.
    write_text(directory / (name + "/metrics.jsonl"),
               fmt::format("{{\"step\": 100, \"nll\": 9, \"validation_nll\": {}}}\n"
                           "{{\"step\": 150, \"nll\": 8, \"validation_nll\": 6}}\n"
                           "{{\"step\": 200, \"nll\": 7, \"validation_nll\": 6.5}}\n",
                           seed == 1 ? 7 : 5));
  }
  const Outcome outcome = (*this)("table runs --quantity nll --at best,end --json");
  BOOST_REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  BOOST_TEST(outcome.out.find("\"at\": \"best\"") != std::string::npos, outcome.out);
  BOOST_TEST(outcome.out.find("8.5") != std::string::npos, outcome.out);
  const Outcome text = (*this)("table runs --quantity nll --at best");
  BOOST_TEST(text.out.find("best") != std::string::npos);
  BOOST_TEST(text.out.find("8.50 +- 0.50") != std::string::npos, text.out);
}

BOOST_AUTO_TEST_CASE(the_best_of_a_run_that_is_not_done_is_told_apart) {
  const std::string judged =
      "{\"step\": 100, \"nll\": 9, \"validation_nll\": 5}\n"
      "{\"step\": 150, \"nll\": 8, \"validation_nll\": 6}\n";
  write("runs/1", {});
  write_text(directory / "runs/1/metrics.jsonl", judged);
  const std::string note =
      "note: runs/2 is stopped after step 150: its best is that of so many steps\n";
  write("runs/2", {.seed = 2, .events = "{\"event\": \"stop\", \"step\": 150, \"seconds\": 2}\n"});
  write_text(directory / "runs/2/metrics.jsonl", judged);
  const std::string text = table("runs --quantity nll --at best");
  BOOST_TEST(has(text, "\nsghmc       2  best  9 +- 0\n"), text);
  BOOST_TEST(has(text, note), text);
  BOOST_TEST(!has(text, "runs/1"), text);
  BOOST_TEST(!has(table("runs --quantity nll --at 100,end"), "best"));
  // Without a value there is none to be told apart.
  write_text(directory / "runs/2/metrics.jsonl", "{\"step\": 150, \"nll\": 8}\n");
  BOOST_TEST(!has(table("runs --quantity nll --at best"), note));
}

BOOST_AUTO_TEST_CASE(runs_that_ended_apart_are_told_at_the_end_and_at_the_best) {
  for (int seed : {1, 2}) {
    const std::string name = fmt::format("runs/{}", seed);
    const int last = 100 * seed;
    write(name,
          {.seed = seed, .events = fmt::format("{{\"event\": \"end\", \"step\": {}}}\n", last)});
    write_text(directory / (name + "/metrics.jsonl"),
               fmt::format("{{\"step\": {}, \"nll\": 9, \"validation_nll\": 5}}\n", last));
  }
  for (const char* place : {"best", "end"}) {
    const std::string text = table(fmt::format("runs --quantity nll --at {}", place));
    BOOST_TEST(has(text, "note: runs/1 ended at step 100, others of sghmc at 200\n"), text);
  }
}

BOOST_AUTO_TEST_CASE(where_there_is_no_best_a_note_tells_why) {
  write_three("a");
  std::string text = table("a --quantity error --at best");
  BOOST_TEST(has(text, "\nsghmc       3  best      -\n"), text);
  BOOST_TEST(has(text,
                 "note: no validation_error was measured in a/seed-1, a/seed-2, a/seed-3: there is "
                 "no best error\n"),
             text);
  BOOST_TEST(!has(table("a --quantity error --at end"), "validation_error"));
  // Each run for what it lacks; one has a best.
  write_text(directory / "a/seed-1/metrics.jsonl",
             "{\"step\": 200, \"error\": 4, \"validation_error\": 5}\n");
  write_text(directory / "a/seed-2/metrics.jsonl",
             "{\"step\": 200, \"error\": 4, \"validation_error\": null}\n");
  write_text(directory / "a/seed-3/metrics.jsonl", "{\"step\": 200, \"validation_error\": 5}\n");
  text = table("a --quantity error,validation_error --at best");
  for (const char* note :
       {"no finite validation_error beside error was measured in a/seed-2: there is no best error",
        "no error was measured in a/seed-3: there is no best error",
        "no finite validation_error was measured in a/seed-2: there is no best validation_error"})
    BOOST_TEST(has(text, fmt::format("note: {}\n", note)), text);
  BOOST_TEST(!has(text, "a/seed-1"), text);
  BOOST_TEST(has(text, "4 (1 runs)"), text);
}

// With a program in Whorl's place that leaves a trace.
BOOST_AUTO_TEST_CASE(the_table_of_music_knows_all_its_sets_before_the_first_run) {
  namespace fs = std::filesystem;
  for (const char* name : {"tools", "build/release/driver", "graphs/experiments"})
    fs::create_directories(directory / name);
  fs::copy_file(WHORL_SOURCE_DIR "/tools/music-table", directory / "tools/music-table");
  for (const char* name : {"piano", "jsb", "train"})
    directory.write(fmt::format("graphs/experiments/music_{}.pbtxt", name), "");
  const std::string trace = directory / "trace";
  fs::permissions(directory.write("build/release/driver/whorl",
                                  fmt::format("#!/bin/sh\necho \"$1\" >> '{}'\n", trace)),
                  fs::perms::owner_all);
  const auto succeeds = [&](const std::string& sets) {
    const std::string call = fmt::format("bash '{}' --sets {} > '{}' 2>&1",
                                         directory / "tools/music-table", sets, directory / "told");
    return std::system(call.c_str()) == 0;
  };
  for (const char* wrong : {"jbs", "train"}) {
    BOOST_TEST(!succeeds(fmt::format("piano,{}", wrong)));
    BOOST_TEST(
        directory.read("told") ==
        fmt::format("music-table: there is no set '{}'; there are piano, muse, nott and jsb\n",
                    wrong));
    BOOST_TEST(!fs::exists(trace));
  }
  BOOST_TEST(succeeds("piano,jsb"), directory.read("told"));
  BOOST_TEST(fs::exists(trace));
}

BOOST_AUTO_TEST_CASE(trainings_are_passed_over) {
  std::ifstream file(WHORL_SOURCE_DIR "/graphs/experiments/gaussian.pbtxt");
  std::filesystem::create_directories(directory / "runs/t");
  write_text(directory / "runs/t/config.pbtxt", {std::istreambuf_iterator<char>(file), {}});
  BOOST_TEST(error("table runs/t") ==
             "2: [table] runs/t: is a run of 'train'; expected runs of 'sample'");
  write("runs/a", {});
  const Outcome outcome = (*this)("table runs --quantity error");
  BOOST_TEST(outcome.code == 0);
  BOOST_TEST(outcome.err == "note: runs/t is a run of 'train' and is passed over\n");
}

BOOST_AUTO_TEST_CASE(two_digits_of_the_error_decide_on_those_of_the_mean) {
  using driver::with_error;
  BOOST_TEST(with_error(0.0182345, 0.000312) == "0.01823 +- 0.00031");
  BOOST_TEST(with_error(612.345, 8.1) == "612.3 +- 8.1");
  BOOST_TEST(with_error(612.345, 123) == "612 +- 123");
  BOOST_TEST(with_error(0.5, NAN) == "0.5");
  BOOST_TEST(with_error(0.5, 0) == "0.5 +- 0");
  BOOST_TEST(with_error(NAN, 0.1) == "-");
  BOOST_TEST(with_error(1e-12, 2e-13) == "1e-12 +- 2e-13");
}

BOOST_AUTO_TEST_CASE(help_fits_a_screen) {
  const std::string text = table("--help");
  BOOST_TEST(std::count(text.begin(), text.end(), '\n') <= 24);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) BOOST_TEST(line.size() <= 92u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing
