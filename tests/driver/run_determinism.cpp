// The same run leaves the same bits for any number of threads.
//
//   WHORL_SEEDS=100 build/release/tests/test_driver --run_test=run_determinism
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <thread>

#include "runs.hpp"

namespace whorl::testing {

namespace {

// Counts whole directories that were compared with that of one thread.
int compare_threads(const Runs& runs, const std::string& begin) {
  int compared = 0;
  const int most = 4 * static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::map<std::string, std::string> last;
  for (int seed = 1; seed <= wanted("WHORL_SEEDS", 10); ++seed) {
    std::map<std::string, std::string> expected;
    for (int threads : {1, 2, 3, 4, 8}) {
      if (threads > most) continue;
      const Outcome made = runs.call(
          fmt::format("{} --seed {} --threads {} --quiet --out run", begin, seed, threads));
      BOOST_REQUIRE_MESSAGE(made.code == 0, made.err);
      auto found = runs.files("run");
      std::filesystem::remove_all(runs.directory / "run");
      if (threads == 1) {
        expected = std::move(found);
        BOOST_TEST(expected.size() >= 4u);
        BOOST_TEST(Runs::differences(expected, last) != "");
        last = expected;
        continue;
      }
      BOOST_TEST(Runs::differences(found, expected) == "",
                 fmt::format("{} threads, seed {}", threads, seed));
      ++compared;
    }
  }
  BOOST_TEST(compared > 0);
  BOOST_TEST_MESSAGE(fmt::format("{}: {} directories compared", begin, compared));
  return compared;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(run_determinism, Runs)

BOOST_AUTO_TEST_CASE(of_samplers_on_any_number_of_threads) {
  // Enough chains and coordinates that work is shared.
  directory.write("wide.pbtxt", R"(
format_version: 1
experiment: "a wide Gaussian"
targets { gaussian { dimension: 40 mean: 1 diagonal: 1 seed: 4 smallest_sd: 0.3 } gradient_noise: 0.5 }
sampler { name: "sghmc" settings { name: "friction" value: 2 } }
run { chains: 200 steps: 60 burn_in: 7 thin: 3 step_size { constant: 0.1 } }
)");
  compare_threads(*this, "sample wide.pbtxt");
  compare_threads(*this, "sample small.pbtxt --until ess=20 --steps 2000");
}

BOOST_AUTO_TEST_CASE(of_trainings_on_any_number_of_threads) {
  compare_threads(*this, "train training.pbtxt --chains 40 --epochs 2");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing
