// What a run's directory tells, also when the run goes on, was stopped or was killed.
#include "driver/run_record.hpp"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "driver/run_directory.hpp"
#include "errors.hpp"
#include "scratch.hpp"

using namespace whorl;
using namespace whorl::driver;
using whorl::testing::error_text;
using whorl::testing::Scratch;

namespace {

const char* const config = R"(format_version: 1
experiment: "a plane"
targets { gaussian { dimension: 2 covariance: [2, 1, 1, 2] } }
sampler { name: "sghmc" }
run { chains: 4 steps: 300 burn_in: 0 thin: 1 seed: 1 step_size { constant: 0.1 } }
)";

struct Directory : Scratch {
  Directory() { write("config.pbtxt", config); }
  RunRecord load() const { return load_run(path()); }
  // The error with the directory left out.
  std::string error() const {
    std::string text = error_text([&] { load(); });
    if (const auto at = text.find(path()); at != std::string::npos)
      text.erase(at, path().size() + 1);
    return text;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(run_record)

BOOST_AUTO_TEST_CASE(metrics_and_events_are_numbers_and_texts_by_name) {
  Directory directory;
  directory.write("metrics.jsonl",
                  "{\"step\": 100, \"energy\": 12.5, \"kl\": null}\n"
                  "{\"step\": 200, \"energy\": -1e300, \"kl\": 0.25}\n");
  directory.write("events.jsonl",
                  "{\"event\": \"begin\", \"at\": \"2026-11-18T04:00:00Z\", \"threads\": 2}\n"
                  "{\"event\": \"progress\", \"step\": 200, \"seconds\": 0.5}\n");
  const RunRecord run = directory.load();
  BOOST_TEST(run.config == config);
  BOOST_TEST(run.experiment.name == "a plane");
  BOOST_TEST(!run.is_training());
  BOOST_TEST(!run.draws.has_value());
  BOOST_TEST(!run.sampler.has_value());
  BOOST_REQUIRE(run.metrics.size() == 2U);
  BOOST_TEST(run.metrics[0].at("energy") == 12.5);
  BOOST_TEST(std::isnan(run.metrics[0].at("kl")));
  BOOST_TEST(run.metrics[1].at("energy") == -1e300);
  BOOST_REQUIRE(run.events.size() == 2U);
  BOOST_TEST(run.events[0].kind == "begin");
  BOOST_TEST(run.events[0].texts.at("at") == "2026-11-18T04:00:00Z");
  BOOST_TEST(run.events[0].numbers.at("threads") == 2);
  BOOST_TEST(run.seconds() == 0.5);
  BOOST_TEST(run.steps() == 200);
}

BOOST_AUTO_TEST_CASE(a_last_line_that_is_not_whole_is_left_out) {
  Directory directory;
  directory.write("metrics.jsonl", "{\"step\": 100, \"energy\": 1}\n{\"step\": 200, \"ener");
  directory.write("events.jsonl", "{\"event\": \"begin\"}\n{\"event\"");
  const RunRecord run = directory.load();
  BOOST_TEST(run.metrics.size() == 1U);
  BOOST_TEST(run.events.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_whole_object_without_a_newline_counts) {
  Directory directory;
  directory.write("metrics.jsonl", "{\"step\": 100, \"energy\": 1}");
  BOOST_TEST(directory.load().metrics.size() == 1U);
}

BOOST_AUTO_TEST_CASE(any_other_damaged_line_is_an_error_that_names_it) {
  Directory directory;
  const auto error = [&](const char* file, const char* text) {
    directory.write("metrics.jsonl", "");
    directory.write("events.jsonl", "");
    directory.write(file, text);
    return directory.error();
  };
  BOOST_TEST(error("metrics.jsonl", "{\"step\": 1}\n{\"step\": 2,\n{\"step\": 3}\n") ==
             "[load] metrics.jsonl:2: the line is no JSON object: '{\"step\": 2,'; expected "
             "{\"name\": number, ...}");
  BOOST_TEST(error("metrics.jsonl", "[1, 2]\n") ==
             "[load] metrics.jsonl:1: the line is no JSON object: '[1, 2]'; expected {\"name\": "
             "number, ...}");
  BOOST_TEST(error("metrics.jsonl", "{\"step\": 1}\n\n{\"step\": 3}\n") ==
             "[load] metrics.jsonl:2: the line is no JSON object: ''; expected {\"name\": number, "
             "...}");
  BOOST_TEST(error("metrics.jsonl", "{\"step\": 1, \"kl\": \"small\"}\n") ==
             "[load] metrics.jsonl:1: 'kl' is no number");
  BOOST_TEST(error("metrics.jsonl", "{\"energy\": 1}\n") ==
             "[load] metrics.jsonl:1: the line has neither 'step' nor 'update'");
  BOOST_TEST(error("events.jsonl", "{\"step\": 1}\n") ==
             "[load] events.jsonl:1: the line has no 'event'");
  BOOST_TEST(error("events.jsonl", "{\"event\": \"end\", \"files\": [1]}\n") ==
             "[load] events.jsonl:1: 'files' is neither a text nor a number");
}

BOOST_AUTO_TEST_CASE(the_last_event_and_the_lock_tell_the_state) {
  Directory directory;
  const auto state = [&](const std::string& events) {
    directory.write("events.jsonl", events);
    return directory.load().state();
  };
  const std::string begin = "{\"event\": \"begin\"}\n", resume = "{\"event\": \"resume\"}\n",
                    progress = "{\"event\": \"progress\", \"step\": 100, \"seconds\": 1}\n",
                    stop = "{\"event\": \"stop\", \"step\": 150, \"seconds\": 2}\n",
                    end = "{\"event\": \"end\", \"step\": 300, \"seconds\": 5}\n";
  BOOST_TEST(state(begin + progress) == "stopped");  // killed
  BOOST_TEST(state(begin + progress + stop) == "stopped");
  BOOST_TEST(state(begin + stop + resume + progress) == "stopped");
  BOOST_TEST(state(begin + stop + resume + end) == "done");
  BOOST_TEST(directory.load().seconds() == 5);
  BOOST_TEST(directory.load().steps() == 300);

  const driver::RunDirectory lock(directory.path(), driver::RunDirectory::Use::resume);
  BOOST_TEST(state(begin + progress) == "running");
  BOOST_TEST(state(begin + stop + resume) == "running");
  BOOST_TEST(state(begin + end) == "done");
}

BOOST_AUTO_TEST_CASE(without_events_the_metrics_tell_whether_all_steps_were_made) {
  Directory directory;
  BOOST_TEST(directory.load().state() == "stopped");
  directory.write("metrics.jsonl", "{\"step\": 200, \"seconds\": 4}\n");
  BOOST_TEST(directory.load().state() == "stopped");
  directory.write("metrics.jsonl", "{\"step\": 300, \"seconds\": 6}\n");
  BOOST_TEST(directory.load().state() == "done");
  BOOST_TEST(directory.load().seconds() == 6);
}

BOOST_AUTO_TEST_CASE(what_is_no_run_is_refused) {
  Scratch scratch;
  const auto error = [&](const std::string& path) { return error_text([&] { load_run(path); }); };
  BOOST_TEST(error(scratch / "none") ==
             "[run] " + (scratch / "none") + ": there is no such directory");
  BOOST_TEST(error(scratch.write("file", "")) ==
             "[run] " + (scratch / "file") + ": is not a directory; expected that of a run");
  BOOST_TEST(error(scratch.path()) ==
             "[run] " + scratch.path() + ": is not the directory of a run: it has no config.pbtxt");
  scratch.write("config.pbtxt", "format_version: 1\nexperimnt: \"x\"\n");
  BOOST_TEST(error(scratch.path()).find("config.pbtxt:2") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
