// Every system call of a run fails once, or is its last: no signal, one sentence, and the run can
// still be brought to its end with the same bits.
//
// Usually one call in several is tried; WHORL_FAULTS_EVERY=1 tries them all.
#ifdef WHORL_FAULTS

#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "runs.hpp"

namespace whorl::testing {

namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

struct Faulty : Runs {
  Environment preloaded(const std::string& run, Environment more) const {
    // The library compares with real paths.
    const auto root = std::filesystem::canonical(directory.path()) / run;
    more.emplace_back("LD_PRELOAD", WHORL_FAULTS);
    more.emplace_back("WHORL_FAULT_IN", root.string());
    return more;
  }

  int calls_of(const std::string& begin) const {
    const std::string count = directory / "count";
    BOOST_REQUIRE(
        call(begin + "counted", preloaded("counted", {{"WHORL_FAULT_COUNT", count}})).code == 0);
    return std::atoi(directory.read("count").c_str());
  }

  void check(const std::string& begin, const std::string& action, int number,
             const std::map<std::string, std::string>& expected) const {
    const std::string what = fmt::format("{} at call {}", action, number);
    const Outcome disturbed =
        call(begin + "run", preloaded("run", {{"WHORL_FAULT_ACTION", action},
                                              {"WHORL_FAULT_CALL", std::to_string(number)}}));
    const bool dies = action == "kill" || action == "power-cut";
    // A run that is quicker than the one that was counted has fewer events, and may miss its fault.
    BOOST_TEST((disturbed.code == 0 || disturbed.code == (dies ? 137 : 6)),
               what << ": exit code " << disturbed.code << ", " << disturbed.err);
    if (disturbed.code == 6)
      BOOST_TEST(std::count(disturbed.err.begin(), disturbed.err.end(), '\n') == 1, disturbed.err);
    // One that came to its end may have left a file that could not be removed; once more does it.
    const Outcome ended = call(next_call(begin, "run"));
    BOOST_TEST(ended.code == 0, what << ": " << ended.err);
    BOOST_TEST(differences(files("run"), expected) == "", what);
    std::filesystem::remove_all(directory / "run");
  }

  void check_all(const std::string& begin) const {
    const int calls = calls_of(begin), every = wanted("WHORL_FAULTS_EVERY", 11);
    BOOST_TEST(calls > 100);
    BOOST_REQUIRE(call(begin + "base").code == 0);
    const auto expected = files("base");
    int first = 1, tried = 0;
    for (const char* action : {"kill", "power-cut", "EIO", "ENOSPC", "EINTR", "short"}) {
      // Every action begins elsewhere, so that together they meet more of the calls.
      for (int number = first; number <= calls; number += every, ++tried)
        check(begin, action, number, expected);
      first = first % every + 1;
    }
    BOOST_TEST_MESSAGE(fmt::format("{} calls, {} faults", calls, tried));
  }
};

const std::string short_sample =
    "sample small.pbtxt --steps 100 --checkpoint-every 0.000001s --threads 1 --quiet --out ";
const std::string ended_early =
    "sample small.pbtxt --steps 3000 --until ess=20 --threads 1 --quiet --out ";
const std::string short_train =
    "train training.pbtxt --epochs 2 --checkpoint-every 0.000001s --threads 1 --quiet --out ";

}  // namespace

BOOST_FIXTURE_TEST_SUITE(faults, Faulty)

BOOST_AUTO_TEST_CASE(of_a_sampler) { check_all(short_sample); }
BOOST_AUTO_TEST_CASE(of_a_sampler_that_ends_early) { check_all(ended_early); }
BOOST_AUTO_TEST_CASE(of_a_training) { check_all(short_train); }

BOOST_AUTO_TEST_CASE(without_faults_the_library_changes_nothing) {
  BOOST_REQUIRE(call(short_sample + "base").code == 0);
  BOOST_REQUIRE(call(short_sample + "run", preloaded("run", {})).code == 0);
  BOOST_TEST(differences(files("run"), files("base")) == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing

#endif
