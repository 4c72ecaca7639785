// Settings of an experiment by their path, as command lines give them.
#include <boost/test/unit_test.hpp>

#include "errors.hpp"
#include "graphs/experiment_file.hpp"
#include "scratch.hpp"

namespace whorl::testing {

namespace {

const char* const text = R"(format_version: 1
experiment: "e"
targets { gaussian { dimension: 2 diagonal: 1 } }
targets { gaussian { dimension: 2 diagonal: 2 } }
run { chains: 4 step_size { constant: 0.1 } }
)";

struct File {
  Scratch directory;

  ExperimentFile load(const std::vector<std::string>& settings) const {
    return load_experiment(directory.write("e.pbtxt", text), settings);
  }
  std::string error(const std::string& setting) const {
    const std::string path = directory / "e.pbtxt";
    std::string found = error_text([&] { load({setting}); });
    if (const std::size_t at = found.find(path); at != std::string::npos)
      found.replace(at, path.size(), "e.pbtxt");
    return found;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(settings, File)

BOOST_AUTO_TEST_CASE(a_setting_takes_the_place_of_what_the_file_says) {
  BOOST_TEST(*load({"run.chains=8"}).run.chains == 8);
  BOOST_TEST(*load({"run.step_size.constant=0.5"}).run.step_size->constant == 0.5);
  BOOST_TEST(*load({"run.seed=18446744073709551615"}).run.seed == ~std::uint64_t{0});
  BOOST_TEST(load({"sampler.name=hmc"}).sampler() == "hmc");
  BOOST_TEST(
      *load({"sampler.name=hmc", "sampler.step_size.constant=2"}).samplers[0].step_size->constant ==
      2);
  BOOST_TEST(load({"run.on_divergence=drop"}).run.drop_diverged);
  BOOST_TEST(*load({"run.chains=8", "run.chains=9"}).run.chains == 9);
}

BOOST_AUTO_TEST_CASE(lists_of_messages_are_set_together_and_lists_of_values_have_commas) {
  const ExperimentFile experiment = load({"targets.gaussian.mean=3", "storage.keep=a,b"});
  for (const TargetSettings& target : experiment.targets) BOOST_TEST(target.gaussian->mean == 3);
  BOOST_TEST((experiment.storage.keep == std::vector<std::string>{"a", "b"}));
}

BOOST_AUTO_TEST_CASE(mistakes_are_one_sentence) {
  BOOST_TEST(error("run.chain=8") ==
             "[setting] 'run.chain=8': there is no setting 'chain' in run, did you mean 'chains'?");
  BOOST_TEST(error("rum.chains=8") ==
             "[setting] 'rum.chains=8': there is no setting 'rum', did you mean 'run'?");
  BOOST_TEST(error("run.chains") ==
             "[setting] 'run.chains': expected NAME=VALUE, as in run.chains=8");
  BOOST_TEST(error("=8") == "[setting] '=8': expected NAME=VALUE, as in run.chains=8");
  BOOST_TEST(error("run.chains=") ==
             "[setting] 'run.chains=': expected NAME=VALUE, as in run.chains=8");
  BOOST_TEST(error("run.chains=x") == "[setting] 'run.chains=x': 'x' is not a whole number");
  BOOST_TEST(error("run.chains=1e3") == "[setting] 'run.chains=1e3': '1e3' is not a whole number");
  BOOST_TEST(error("stop.ess=1,5") == "[setting] 'stop.ess=1,5': '1,5' is not a number");
  BOOST_TEST(error("training.separate_updates=2") ==
             "[setting] 'training.separate_updates=2': '2' is neither true nor false");
  BOOST_TEST(error("run=8") ==
             "[setting] 'run=8': this is no single setting; as in run.NAME=VALUE");
  BOOST_TEST(error("run.chains.more=8") ==
             "[setting] 'run.chains.more=8': 'run.chains' has no parts");
  BOOST_TEST(error("data.columns.input=x") ==
             "[setting] 'data.columns.input=x': there is none of 'data.columns'");
  BOOST_TEST(error("sampler.step_size.constant=1") == "[load] e.pbtxt: sampler.name is missing");
}

BOOST_AUTO_TEST_CASE(values_are_checked_as_if_they_stood_in_the_file) {
  BOOST_TEST(error("run.chains=0") ==
             "[load] e.pbtxt:5: run.chains is 0, expected at least 1 and at most 1000000");
  BOOST_TEST(error("stop.rhat=0.9").starts_with("[load] e.pbtxt"));
  BOOST_TEST(error("storage.precision=f16") ==
             "[load] e.pbtxt: storage.precision is 'f16', expected f32 or f64");
  BOOST_TEST(error("run.step_size.constant=nan").starts_with("[load] e.pbtxt:5: "));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing
