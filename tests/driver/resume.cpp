// whorl resume: what it takes up, what it refuses, and the exact sentence for it.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <functional>

#include "runs.hpp"
#include "storage/checkpoint.hpp"

namespace whorl::testing {

namespace {

struct Resumable : Runs {
  // A run that was killed on its way: the undisturbed run with its state of an earlier step.
  void leave_stopped(const std::string& begin, const std::string& run) const {
    // The time that a run takes is not known, and differs from one to the next.
    for (int attempt = 0; attempt < 300; ++attempt) {
      std::filesystem::remove_all(directory / run);
      // On a machine that is busy everything takes longer.
      interrupted(begin + run, SIGKILL, 5'000 + attempt % 60 * 1'500 * (1 + 2 * (attempt / 60)));
      if (!std::filesystem::exists(directory / (run + "/checkpoint"))) continue;
      const std::vector<std::string> found = checkpoints(run);
      if (found.empty()) continue;
      const Checkpoint last = load_checkpoint(directory / found.back());
      if (last.number(last.tensors.contains("ending") ? "ending" : "ended") == 0) return;
    }
    BOOST_FAIL("no run could be killed between its first checkpoint and its end");
  }

  std::vector<std::string> checkpoints(const std::string& run) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory / (run + "/checkpoint")))
      if (entry.path().extension() == ".checkpoint")
        names.push_back(run + "/checkpoint/" + entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string resume_error(const std::string& more = "") const {
    return error("resume run --quiet" + more);
  }

  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = directory.read(file);
    BOOST_REQUIRE(text.find(from) != std::string::npos);
    directory.write(file, text.replace(text.find(from), from.size(), to));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(resume, Resumable)

BOOST_AUTO_TEST_CASE(a_run_that_is_done_is_left_as_it_is) {
  BOOST_REQUIRE(call(sample + "run").code == 0);
  const auto before = files("run");
  BOOST_TEST(call("resume run --quiet").code == 0);
  BOOST_TEST(differences(files("run"), before) == "");
  BOOST_REQUIRE(call(train + "learned").code == 0);
  const auto learned = files("learned");
  BOOST_TEST(call("resume learned --quiet").code == 0);
  BOOST_TEST(differences(files("learned"), learned) == "");
}

BOOST_AUTO_TEST_CASE(a_run_without_checkpoints_begins_again) {
  BOOST_REQUIRE(call(sample + "run").code == 0);
  const auto expected = files("run");
  std::filesystem::remove_all(directory / "run/checkpoint");
  const Outcome again = call("resume run");
  BOOST_TEST(again.code == 0);
  BOOST_TEST(again.err.starts_with("note: there is no checkpoint yet: the run begins again\n"),
             again.err);
  BOOST_TEST(differences(files("run"), expected) == "");
}

BOOST_AUTO_TEST_CASE(no_time_left_ends_a_run_with_what_it_has) {
  leave_stopped(sample, "run");
  const Outcome ended = call("resume run --max-time 0s");
  BOOST_TEST(ended.code == 0, ended.err);
  BOOST_TEST(ended.out.find(": the time is up\n") != std::string::npos, ended.out);
  const std::int64_t made = draws("run", "theta").shape()[1];
  BOOST_TEST(made < 185);
  // It stays at its end.
  const auto before = files("run");
  BOOST_TEST(call("resume run --quiet").code == 0);
  BOOST_TEST(differences(files("run"), before) == "");
}

BOOST_AUTO_TEST_CASE(places_without_a_run_are_told) {
  BOOST_TEST(error("resume nowhere") == "2: [run] nowhere: there is no such directory");
  std::filesystem::create_directory(directory / "empty");
  BOOST_TEST(error("resume empty") ==
             "2: [run] empty: there is no run in this directory: config.pbtxt is missing");
  BOOST_TEST(error("resume small.pbtxt") == "2: [run] small.pbtxt: there is no such directory");
}

BOOST_AUTO_TEST_CASE(another_configuration_is_refused_with_the_first_difference) {
  leave_stopped(sample, "run");
  const std::string config = directory.read("run/config.pbtxt");
  replace("run/config.pbtxt", "  seed: 1\n", "  seed: 2\n");
  const std::string found = resume_error();
  BOOST_TEST(found.starts_with("5: [resume] config.pbtxt is not that of the checkpoint: line "),
             found);
  BOOST_TEST(found.find("is '  seed: 2', and was '  seed: 1'; give it back its content, or begin a "
                        "new run with 'whorl sample'") != std::string::npos,
             found);
  directory.write("run/config.pbtxt", config);
  BOOST_TEST(call("resume run --quiet").code == 0);
}

BOOST_AUTO_TEST_CASE(another_version_or_processor_is_noticed) {
  leave_stopped(sample, "run");
  const auto change = [&](const std::string& name, const std::string& text) {
    for (const std::string& file : checkpoints("run")) {
      Checkpoint checkpoint = load_checkpoint(directory / file);
      for (auto& [field, value] : checkpoint.identity)
        if (field == name) value = text;
      save_checkpoint(directory / file, checkpoint);
    }
  };
  change("arithmetic", "an abacus");
  const std::string strict = resume_error(" --strict");
  BOOST_TEST(strict.starts_with("5: [resume] the checkpoint is of another arithmetic: an abacus, "
                                "expected "),
             strict);
  change("version", "0.0.9");
  BOOST_TEST(resume_error() ==
             "5: [resume] the checkpoint is of another version: 0.0.9, expected 0.1.0");
  change("version", "0.1.0");
  change("graph", "77");
  BOOST_TEST(resume_error().starts_with("5: [resume] the checkpoint is of another graph: 77, "));
}

BOOST_AUTO_TEST_CASE(another_processor_is_a_note) {
  leave_stopped(sample, "run");
  for (const std::string& file : checkpoints("run")) {
    Checkpoint checkpoint = load_checkpoint(directory / file);
    for (auto& [field, value] : checkpoint.identity)
      if (field == "arithmetic") value = "an abacus";
    save_checkpoint(directory / file, checkpoint);
  }
  const Outcome resumed = call("resume run");
  BOOST_TEST(resumed.code == 0);
  BOOST_TEST(resumed.err.starts_with("note: the run was begun with an abacus, and goes on with "),
             resumed.err);
}

BOOST_AUTO_TEST_CASE(other_data_are_refused) {
  directory.write("energy.pbtxt", R"(
format_version: 1
sizes { name: "rows" value: 3 }
inputs { name: "y" type: "f32[rows]" }
inputs { name: "w" type: "f32[]" role: "parameter" }
nodes { name: "error" op: "sub" inputs: ["y", "w"] }
nodes { name: "error2" op: "square" inputs: ["error"] }
nodes { name: "U" op: "sum" inputs: ["error2"] }
outputs { name: "U" }
)");
  directory.write("d.csv", "y\n1\n2\n3\n4\n");
  const std::string begin =
      "sample energy.pbtxt --data d.csv --step-size 0.05 --steps 3000 --checkpoint-every 0.000001s "
      "--quiet --out ";
  leave_stopped(begin, "run");
  directory.write("d.csv", "y\n1\n2\n3\n5\n");
  const std::string found = resume_error();
  BOOST_TEST(found.starts_with("5: [resume] the checkpoint is of another data: "), found);
}

BOOST_AUTO_TEST_CASE(damaged_checkpoints_are_passed_over_and_when_all_are_nothing_is_touched) {
  BOOST_REQUIRE(call(sample + "base").code == 0);
  leave_stopped(sample, "run");
  const std::vector<std::string> all = checkpoints("run");
  if (all.size() == 2) {
    directory.write(all[1], directory.read(all[1]).substr(0, 50));
    const Outcome resumed = call("resume run");
    BOOST_TEST(resumed.code == 0);
    BOOST_TEST(resumed.err.find("note: passed over: ") != std::string::npos, resumed.err);
    BOOST_TEST(differences(files("run"), files("base")) == "");
  }
  leave_stopped(sample, "run");
  for (const std::string& file : checkpoints("run")) directory.write(file, "");
  const auto before = files("run");
  const std::string found = resume_error();
  BOOST_TEST(found.starts_with("5: [checkpoint] none of "), found);
  BOOST_TEST(differences(files("run"), before) == "");
}

BOOST_AUTO_TEST_CASE(states_that_do_not_fit_are_named) {
  leave_stopped(sample, "run");
  const auto change = [&](const std::function<void(Checkpoint&)>& f) {
    for (const std::string& file : checkpoints("run")) {
      Checkpoint checkpoint = load_checkpoint(directory / file);
      f(checkpoint);
      save_checkpoint(directory / file, checkpoint);
    }
  };
  Tensor momentum;
  change([&](Checkpoint& c) {
    momentum = c.tensors.at("chains/state/momentum");
    c.tensors.erase("chains/state/momentum");
  });
  BOOST_TEST(resume_error() == "5: [checkpoint] it has no 'chains/state/momentum'");
  change([&](Checkpoint& c) { c.tensors["chains/state/momentum"] = Tensor({DType::f32, {5, 4}}); });
  BOOST_TEST(resume_error() ==
             "5: [checkpoint] its 'chains/state/momentum' is f32[5,4]; expected f32[5,3]");
  Tensor lost = momentum.clone();
  lost.data<float>()[7] = std::nanf("");
  change([&](Checkpoint& c) { c.tensors["chains/state/momentum"] = lost; });
  BOOST_TEST(resume_error() == "5: [checkpoint] its momentum is not finite in chain 2");
}

BOOST_AUTO_TEST_CASE(files_that_are_missing_or_too_short_are_told) {
  leave_stopped(sample, "run");
  directory.write("run/metrics.jsonl", "");
  const std::string found = resume_error();
  BOOST_TEST((found.find("metrics.jsonl: the file has 0 bytes, the checkpoint knows of ") !=
                  std::string::npos ||
              found.starts_with("0: ")),
             found);
  leave_stopped(sample, "run");
  std::filesystem::remove(directory / "run/draws.nc");
  BOOST_TEST(resume_error().starts_with("6: "), resume_error());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing
