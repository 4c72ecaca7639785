// Chains that run into numbers that are not finite, or are on their way there: they are named, and
// either stop the run or are left out of everything that it tells.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runs.hpp"
#include "storage/draws_file.hpp"

namespace whorl::testing {

namespace {

// U = x - 3 log x, the Gamma law: no number where a step leads below 0.
const char* const gamma = R"(
format_version: 1
inputs { name: "x" type: "f32[2]" role: "parameter" }
constants { name: "three" type: "f32[]" values: [3] }
nodes { name: "logs" op: "log" inputs: ["x"] }
nodes { name: "scaled" op: "mul" inputs: ["three", "logs"] }
nodes { name: "terms" op: "sub" inputs: ["x", "scaled"] }
nodes { name: "U" op: "sum" inputs: ["terms"] }
outputs { name: "U" }
)";

// U = (sqrt(max(x, 0)) + (x - 3)^2) / 2: below 0, the energy is finite and its gradient is 0 / 0,
// so the state is lost one step before the energy.
const char* const root = R"(
format_version: 1
inputs { name: "x" type: "f64[]" role: "parameter" }
constants { name: "half" type: "f64[]" values: [0.5] }
constants { name: "three" type: "f64[]" values: [3] }
nodes { name: "positive" op: "relu" inputs: ["x"] }
nodes { name: "root" op: "sqrt" inputs: ["positive"] }
nodes { name: "distance" op: "sub" inputs: ["x", "three"] }
nodes { name: "squared" op: "square" inputs: ["distance"] }
nodes { name: "both" op: "add" inputs: ["root", "squared"] }
nodes { name: "U" op: "mul" inputs: ["half", "both"] }
outputs { name: "U" }
)";

// The momentum sees a slope that the energy, bounded, does not show.
const char* const flat = R"(
format_version: 1
inputs { name: "x" type: "f32[]" role: "parameter" }
constants { name: "large" type: "f32[]" values: [300000] }
nodes { name: "scaled" op: "mul" inputs: ["large", "x"] }
nodes { name: "U" op: "tanh" inputs: ["scaled"] }
outputs { name: "U" }
)";

struct Diverging : Runs {
  Diverging() {
    directory.write("gamma.pbtxt", gamma);
    directory.write("root.pbtxt", root);
    directory.write("flat.pbtxt", flat);
  }
  static std::string sampled(const std::string& graph, const std::string& more) {
    return "sample " + graph + ".pbtxt --sampler sgld --step-size 0.3 --start uniform:2,5 " + more;
  }
  std::size_t statistic(const DrawsReader& reader, std::string_view name) const {
    const auto& names = reader.layout().statistics;
    const auto at = std::find(names.begin(), names.end(), name);
    BOOST_REQUIRE((at != names.end()));
    return static_cast<std::size_t>(at - names.begin());
  }
};

// Steps that are one run of the plan each, and of several, with and without a path.
const std::vector<std::string> groups{"--steps 401 --burn-in 0", "--steps 400 --burn-in 0",
                                      "--steps 400 --burn-in 40 --thin 20",
                                      "--steps 400 --burn-in 33 --thin 3"};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(divergence, Diverging)

BOOST_AUTO_TEST_CASE(a_run_stops_with_chain_step_and_node_and_keeps_its_draws) {
  const std::string call =
      "sample gamma.pbtxt --sampler sgld --step-size 0.1 --start uniform:3,5 --steps 20000 "
      "--burn-in 0 "
      "--chains 2 --threads 2 --out run";
  const std::string found = error(call + " --quiet");
  BOOST_TEST(found.starts_with("7: [sample] the energy is not finite at step "), found);
  BOOST_TEST(found.find("/energy/logs' (log); a smaller step size may help") != std::string::npos,
             found);
  const std::size_t at = found.find("at step ") + 8;
  const std::int64_t step = std::stoll(found.substr(at));
  BOOST_REQUIRE(step > 40);
  // All draws of the runs of steps before it are there, none is behind it.
  const DrawsReader reader(directory / "run/draws.nc");
  BOOST_TEST(reader.draws() <= step);
  BOOST_TEST(reader.draws() > step - 21);
  for (double number : reader.read(0, 0, 2)) BOOST_TEST(std::isfinite(number));
  BOOST_TEST(directory.read("run/events.jsonl").find("\"reason\": \"[sample] the energy is not") !=
             std::string::npos);
  const Outcome told = (*this)("summary run");
  BOOST_TEST(told.code == 0, told.err);
  BOOST_TEST(told.out.find("stopped") != std::string::npos, told.out);
  // It stops there again.
  BOOST_TEST(error("resume run --quiet") == found);
}

BOOST_AUTO_TEST_CASE(a_dropped_chain_is_marked_and_nan_from_there_on) {
  for (const std::string energy : {"gamma", "root"})
    for (const std::string& group : groups) {
      const std::string call =
          sampled(energy, group + " --chains 12 --seed 3 --on-divergence drop --out run");
      const Outcome ended = (*this)(call + " --overwrite");
      BOOST_REQUIRE_MESSAGE(ended.code == 0, call << ": " << ended.err);
      const auto lost = std::count(ended.err.begin(), ended.err.end(), '\n');
      BOOST_TEST(lost > 0, call);
      BOOST_TEST(lost < 12, call);
      const DrawsReader reader(directory / "run/draws.nc");
      const std::vector<double> x = reader.read(0, 0, 1);
      const std::vector<double> mark = reader.read_statistic(statistic(reader, "diverging"));
      const std::vector<double> lp = reader.read_statistic(statistic(reader, "lp"));
      const auto draws = static_cast<std::size_t>(reader.draws());
      std::int64_t marked = 0;
      for (std::size_t chain = 0; chain < 12; ++chain) {
        const auto begin = mark.begin() + static_cast<std::ptrdiff_t>(chain * draws);
        const auto first = static_cast<std::size_t>(
            std::find(begin, begin + static_cast<std::ptrdiff_t>(draws), 1.0) - begin);
        if (first < draws) ++marked;
        for (std::size_t draw = 0; draw < draws; ++draw) {
          const std::size_t i = chain * draws + draw;
          BOOST_TEST(mark[i] == (draw < first ? 0 : 1));
          BOOST_TEST(std::isnan(lp[i]) == (draw >= first));
          // The state that it was given up for may be there.
          if (draw != first) BOOST_TEST(std::isnan(x[i]) == (draw > first));
        }
      }
      BOOST_TEST(marked == lost);
    }
}

BOOST_AUTO_TEST_CASE(what_is_told_is_that_of_the_other_chains_alone) {
  BOOST_REQUIRE((*this)(sampled("gamma",
                                "--steps 400 --burn-in 33 --chains 12 --seed 3 "
                                "--on-divergence drop --out run"))
                    .code == 0);
  const DrawsReader reader(directory / "run/draws.nc");
  const auto draws = static_cast<std::size_t>(reader.draws());
  const auto mean_of_living = [&](const std::vector<double>& all) {
    double sum = 0;
    std::int64_t count = 0, living = 0;
    for (std::size_t chain = 0; chain < 12; ++chain) {
      const std::span<const double> path = std::span(all).subspan(chain * draws, draws);
      if (std::any_of(path.begin(), path.end(), [](double v) { return std::isnan(v); })) continue;
      for (double value : path) sum += value;
      count += std::ssize(path);
      ++living;
    }
    BOOST_TEST(living > 1);
    BOOST_TEST(living < 12);
    return sum / static_cast<double>(count);
  };
  const auto told = nlohmann::json::parse((*this)("summary run --json").out);
  const nlohmann::json& run = told["runs"][0];
  int compared = 0;
  for (const auto& row : run["parameters"]) {
    const std::string name = row["name"];
    const double expected = mean_of_living(reader.read(0, name == "x[1]", 1));
    BOOST_TEST(std::abs(row["mean"].get<double>() - expected) < 1e-12, name);
    ++compared;
  }
  BOOST_TEST(compared == 2);
  const std::string metrics = directory.read("run/metrics.jsonl");
  BOOST_TEST(metrics.find("null") == std::string::npos, metrics);
  BOOST_TEST(metrics.find("nan") == std::string::npos, metrics);
}

BOOST_AUTO_TEST_CASE(a_run_that_lost_chains_has_the_same_bits_after_kills) {
  for (const std::string energy : {"gamma", "root"})
    for (const std::string& group : groups) {
      const std::string call =
          sampled(energy, group +
                              " --chains 12 --seed 3 --on-divergence drop --threads 1 --quiet "
                              "--checkpoint-every 0.000001s --out ");
      BOOST_REQUIRE(this->call(call + "base --overwrite").code == 0);
      int killed = 0;
      std::string next = call + "run";
      for (int time = 8'000; time < 10'000'000; time += 1'000 + time / 3) {
        const int code = interrupted(next, SIGKILL, time);
        if (code == 0) break;
        BOOST_REQUIRE(code == 128 + SIGKILL);
        ++killed;
        next = next_call(call, "run");
      }
      BOOST_TEST(killed > 0);
      BOOST_TEST(differences(files("run"), files("base")) == "", call);
      std::filesystem::remove_all(directory / "run");
    }
}

BOOST_AUTO_TEST_CASE(when_all_chains_are_lost_the_run_ends) {
  const std::string lost = error(
      "sample gamma.pbtxt --sampler sgld --step-size phases:0=0.02,100=3 --start uniform:3,5 "
      "--steps 4000 --burn-in 0 --chains 3 --on-divergence drop --quiet --out run");
  BOOST_TEST(lost.starts_with("7: [sample] all 3 chains have diverged, the last one so: the energy "
                              "is not finite at step "),
             lost);
  // What there was before is not lost.
  BOOST_TEST(DrawsReader(directory / "run/draws.nc").draws() >= 100);
}

BOOST_AUTO_TEST_CASE(a_slow_blow_up_is_told_before_it_overflows) {
  directory.write("parabola.pbtxt", R"(
format_version: 1
inputs { name: "x" type: "f32[]" role: "parameter" }
nodes { name: "U" op: "square" inputs: ["x"] }
outputs { name: "U" }
)");
  // Each step takes x to -1.2 x and more.
  const std::string found =
      error("sample parabola.pbtxt --sampler sgld --step-size 1.1 --steps 400 --quiet --out run");
  BOOST_TEST(found.starts_with("7: [sample] the energy has grown to "), found);
  BOOST_TEST(found.find(", more than 1e+06, at step ") != std::string::npos, found);
  BOOST_TEST(found.find("inf") == std::string::npos, found);
}

BOOST_AUTO_TEST_CASE(a_momentum_that_runs_away_is_told) {
  const std::string call =
      "sample flat.pbtxt --sampler sghmc --step-size 0.05 --start 0 "
      "--set friction=0 --steps 400 --burn-in 0 --quiet --out run ";
  const std::string found = error(call);
  BOOST_TEST(found.starts_with("7: [sample] the mean square of the momentum is "), found);
  BOOST_TEST(found.find(" in chain ") != std::string::npos, found);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing
