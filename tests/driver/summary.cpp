// whorl summary, through the program, on runs that are made by hand and on one of its own.
#include "diagnostics/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/property_tree/json_parser.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "diagnostics/nested_rhat.hpp"
#include "fake_run.hpp"
#include "program.hpp"

namespace whorl::testing {

namespace {

using Json = boost::property_tree::ptree;
using boost::test_tools::tolerance;

// Parameters w[0] ... of which some disagree between chains, w[27] most.
FakeRun wide_run() {
  FakeRun run = good_run();
  run.parameters = {{"w", {30}, 0}};
  run.number = [](int c, int t, int i) {
    return normal_at(c, t, i) + (i == 27 ? 4 * c : i == 11 ? 2 * c : 0);
  };
  return run;
}

struct Fixture : Program {
  void write(const char* name, const FakeRun& run) const { run.write(directory / name); }
  Json json(const std::string& words) const {
    const Outcome outcome = (*this)("summary " + words + " --json");
    BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
    std::istringstream text(outcome.out);
    Json json;
    boost::property_tree::read_json(text, json);
    return json;
  }
  Json first(const std::string& words) const {
    return json(words).get_child("runs").front().second;
  }
  std::string table(const std::string& words) const {
    const Outcome outcome = (*this)("summary " + words);
    BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
    return outcome.out;
  }
};

Json row(const Json& run, const std::string& list, const std::string& name) {
  for (const auto& [key, found] : run.get_child(list))
    if (found.get<std::string>("name") == name) return found;
  BOOST_FAIL("no row " + name);
  return {};
}

std::vector<std::string> names(const Json& run, const std::string& list) {
  std::vector<std::string> result;
  for (const auto& [key, found] : run.get_child(list))
    result.push_back(found.get<std::string>("name"));
  return result;
}

void expect_same(const Json& found, const ParameterSummary& s) {
  const std::pair<const char*, double> numbers[] = {{"mean", s.mean},
                                                    {"sd", s.sd},
                                                    {"mcse", s.mcse},
                                                    {"mcse_sd", s.mcse_sd},
                                                    {"q5", s.quantiles[0]},
                                                    {"q50", s.quantiles[1]},
                                                    {"q95", s.quantiles[2]},
                                                    {"mcse_q5", s.mcse_quantiles[0]},
                                                    {"mcse_q50", s.mcse_quantiles[1]},
                                                    {"mcse_q95", s.mcse_quantiles[2]},
                                                    {"rhat", s.rhat},
                                                    {"ess_bulk", s.ess_bulk},
                                                    {"ess_tail", s.ess_tail}};
  for (const auto& [name, number] : numbers) BOOST_TEST(found.get<double>(name) == number);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string lost_chain = "1 of 4 chains diverged and are left out with all their draws: 2";

}  // namespace

BOOST_FIXTURE_TEST_SUITE(summary, Fixture)

BOOST_AUTO_TEST_CASE(every_number_and_statistic_has_its_row) {
  const FakeRun run = good_run();
  write("a", run);
  const Json found = first("a");
  const std::vector<std::string> parameters{"w[0]", "w[1]", "b"};
  BOOST_TEST(names(found, "parameters") == parameters, boost::test_tools::per_element());
  BOOST_TEST(names(found, "statistics") == run.statistics, boost::test_tools::per_element());
  for (int i = 0; i < 3; ++i)
    expect_same(row(found, "parameters", parameters[static_cast<std::size_t>(i)]),
                summarise(run.column(i), 4, 100, 1).front());
  const Json b = row(found, "parameters", "b");
  BOOST_TEST(b.get<double>("ess_per_second") == b.get<double>("ess_bulk") / 2);
  BOOST_TEST(found.get<std::string>("state") == "done");
  BOOST_TEST(found.get<std::string>("sampler") == "sghmc");
  BOOST_TEST(found.get<int>("draws") == 100);
  BOOST_TEST(found.get<int>("steps") == 200);
}

BOOST_AUTO_TEST_CASE(the_table_has_a_line_for_each) {
  write("a", good_run());
  const std::string text = table("a");
  BOOST_TEST(
      text.starts_with("a: a plane, sampled by sghmc, done\n"
                       "  chains       4 of 200 steps\n"
                       "  draws        100 a chain\n"
                       "  time         2 s\n"
                       "  temperature  "));
  BOOST_TEST(has(text, " kinetic, expected 1: agrees\n"));
  BOOST_TEST(has(text, " configurational, expected 1: agrees\n"));
  BOOST_TEST(has(text,
                 "\nparameter       mean        sd     mcse         5%        50%        95%   "
                 "R-hat    bulk    tail    ESS/s\nw[0]  "));
  for (const char* name : {"\nw[1]  ", "\nb  ", "\nlp  ", "\nkinetic_temperature  "})
    BOOST_TEST(has(text, name));
  BOOST_TEST(!has(text, "more:"));
  BOOST_TEST(!has(text, "run  "));
}

BOOST_AUTO_TEST_CASE(threads_change_nothing) {
  write("a", wide_run());
  BOOST_TEST(table("a --threads 1 --all") == table("a --threads 3 --all"));
}

BOOST_AUTO_TEST_CASE(names_choose_what_is_shown) {
  FakeRun run = good_run();
  run.parameters = {{"layer/w", {2, 3}, 0}, {"b", {}, 6}};
  write("a", run);
  const auto chosen = [&](const std::string& words) {
    const Outcome outcome = this->run({"summary", "a", "--json", "--parameters", words});
    BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
    std::istringstream text(outcome.out);
    Json found;
    boost::property_tree::read_json(text, found);
    std::string all;
    for (const char* list : {"parameters", "statistics"})
      for (const std::string& name : names(found.get_child("runs").front().second, list))
        all += name + " ";
    return all;
  };
  BOOST_TEST(chosen("b") == "b ");
  BOOST_TEST(chosen("lp,layer/w[1,2],b") == "layer/w[1,2] b lp ");
  BOOST_TEST(chosen("layer/w[0, 1], layer/w[0,1]") == "layer/w[0,1] ");
  BOOST_TEST(chosen("layer/w") ==
             "layer/w[0,0] layer/w[0,1] layer/w[0,2] layer/w[1,0] layer/w[1,1] layer/w[1,2] ");
  const auto refused = [&](const std::string& words) {
    const Outcome outcome = this->run({"summary", "a", "--parameters", words});
    BOOST_TEST(outcome.code == 2);
    return outcome.err;
  };
  BOOST_TEST(refused("layer/v") ==
             "[summary] a: there is no parameter 'layer/v', did you mean 'layer/w'?; there are: "
             "layer/w, b, lp, kinetic_temperature, configurational_temperature\n");
  BOOST_TEST(refused("layer/w[2,0]") ==
             "[summary] a: there is no layer/w[2,0]: layer/w has the shape [2,3]\n");
  for (const char* index : {"1", "0,1,1", "", "0,x", "-1,0", "0,"})
    BOOST_TEST(has(refused(fmt::format("layer/w[{}]", index)), "has the shape [2,3]"));
  BOOST_TEST(has(refused("b[0]"), "there is no b[0]: b has the shape []"));
  BOOST_TEST(refused("b,,lp") ==
             "[summary] --parameters 'b,,lp' has an empty name; expected names as in w[0,1],b\n");
}

BOOST_AUTO_TEST_CASE(of_many_parameters_the_worst_are_shown) {
  write("a", wide_run());
  const std::string text = table("a");
  BOOST_TEST(has(text, "ESS/s\nw[27]  "));
  BOOST_TEST(text.find("\nw[11] ") > text.find("\nw[27] "));
  BOOST_TEST(std::count(text.begin(), text.end(), '[') == 22);  // with the two of the warnings
  BOOST_TEST(has(text, "\nthese are the worst; and 10 more: --all lists them, --json too\n"));
  BOOST_TEST(has(text, "warning: R-hat is "));
  BOOST_TEST(has(text, " for w[27], more than 1.01"));
  const std::string all = table("a --all");
  BOOST_TEST(has(all, "ESS/s\nw[0]  "));
  BOOST_TEST(has(all, "\nw[29]  "));
  BOOST_TEST(!has(all, "more:"));
  BOOST_TEST(names(first("a"), "parameters").size() == 30u);
}

BOOST_AUTO_TEST_CASE(chains_that_diverged_are_left_out_entirely) {
  FakeRun run = good_run();
  run.statistics.emplace_back("diverging");
  run.number = [](int c, int t, int i) { return c == 2 && t >= 60 ? NAN : normal_at(c, t, i); };
  run.statistic = [](int c, int t, std::size_t s) {
    if (s == 3) return c == 2 && t >= 60 ? 1.0 : 0.0;
    return c == 2 && t >= 60 ? NAN : 1 + 0.1 * normal_at(c, t, 60 + static_cast<int>(s));
  };
  write("a", run);
  const Json found = first("a");
  std::vector<double> others = run.column(2);
  others.erase(others.begin() + 200, others.begin() + 300);
  expect_same(row(found, "parameters", "b"), summarise(others, 3, 100, 1).front());
  BOOST_TEST(found.get_child("lost_chains").size() == 1u);
  BOOST_TEST(names(found, "statistics").size() == 3u);
  BOOST_TEST(std::isfinite(row(found, "statistics", "lp").get<double>("rhat")));
  const std::string text = table("a");
  BOOST_TEST(has(text, "  chains       4 of 200 steps, 1 of them left out: they diverged\n"));
  BOOST_TEST(has(text, "\nwarning: " + lost_chain + "\n"));
}

BOOST_AUTO_TEST_CASE(the_mark_alone_is_enough_to_leave_a_chain_out) {
  FakeRun run = good_run();
  run.statistics = {"diverging"};
  run.statistic = [](int c, int t, std::size_t) { return c == 2 && t >= 60 ? 1.0 : 0.0; };
  write("a", run);
  BOOST_TEST(has(table("a"), lost_chain));
}

BOOST_AUTO_TEST_CASE(a_run_without_a_living_chain_says_so) {
  FakeRun run = good_run();
  run.number = [](int, int t, int) { return t >= 60 ? NAN : 0.0; };
  write("a", run);
  BOOST_TEST(has(table("a"), "warning: 4 of 4 chains diverged and are left out"));
  BOOST_TEST(first("a").get_child("parameters").empty());
}

BOOST_AUTO_TEST_CASE(statistics_may_lag_behind_the_draws) {
  FakeRun run = good_run();
  run.made = 80;
  run.lag = 3;
  run.events = "{\"event\": \"begin\", \"step\": 0, \"seconds\": 0}\n";
  write("a", run);
  const Json found = first("a");
  BOOST_TEST(found.get<int>("draws") == 80);
  BOOST_TEST(found.get<std::string>("state") == "stopped");
  std::vector<double> lp;
  for (int c = 0; c < 4; ++c)
    for (int t = 0; t < 77; ++t) lp.push_back(run.statistic(c, t, 0));
  expect_same(row(found, "statistics", "lp"), summarise(lp, 4, 77, 1).front());
  BOOST_TEST(found.get<std::string>("temperature.kinetic.verdict") == "agrees");
  // Nothing is known of the time that the run took.
  BOOST_TEST(row(found, "parameters", "b").get<std::string>("ess_per_second") == "null");
  BOOST_TEST(has(table("a"), "  time         not known\n"));
}

BOOST_AUTO_TEST_CASE(temperatures_are_judged) {
  FakeRun run = good_run();
  run.statistic = [](int c, int t, std::size_t s) {
    return (s == 1 ? 1.2 : 0.7) + 0.1 * normal_at(c, t, 60 + static_cast<int>(s));
  };
  write("a", run);
  const Json found = first("a");
  BOOST_TEST(found.get<double>("temperature.kinetic.estimate") == 1.2, tolerance(0.05));
  BOOST_TEST(found.get<double>("temperature.kinetic.expected") == 1);
  BOOST_TEST(found.get<std::string>("temperature.kinetic.verdict") == "too hot");
  BOOST_TEST(found.get<std::string>("temperature.configurational.verdict") == "too cold");
  BOOST_TEST(has(table("a"), "\nwarning: the kinetic temperature is 1."));

  // Another temperature was wanted; HMC's momenta are not looked at; an optimiser has none.
  const auto with_sampler = [&](const std::string& sampler) {
    run.config = gaussian_config;
    const std::string plain = "name: \"sghmc\"";
    run.config.replace(run.config.find(plain), plain.size(), sampler);
    write("b", run);
    const Json temperatures = first("b").get_child("temperature");
    std::filesystem::remove_all(directory / "b");
    return temperatures;
  };
  const Json warm = with_sampler("name: \"sghmc\" settings { name: \"temperature\" value: 1.2 }");
  BOOST_TEST(warm.get<std::string>("kinetic.verdict") == "agrees");
  const Json hmc = with_sampler("name: \"hmc\"");
  BOOST_TEST(hmc.count("kinetic") == 0u);
  BOOST_TEST(hmc.count("configurational") == 1u);
  BOOST_TEST(with_sampler("name: \"adam\"").empty());
  BOOST_TEST(with_sampler("name: \"santa\"").empty());
}

BOOST_AUTO_TEST_CASE(superchains_have_a_nested_rhat) {
  const FakeRun run = wide_run();
  write("a", run);
  for (std::int64_t k : {2, 4}) {
    const Json found = first(fmt::format("a --superchains {}", k));
    BOOST_TEST(row(found, "parameters", "w[27]").get<double>("nested_rhat") ==
                   nested_rhat(run.column(27), 4, 100, k),
               tolerance(1e-14));
    BOOST_TEST(row(found, "statistics", "lp").count("nested_rhat") == 1u);
  }
  const std::string text = table("a --superchains 2");
  BOOST_TEST(has(text, "ESS/s  nested\n"));
  BOOST_TEST(has(text, "note: nested R-hat: the chains of this run started each for itself"));
  BOOST_TEST(!has(table("a --superchains 4"), "note: "));
  BOOST_TEST(error("summary a --superchains 3") ==
             "2: [summary] --superchains: 4 chains do not make 3 superchains; expected two or "
             "more of equal size");
  BOOST_TEST(error("summary a --superchains 1") ==
             "2: [summary] --superchains is out of range: 1; expected 2 to 1000000");
}

BOOST_AUTO_TEST_CASE(a_superchain_that_lost_a_chain_is_left_out) {
  FakeRun run = good_run();
  run.chains = 6;
  run.number = [](int c, int t, int i) { return c == 3 ? NAN : normal_at(c, t, i); };
  write("a", run);
  std::vector<double> values = run.column(2);
  values.erase(values.begin() + 200, values.begin() + 400);
  const Json found = first("a --superchains 3");
  BOOST_TEST(
      row(found, "parameters", "b").get<double>("nested_rhat") == nested_rhat(values, 4, 100, 2),
      tolerance(1e-14));
  BOOST_TEST(
      has(table("a --superchains 3"), "note: nested R-hat: 1 of 3 superchains are left out"));
}

BOOST_AUTO_TEST_CASE(exact_moments_stand_beside_those_of_gaussians) {
  write("a", good_run());
  const Json found = first("a --exact");
  BOOST_TEST(row(found, "parameters", "w[0]").get<double>("exact_mean") == 2);
  BOOST_TEST(row(found, "parameters", "w[0]").get<double>("exact_sd") == 2);
  BOOST_TEST(row(found, "parameters", "b").get<double>("exact_sd") == 3);
  BOOST_TEST(has(table("a --exact"), "ESS/s exact mean  exact sd\n"));
  FakeRun other = good_run();
  other.config = "format_version: 1\ntargets { graph: \"e.pb\" }\nsampler { name: \"sghmc\" }\n";
  write("b", other);
  BOOST_TEST(error("summary b --exact") ==
             "2: [summary] b: --exact is for Gaussian targets, the law of others is not known");
}

BOOST_AUTO_TEST_CASE(runs_are_compared) {
  write("a", good_run());
  write("b", wide_run());
  const std::string text = table("a b");
  BOOST_TEST(has(text, "\n\nb: a plane"));
  const std::string comparison = text.substr(text.find("\nrun "));
  BOOST_TEST(comparison.starts_with(
      "\nrun    state    draws  chains  worst R-hat  least bulk  least tail     ESS/s\na   "));
  BOOST_TEST(has(comparison, "\nb   "));
  const Json found = json("a b");
  BOOST_TEST(found.get_child("runs").size() == 2u);
  const Json wide = found.get_child("runs").back().second;
  BOOST_TEST(wide.get<double>("worst.rhat") ==
             row(wide, "parameters", "w[27]").get<double>("rhat"));
}

BOOST_AUTO_TEST_CASE(what_never_moves_is_told) {
  FakeRun run = good_run();
  run.number = [](int c, int t, int i) { return i == 1 || c == 3 ? 0.1 : normal_at(c, t, i); };
  write("a", run);
  const std::string text = table("a");
  BOOST_TEST(has(text, "\nwarning: 1 of 4 chains never moved\n"));
  BOOST_TEST(has(text, "\nwarning: 1 of 3 parameters never moved\n"));
  const Json still = row(first("a"), "parameters", "w[1]");
  BOOST_TEST(still.get<double>("mean") == 0.1);
  for (const char* name : {"rhat", "ess_bulk", "ess_tail", "mcse", "mcse_sd", "mcse_q50"})
    BOOST_TEST(still.get<std::string>(name) == "null");
}

BOOST_AUTO_TEST_CASE(few_draws_are_told_and_none_are_an_error) {
  FakeRun run = good_run();
  run.made = 3;
  write("a", run);
  BOOST_TEST(
      has(table("a"), "warning: R-hat and ESS need at least 4 draws a chain, there are 3\n"));
  BOOST_TEST(first("a").get_child("parameters").empty());
  run.made = 0;
  run.events = "{\"event\": \"progress\", \"step\": 40, \"seconds\": 1}\n";
  write("b", run);
  BOOST_TEST(error("summary b") ==
             "4: [summary] b: there are no draws yet: the run is stopped after step 40");
  std::filesystem::remove(directory / "b/draws.nc");
  BOOST_TEST(error("summary b") ==
             "4: [summary] b: there are no draws yet: the run is stopped after step 40");
}

BOOST_AUTO_TEST_CASE(what_is_no_run_is_refused) {
  BOOST_TEST(error("summary") ==
             "2: [summary] DIR is missing; as in: whorl summary runs/a runs/b --parameters w,b");
  BOOST_TEST(error("summary none") == "2: [run] none: there is no such directory");
  std::filesystem::create_directory(directory / "empty");
  BOOST_TEST(error("summary empty") ==
             "2: [run] empty: is not the directory of a run: it has no config.pbtxt");
  write("a", good_run());
  BOOST_TEST(error("summary a none") == "2: [run] none: there is no such directory");
  BOOST_TEST(this->run({"summary", "a", ""}).err == "[summary] DIR: the file name is empty\n");
}

BOOST_AUTO_TEST_CASE(a_run_of_its_own_is_summarised_as_sample_did) {
  directory.write("g.pbtxt", R"(format_version: 1
experiment: "a plane"
targets { gaussian { dimension: 2 covariance: [2, 1, 1, 2] } }
sampler { name: "sghmc" }
run { chains: 4 steps: 600 burn_in: 100 thin: 2 seed: 1 step_size { constant: 0.1 } }
)");
  const Outcome sampled = (*this)("sample g.pbtxt --out r --json");
  BOOST_TEST_REQUIRE(sampled.code == 0, sampled.err);
  std::istringstream text(sampled.out);
  Json by_sample;
  boost::property_tree::read_json(text, by_sample);
  const Json found = first("r --exact");
  for (const std::string& name : names(by_sample, "parameters"))
    for (const char* number : {"mean", "sd", "rhat", "ess_bulk", "ess_tail", "exact_sd"})
      BOOST_TEST(row(found, "parameters", name).get<double>(number) ==
                 row(by_sample, "parameters", name).get<double>(number));
  BOOST_TEST(found.get<std::string>("state") == "done");
  BOOST_TEST(found.get<double>("seconds") > 0);
  BOOST_TEST(found.get_child("temperature").size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_training_has_no_draws) {
  FakeRun run = good_run();
  std::ifstream file(WHORL_SOURCE_DIR "/graphs/experiments/gaussian.pbtxt");
  run.config.assign(std::istreambuf_iterator<char>(file), {});
  write("a", run);
  BOOST_TEST(error("summary a") ==
             "2: [summary] a: is a run of 'train', which has no draws; expected one of 'sample'");
}

BOOST_AUTO_TEST_CASE(help_fits_a_screen) {
  const std::string text = table("--help");
  BOOST_TEST(std::count(text.begin(), text.end(), '\n') <= 24);
  BOOST_TEST(has(text, "\nExample:\n  whorl summary runs/a runs/b --parameters w,b\n"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) BOOST_TEST(line.size() <= 92u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing
