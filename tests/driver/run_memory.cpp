// Every allocation of a run may fail: one sentence, exit code 8, and the run can still be brought
// to its end with the same bits.
//
// Usually one in many is tried; WHORL_ALLOCATIONS_EVERY=1 tries them all.
#ifdef WHORL_ALLOCATIONS

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "runs.hpp"

namespace whorl::testing {

namespace {

struct Starved : Runs {
  Outcome starved(const std::string& text, long number) const {
    return call(text, {{"LD_PRELOAD", WHORL_ALLOCATIONS},
                       {"WHORL_FAIL_ALLOCATION", std::to_string(number)},
                       {"WHORL_ALLOCATIONS", directory / "count"}});
  }

  void check_all(const std::string& begin, int tries) const {
    BOOST_REQUIRE(starved(begin + "base", 0).code == 0);
    const auto expected = files("base");
    const long all = std::atol(directory.read("count").c_str());
    BOOST_REQUIRE(all > 1000);
    const long every = wanted("WHORL_ALLOCATIONS_EVERY", static_cast<int>(all / tries));
    int failed = 0;
    for (long number = 1; number <= all; number += every) {
      const Outcome outcome = starved(begin + "run", number);
      const std::string what = fmt::format("allocation {}: {}", number, outcome.err);
      BOOST_TEST((outcome.code == 8 || outcome.code == 0), what << ", exit code " << outcome.code);
      if (outcome.code == 8) {
        ++failed;
        BOOST_TEST(outcome.err == "[memory] the machine has no more memory to give\n", what);
        const Outcome ended = call(next_call(begin, "run"));
        BOOST_TEST(ended.code == 0, what << ended.err);
      }
      BOOST_TEST(differences(files("run"), expected) == "", what);
      std::filesystem::remove_all(directory / "run");
    }
    BOOST_TEST(failed > 0);
    BOOST_TEST_MESSAGE(fmt::format("{} allocations, {} of them failed", all, failed));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(run_memory, Starved)

BOOST_AUTO_TEST_CASE(every_allocation_of_a_sampler_may_fail) {
  check_all(
      "sample small.pbtxt --steps 100 --checkpoint-every 0.000001s --threads 1 --quiet --out ", 40);
}

BOOST_AUTO_TEST_CASE(every_allocation_of_a_training_may_fail) {
  check_all(
      "train training.pbtxt --epochs 2 --checkpoint-every 0.000001s --threads 1 --quiet --out ",
      25);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing

#endif
