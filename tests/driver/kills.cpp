// Runs that are killed and taken up again, at any instant and as often as it happens: what they
// leave is the same bits as that of a run that nobody disturbed.
//
//   WHORL_KILLS=300 build/release/tests/test_driver --run_test=kills
#include <fmt/format.h>
#include <signal.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <filesystem>

#include "random_source.hpp"
#include "runs.hpp"

namespace whorl::testing {

namespace {

// Kills a run again and again until it comes to its end by itself; returns the number of kills.
int disturb(const Runs& runs, const std::string& begin, const std::string& run, int signal,
            int longest, RandomSource& random) {
  int killed = 0;
  std::string call = begin + run;
  for (int attempt = 0; attempt < 200; ++attempt) {
    // The last attempts have time enough, so that every run comes to an end.
    const int limit = attempt < 8 ? longest : 100 * longest;
    const int code = runs.interrupted(call, signal, static_cast<int>(random.integer(0, limit)));
    if (code == 0) return killed;
    BOOST_REQUIRE_MESSAGE(code == 128 + signal, fmt::format("{}: exit code {}", call, code));
    ++killed;
    call = runs.next_call(begin, run);
  }
  return killed;
}

void check_disturbed(const std::string& begin, int signal, int kills, std::uint64_t seed) {
  const Runs runs;
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const Outcome undisturbed = runs.call(begin + "base");
  BOOST_REQUIRE(undisturbed.code == 0);
  const auto time =
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
  const auto expected = runs.files("base");
  BOOST_TEST(expected.size() >= 4u);
  RandomSource random(seed);
  int killed = 0, finished = 0;
  while (killed < kills) {
    const std::string run = fmt::format("run{}", finished);
    killed += disturb(runs, begin, run, signal, static_cast<int>(time), random);
    BOOST_TEST(Runs::differences(runs.files(run), expected) == "", run);
    std::filesystem::remove_all(runs.directory / run);
    ++finished;
  }
  BOOST_TEST_MESSAGE(fmt::format("{} kills, {} runs", killed, finished));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kills)

BOOST_AUTO_TEST_CASE(a_sampler_may_be_killed_at_any_instant) {
  check_disturbed(Runs::sample, SIGKILL, wanted("WHORL_KILLS", 40), 1);
}

BOOST_AUTO_TEST_CASE(a_run_that_ends_when_it_is_good_enough_ends_at_the_same_step) {
  check_disturbed(
      "sample small.pbtxt --steps 4000 --until ess=60,rhat=1.5 --checkpoint-every "
      "0.000001s --threads 1 --quiet --out ",
      SIGKILL, wanted("WHORL_KILLS", 20), 2);
}

// Ctrl-C and SIGTERM save first; to be interrupted while saving, or twice, does no harm either.
BOOST_AUTO_TEST_CASE(a_run_that_is_asked_to_stop_goes_on_later) {
  check_disturbed(Runs::sample, SIGTERM, wanted("WHORL_KILLS", 15), 4);
  check_disturbed(Runs::train, SIGINT, wanted("WHORL_KILLS", 15), 5);
}

BOOST_AUTO_TEST_CASE(a_training_may_be_killed_at_any_instant) {
  check_disturbed(Runs::train, SIGKILL, wanted("WHORL_KILLS", 40), 3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing
