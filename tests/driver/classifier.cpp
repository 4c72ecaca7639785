// A Bayesian classifier from its files to its predictions: images and labels in IDX files, a
// network in a graph file, an experiment with test data and several samplers, a sampler that is
// trained on it.
#include <fmt/format.h>
#include <signal.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "graphs/experiment_file.hpp"
#include "graphs/sampler_file.hpp"
#include "runs.hpp"

namespace whorl::testing {

namespace {

// Images of 4 by 4 pixels of five classes: row c of class c < 4 is bright, class 4 is a bright
// diagonal. Every third pixel is noise.
struct Images : Runs {
  Images() {
    std::filesystem::create_directories(directory / "mnist");
    write_set("train", 600, 1);
    write_set("t10k", 200, 2);
    directory.write("net.pbtxt", network);
    directory.write("digits.pbtxt", experiment);
  }

  void write_set(const std::string& name, int rows, std::uint32_t seed) const {
    std::string images("\0\0\x08\3", 4), labels("\0\0\x08\1", 4);
    const auto number = [](std::string& text, int value) {
      for (int shift : {24, 16, 8, 0}) text += static_cast<char>(value >> shift & 255);
    };
    for (int dim : {rows, 4, 4}) number(images, dim);
    number(labels, rows);
    std::uint32_t state = seed;
    const auto random = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
    for (int row = 0; row < rows; ++row) {
      const int label = static_cast<int>(random() % 5);
      labels += static_cast<char>(label);
      for (int pixel = 0; pixel < 16; ++pixel) {
        const bool bright = label < 4 ? pixel / 4 == label : pixel % 5 == 0;
        images += static_cast<char>(random() % 3 == 0 ? random() % 256 : bright ? 255 : 0);
      }
    }
    directory.write("mnist/" + name + "-images", images);
    directory.write("mnist/" + name + "-labels", labels);
  }

  const std::vector<std::pair<std::string, std::string>> data{{"WHORL_DATA", directory / ""}};

  Outcome whorl(const std::string& text) const { return call(text, data); }
  void must(const std::string& text) const {
    const Outcome made = whorl(text);
    BOOST_REQUIRE_MESSAGE(made.code == 0, made.err);
  }
  std::string failure(const std::string& text) const {
    const Outcome made = whorl(text);
    return fmt::format("{}: {}", made.code, made.err.substr(0, made.err.find('\n')));
  }
  std::vector<nlohmann::json> metrics(const std::string& run) const {
    std::vector<nlohmann::json> lines;
    std::string text = directory.read(run + "/metrics.jsonl");
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
      lines.push_back(nlohmann::json::parse(text.substr(at, text.find('\n', at) - at)));
    return lines;
  }

  static constexpr const char* network = R"(
format_version: 1
name: "a small network"
sizes { name: "rows" value: 50 }
sizes { name: "pixels" value: 16 }
sizes { name: "hidden" value: 6 }
sizes { name: "classes" value: 5 }
ops { name: "activation" op: "relu" }
inputs { name: "x" type: "f32[rows,pixels]" }
inputs { name: "y" type: "i32[rows]" }
inputs { name: "w1" type: "f32[pixels,hidden]" role: "parameter" }
inputs { name: "w2" type: "f32[hidden,classes]" role: "parameter" }
constants { name: "half" type: "f32[]" values: [0.5] }
nodes { name: "squares_1" op: "square" inputs: ["w1"] }
nodes { name: "squares_2" op: "square" inputs: ["w2"] }
nodes { name: "norm_1" op: "sum" inputs: ["squares_1"] }
nodes { name: "norm_2" op: "sum" inputs: ["squares_2"] }
nodes { name: "norm" op: "add" inputs: ["norm_1", "norm_2"] }
nodes { name: "prior" op: "mul" inputs: ["half", "norm"] }
nodes { name: "sums" op: "matmul" inputs: ["x", "w1"] }
nodes { name: "h" op: "activation" inputs: ["sums"] }
nodes { name: "logits" op: "matmul" inputs: ["h", "w2"] }
nodes { name: "losses" op: "softmax_cross_entropy" inputs: ["logits", "y"] }
nodes { name: "likelihood" op: "sum" inputs: ["losses"] }
outputs { name: "prior" }
outputs { name: "likelihood" }
outputs { name: "logits" }
)";
  static constexpr const char* experiment = R"(
format_version: 1
experiment: "small digits"
targets { graph: "net.pbtxt" sizes { name: "hidden" value: 8 } ops { name: "activation" op: "tanh" } }
data {
  files: "x=$WHORL_DATA/mnist/train-images"
  files: "y=$WHORL_DATA/mnist/train-labels"
  test: "x=$WHORL_DATA/mnist/t10k-images"
  test: "y=$WHORL_DATA/mnist/t10k-labels"
  scaling { input: "x" divisor: 255 mean: 0.4 sd: 0.45 }
  batch: 50
}
sampler {
  name: "sghmc"
  settings { name: "friction_times_step_size" value: 0.05 }
  learning_rate { phases { epoch: 0 value: 0.01 } phases { epoch: 2 value: 0.03 } }
}
sampler { name: "sgld" learning_rate { constant: 0.2 } }
sampler { name: "psgld" settings { name: "moments" value: 1 } learning_rate { constant: 0.01 } }
sampler {
  name: "santa"
  settings { name: "friction_times_step_size" value: 0.1 }
  learning_rate { constant: 0.002 }
}
sampler { name: "adam" learning_rate { constant: 0.01 } }
sampler { name: "learned.pbtxt" learning_rate { constant: 0.01 } settings { name: "curl_limit" value: 4 } }
run {
  chains: 6
  steps: 240
  burn_in: 120
  thin: 40
  position { normal { mean: 0 sd: 0.1 } }
  seed: 3
}
evaluation { every: 40 }
published { sampler: "SGHMC" quantity: "error" value: 0.01 source: "nobody" }
)";
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(classifier, Images)

BOOST_AUTO_TEST_CASE(chains_are_judged_on_test_data_as_they_go) {
  for (const char* sampler : {"sghmc", "sgld", "psgld", "santa", "adam"}) {
    must(fmt::format("sample digits.pbtxt --sampler {0} --quiet --out {0}", sampler));
    const auto lines = metrics(sampler);
    BOOST_REQUIRE(lines.size() == 6u);
    BOOST_TEST(!lines[2].contains("average_error"));  // step 120 is the last one of burn-in
    BOOST_TEST(lines[3].contains("average_error"));
    BOOST_TEST(lines[3]["step"] == 160);
    BOOST_TEST(lines[0]["energy"].get<double>() > 1.5 * lines[5]["energy"].get<double>());
    BOOST_TEST(lines[5]["error"].get<double>() < 0.1, sampler);
    BOOST_TEST(lines[5]["nll_sum"].get<double>() / 200 == lines[5]["nll"].get<double>(),
               boost::test_tools::tolerance(1e-12));
  }
}

BOOST_AUTO_TEST_CASE(a_rate_per_datum_and_passes_over_the_data_become_step_sizes_and_steps) {
  must("sample digits.pbtxt --quiet --out run");
  const ExperimentFile stored = load_experiment(directory / "run/config.pbtxt");
  const ScheduleSettings& schedule = *stored.run.step_size;
  BOOST_REQUIRE(schedule.phases.size() == 2u);
  BOOST_TEST(schedule.phases[0].value == std::sqrt(0.01 / 600));
  BOOST_TEST(*schedule.phases[1].from == 24);  // 600 rows are 12 batches
  BOOST_TEST(schedule.phases[1].value == std::sqrt(0.03 / 600));
  must("sample digits.pbtxt --sampler sgld --quiet --out sgld");
  BOOST_TEST(*load_experiment(directory / "sgld/config.pbtxt").run.step_size->constant ==
             0.2 / 600);
  must("sample digits.pbtxt --sampler santa --quiet --out santa");
  BOOST_TEST(*load_experiment(directory / "santa/config.pbtxt").run.step_size->constant ==
             0.002 / 600);
  must("sample digits.pbtxt --sampler adam --quiet --out adam");
  BOOST_TEST(*load_experiment(directory / "adam/config.pbtxt").run.step_size->constant == 0.01);
  // What the command line says goes before.
  must("sample digits.pbtxt --step-size 0.002 --steps 121 --thin 1 --quiet --out by_hand");
  BOOST_TEST(*load_experiment(directory / "by_hand/config.pbtxt").run.step_size->constant == 0.002);
}

BOOST_AUTO_TEST_CASE(stored_draws_predict_what_the_run_has_averaged) {
  must("sample digits.pbtxt --quiet --out run");
  const Outcome made = whorl("predict run --json --out p.npy --quiet");
  BOOST_REQUIRE_MESSAGE(made.code == 0, made.err);
  const auto found = nlohmann::json::parse(made.out);
  const auto last = metrics("run").back();
  BOOST_TEST(found["draws"] == 18);  // 3 of 6 chains: as many as were averaged
  BOOST_TEST(found["rows"] == 200);
  for (const char* name : {"error", "nll", "nll_sum"})
    BOOST_TEST(found[name].get<double>() == last[fmt::format("average_{}", name)].get<double>(),
               boost::test_tools::tolerance(1e-12));
  BOOST_TEST(found["entropy"].get<double>() ==
                 found["aleatoric"].get<double>() + found["epistemic"].get<double>(),
             boost::test_tools::tolerance(1e-9));
  BOOST_TEST(found["ece_bins"] == 15);
  const Tensor p = npy("p.npy");
  BOOST_TEST(to_string(p.type()) == "f64[200,5]");
  double error = 0;
  const std::string labels = directory.read("mnist/t10k-labels");
  for (std::int64_t row = 0; row < 200; ++row) {
    double sum = 0;
    std::int64_t best = 0;
    for (std::int64_t c = 0; c < 5; ++c) {
      sum += p.at(row * 5 + c);
      if (p.at(row * 5 + c) > p.at(row * 5 + best)) best = c;
    }
    BOOST_TEST(sum == 1, boost::test_tools::tolerance(1e-12));
    error += best != labels[static_cast<std::size_t>(8 + row)] ? 1.0 / 200 : 0;
  }
  BOOST_TEST(error == found["error"].get<double>(), boost::test_tools::tolerance(1e-12));
  // Without labels there is nothing to judge by.
  const Outcome blind = whorl("predict run --quiet --data x=mnist/t10k-images --out q.npy");
  BOOST_TEST(blind.out == "200 rows, 18 draws\nwrote q.npy\n");
  BOOST_TEST(npy("q.npy").same_bits(p));
  // Text, too.
  BOOST_TEST(whorl("predict run --quiet").out.find("  NLL          ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(data_without_rows_are_the_same_for_the_rows_of_predictions) {
  std::string text = network;
  text.replace(text.find("inputs { name: \"y\""), 0,
               "inputs { name: \"weights\" type: \"f32[pixels]\" }\n"
               "nodes { name: \"weighed\" op: \"mul\" inputs: [\"x\", \"weights\"] }\n");
  text.replace(text.find("inputs: [\"x\", \"w1\"]"), 20, "inputs: [\"weighed\", \"w1\"]");
  directory.write("net.pbtxt", text);
  text = experiment;
  text.replace(text.find("  files: \"y="), 0, "  files: \"weights=weights.npy\"\n");
  directory.write("digits.pbtxt", text);
  npy("weights.npy", Tensor::from({DType::f32, {16}}, std::vector<double>(16, 0.5)));
  must("sample digits.pbtxt --quiet --out run");
  const Outcome made = whorl("predict run --json --quiet");
  BOOST_REQUIRE_MESSAGE(made.code == 0, made.err);
  BOOST_TEST(nlohmann::json::parse(made.out)["nll"].get<double>() ==
                 metrics("run").back()["average_nll"].get<double>(),
             boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(a_table_without_labels_is_predicted_too) {
  std::string rows = "length,width,kind\n", blind = "length,width\n";
  for (int i = 0; i < 60; ++i) {
    const std::string numbers = fmt::format("{},{}", i % 2 + 0.01 * (i % 7), 0.1 * (i % 5));
    rows += fmt::format("{},{}\n", numbers, i % 2);
    blind += numbers + "\n";
  }
  directory.write("rows.csv", rows);
  directory.write("blind.csv", blind);
  must(
      "sample net.pbtxt --data rows.csv --columns x=length,width --columns y=kind --standardise x "
      "--batch 20 --step-size 0.01 --steps 60 --quiet --out table");
  must("predict table --data rows.csv --quiet --out seen.npy");
  const Outcome made = whorl("predict table --data blind.csv --quiet --out blind.npy");
  BOOST_TEST(made.out == "60 rows, 120 draws\nwrote blind.npy\n", made.err);
  BOOST_TEST(npy("blind.npy").same_bits(npy("seen.npy")));
}

BOOST_AUTO_TEST_CASE(labels_are_chosen_and_rows_set_aside) {
  std::string text = experiment;
  text.replace(text.find("  batch: 50"), 11,
               "  labels { input: \"y\" keep: [4, 2] }\n  validation: 40\n  batch: 50");
  text.replace(text.find("sizes { name: \"hidden\""), 0, "sizes { name: \"classes\" value: 2 } ");
  directory.write("two.pbtxt", text);
  must("sample two.pbtxt --quiet --out run");
  const auto last = metrics("run").back();
  BOOST_TEST(last["error"].get<double>() < 0.1);
  BOOST_TEST(last["validation_nll_sum"].get<double>() == 40 * last["validation_nll"].get<double>(),
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(last.contains("validation_average_error"));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_said_before_the_first_step) {
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = experiment;
    BOOST_REQUIRE(text.find(from) != std::string::npos);
    directory.write("other.pbtxt", text.replace(text.find(from), from.size(), to));
    std::string found = failure("sample other.pbtxt --quiet --out other");
    BOOST_TEST(!std::filesystem::exists(directory / "other"));
    return found;
  };
  BOOST_TEST(with("test: \"y=$WHORL_DATA/mnist/t10k-labels\"", "") ==
             "2: [data] input 'y' i32[50] has no data among x=" +
                 (directory / "mnist/t10k-images"));
  BOOST_TEST(with("sizes { name: \"hidden\" value: 8 }", "sizes { name: \"classes\" value: 4 }") ==
             "4: [labels] the data: row 2: label 4 of input 'y' is not in 0..3");
  BOOST_TEST(with("sizes { name: \"hidden\" value: 8 }", "sizes { name: \"pixels\" value: 8 }") ==
             "2: [sample] size 'pixels' is to be 8, and is 16 by the data");
  BOOST_TEST(with("mnist/t10k-labels", "mnist/t10k-tables") ==
             "6: [data] " + (directory / "mnist/t10k-tables") +
                 " is not there; tools/fetch-data fetches it, as in 'tools/fetch-data mnist'");
  BOOST_TEST(with("mnist/t10k-labels", "mnist/train-labels").find("600") != std::string::npos);
  BOOST_TEST(with("op: \"tanh\"", "op: \"tanhh\"").find("did you mean 'tanh'") !=
             std::string::npos);
  BOOST_TEST(
      with("learning_rate { phases { epoch: 0 value: 0.01 } phases { epoch: 2 value: 0.03 } }",
           "learning_rate { polynomial { a: 1 b: 1 gamma: 0.5 } }") ==
      "2: [sample] a polynomial learning rate is no polynomial step size; give it as "
      "one");
}

BOOST_AUTO_TEST_CASE(predict_says_what_it_lacks) {
  BOOST_TEST(failure("predict nowhere").starts_with("2: "));
  must("sample digits.pbtxt --keep w1 --quiet --out part");
  BOOST_TEST(failure("predict part") ==
             "2: [predict] part did not keep the draws of parameter 'w2', which predictions "
             "need");
  must("sample small.pbtxt --step-size 0.1 --quiet --out gaussian");
  BOOST_TEST(failure("predict gaussian --data x=a.npy") ==
             "2: [predict] gaussian has no draws of a graph's parameters");
  must("sample digits.pbtxt --quiet --out run");
  BOOST_TEST(failure("predict run --data x=mnist/t10k-images --data z=mnist/t10k-labels")
                 .starts_with("2: "));
}

BOOST_AUTO_TEST_CASE(a_run_that_is_judged_can_be_killed_and_taken_up) {
  const std::string begin = "sample digits.pbtxt --quiet --checkpoint-every 0.001 --out ";
  must(begin + "whole --threads 1");
  const auto expected = files("whole");
  must(begin + "two --threads 2");
  BOOST_TEST(differences(files("two"), expected) == "");
  for (int attempt = 1; attempt <= 12; ++attempt) {
    std::filesystem::remove_all(directory / "run");
    // The child takes its environment from here.
    ::setenv("WHORL_DATA", std::string(directory / "").c_str(), 1);
    interrupted(begin + "run", SIGKILL, 4'000 * attempt);
    must(next_call(begin, "run"));
    BOOST_TEST(differences(files("run"), expected) == "");
  }
}

BOOST_AUTO_TEST_CASE(a_sampler_is_learned_on_a_network_and_used_on_a_larger_one) {
  std::string text = experiment;
  text = text.substr(0, text.find("sampler {"));
  directory.write("train.pbtxt", text + R"(
training {
  start {
    curl { hidden: 5 activation: "relu" inputs { name: "energy" } inputs { name: "momentum" } transform: "none" low: -5 high: 5 }
    diffusion {
      hidden: 5 activation: "relu"
      inputs { name: "energy" } inputs { name: "momentum" } inputs { name: "gradient" scale: 10 }
      transform: "absolute" scale: 5 low: 0 high: 100
    }
    c: 1e-6
    alpha_times_step_size: 0.05
    energy_input: "mean_log_joint"
    mean_gradient: true
  }
  epochs: 4
  rollouts: 2
  steps: 20
  truncate: 10
  cross_chain { every: 4 ridge: 0.05 }
  adam { rate: 0.01 beta1: 0.5 beta2: 0.9 }
  chains: 8
  learning_rate: 0.01
  position { normal { mean: 0 sd: 0.2 } }
  seed: 2
}
)");
  must("train train.pbtxt --quiet --out t1 --threads 1");
  must("train train.pbtxt --quiet --out t2 --threads 2");
  BOOST_TEST(differences(files("t1"), files("t2")) == "");
  const SamplerFile learned = load_sampler(directory / "t1/sampler.pbtxt");
  BOOST_TEST(learned.learned->trained_size == 16 * 8 + 8 * 5);
  std::filesystem::copy_file(directory / "t1/sampler.pbtxt", directory / "learned.pbtxt");
  must("sample digits.pbtxt --sampler learned.pbtxt --quiet --out same");
  must(
      "sample digits.pbtxt --sampler learned.pbtxt --with targets.sizes.value=12 --quiet --out "
      "large");
  const ExperimentFile stored = load_experiment(directory / "large/config.pbtxt");
  BOOST_TEST(*stored.run.step_size->constant == std::sqrt(0.01 / 600));
  BOOST_TEST(stored.sampler_settings().size() == 1u);
  for (const char* run : {"same", "large"})
    BOOST_TEST(metrics(run).back()["error"].get<double>() <
               metrics(run).front()["error"].get<double>());
  must(
      "sample digits.pbtxt --sampler learned.pbtxt --set correction=finite_differences --quiet "
      "--out fd");
  // It looks at means over rows, so it cannot be used where there are none.
  BOOST_TEST(
      failure("sample small.pbtxt --sampler learned.pbtxt --step-size 0.01 --quiet --out no") ==
      "2: [sampler] the sampler looks at means over rows of data, and the target has "
      "none");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing
