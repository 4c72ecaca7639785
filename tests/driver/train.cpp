// whorl train from end to end, through the program.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "program.hpp"

namespace whorl::testing {

namespace {

// Two tasks, short roll-outs, everything that training can do.
const char* const small_training = R"(
format_version: 1
experiment: "small training"
targets {
  gaussian { dimension: 3 mean: 1 correlated: 0.6 seed: 4 smallest_sd: 0.2 }
  gradient_noise: 1 count: 2
}
training {
  start {
    curl {
      hidden: 4 activation: "relu" inputs { name: "energy" } inputs { name: "momentum" scale: 0 }
      transform: "tanh" scale: 0.3
    }
    diffusion {
      hidden: 4 activation: "relu"
      inputs { name: "energy" } inputs { name: "momentum" } inputs { name: "gradient" }
      transform: "softplus" low: 0 high: 20
    }
    beta: 1 c: 0.05 energy_input: "asinh" scale_gradient: true
    step_size_times_gradient_rms: 0.16 largest_step_size: 0.1
    pilot { step_size: 0.05 friction: 1 chains: 8 steps: 200 }
  }
  diffusion_start: 0.5
  epochs: 4 rollouts: 2 steps: 12 truncate: 5 through_gradient: true
  cross_chain { every: 2 }
  in_chain { from: 4 every: 2 chains: 3 weight: 2 }
  adam { rate: 0.01 final_rate: 0.001 beta1: 0.5 beta2: 0.99 clip: 1 }
  curl_decay: 3 chains: 10
  position { uniform { low: -1 high: 3 } }
  seed: 7
}
)";

// A regression as a target: data, minibatches, raw inputs and two updates a roll-out.
const char* const regression_training = R"(
format_version: 1
experiment: "regression"
targets { graph: "energy.pbtxt" }
data { files: "d.csv" batch: 4 }
training {
  start {
    curl { hidden: 3 activation: "tanh" inputs { name: "energy" } inputs { name: "momentum" }
           low: -5 high: 5 }
    diffusion { hidden: 3 activation: "tanh" inputs { name: "energy" } inputs { name: "momentum" }
                inputs { name: "gradient" } transform: "softplus" }
  }
  epochs: 2 rollouts: 2 steps: 10 truncate: 4 separate_updates: true
  cross_chain { every: 3 }
  in_chain { from: 2 every: 2 chains: 2 pooled: false }
  chains: 6 step_size: 0.02 seed: 3
}
)";

const char* const energy = R"(
format_version: 1
sizes { name: "rows" value: 8 }
inputs { name: "x" type: "f32[rows,1]" }
inputs { name: "y" type: "f32[rows]" }
inputs { name: "w" type: "f32[1]" role: "parameter" }
nodes { name: "m" op: "matmul" inputs: ["x", "w"] }
nodes { name: "e" op: "sub" inputs: ["y", "m"] }
nodes { name: "e2" op: "square" inputs: ["e"] }
nodes { name: "likelihood" op: "sum" inputs: ["e2"] }
nodes { name: "w2" op: "square" inputs: ["w"] }
nodes { name: "prior" op: "sum" inputs: ["w2"] }
outputs { name: "prior" }
outputs { name: "likelihood" }
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  BOOST_REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(train, Program)

BOOST_AUTO_TEST_CASE(a_sampler_is_learned_proven_and_used) {
  directory.write("t.pbtxt", small_training);
  const Outcome trained = (*this)("train t.pbtxt --out g");
  BOOST_TEST(trained.code == 0, trained.err);
  BOOST_TEST(trained.out.find("trained small training in") == 0);
  BOOST_TEST(trained.out.find("8 updates") != std::string::npos);
  for (const char* name : {"g/sampler.pbtxt", "g/config.pbtxt", "g/metrics.jsonl"})
    BOOST_TEST(std::filesystem::exists(directory / name), name);

  const std::string metrics = directory.read("g/metrics.jsonl");
  BOOST_TEST(std::count(metrics.begin(), metrics.end(), '\n') == 8);
  for (const char* field : {"\"energy\": ", "\"loss/cross_chain\": ", "\"loss/in_chain\": "})
    BOOST_TEST(metrics.find(field) != std::string::npos, field);

  const Outcome proven = (*this)("check --sampler g/sampler.pbtxt");
  BOOST_TEST(proven.code == 0, proven.out + proven.err);
  BOOST_TEST(proven.out.find("learned sampler, proven right") != std::string::npos);

  directory.write("g.pbtxt", R"(
format_version: 1
experiment: "another dimension"
targets { gaussian { dimension: 5 mean: 1 correlated: 0.6 seed: 9 smallest_sd: 0.2 } }
)");
  const Outcome drawn =
      (*this)("sample g.pbtxt --sampler g/sampler.pbtxt --chains 8 --steps 400 --out r");
  BOOST_TEST(drawn.code == 0, drawn.err);
  // The step size is the sampler's own rule.
  BOOST_TEST(directory.read("r/config.pbtxt").find("step_size { constant: 0.") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(training_gives_the_same_bits_on_any_number_of_threads) {
  directory.write("t.pbtxt", small_training);
  BOOST_TEST((*this)("train t.pbtxt --out one --threads 1").code == 0);
  const std::string sampler = directory.read("one/sampler.pbtxt");
  for (const char* threads : {"2", "4", "8"}) {
    const std::string out = std::string("on") + threads;
    BOOST_TEST((*this)("train t.pbtxt --out " + out + " --threads " + threads).code == 0);
    BOOST_TEST(directory.read(out + "/sampler.pbtxt") == sampler);
  }
  BOOST_TEST((*this)("train t.pbtxt --out other --seed 8").code == 0);
  BOOST_TEST(directory.read("other/sampler.pbtxt") != sampler);
  // What a run leaves is enough to run it again.
  BOOST_TEST((*this)("train one/config.pbtxt --out again").code == 0);
  BOOST_TEST(directory.read("again/sampler.pbtxt") == sampler);
}

BOOST_AUTO_TEST_CASE(the_update_is_a_graph_like_any_other) {
  directory.write("t.pbtxt", small_training);
  BOOST_TEST((*this)("train t.pbtxt --out g --epochs 1 --save-graph update.pb").code == 0);
  const Outcome checked = (*this)("check update.pb");
  BOOST_TEST(checked.code == 0, checked.err);
  BOOST_TEST(checked.out.find("curl_weights/m") != std::string::npos);
  npy("sizes.npy", Tensor::of<float>({12}, std::vector<float>(12, 0.01f)));
  const Outcome run = (*this)(
      "run update.pb --feed step_sizes=sizes.npy --random-feeds --quiet --fetch loss/cross_chain");
  BOOST_TEST(run.code == 0, run.err);
  BOOST_TEST(run.out.find("loss/cross_chain  f32[]") == 0);
}

BOOST_AUTO_TEST_CASE(an_energy_with_data_is_trained_on_by_minibatches) {
  directory.write("t.pbtxt", regression_training);
  directory.write("energy.pbtxt", energy);
  directory.write("d.csv", "x,y\n1,1.1\n2,2.2\n-1,-0.9\n0.5,0.4\n1.5,1.4\n-2,-2.1\n0,0.1\n1,0.9\n");
  const Outcome trained = (*this)("train t.pbtxt --out g --json");
  BOOST_TEST(trained.code == 0, trained.err);
  BOOST_TEST(trained.out.find("\"updates\": 4") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(mistakes_are_one_sentence) {
  directory.write("t.pbtxt", small_training);
  directory.write("none.pbtxt",
                  "format_version: 1\nexperiment: \"e\"\ntargets { gaussian { dimension: 2 "
                  "correlated: 1 } }\n");
  BOOST_TEST(error("train none.pbtxt --out g") ==
             "2: [train] none.pbtxt: the experiment has no training { ... }");
  BOOST_TEST(error("train t.pbtxt --out g --chains 2") ==
             "2: [train] --chains is 2, but in_chain of the experiment needs 3");
  directory.write("long.pbtxt", replaced(small_training, "rollouts: 2", "rollouts: 1000"));
  BOOST_TEST(error("train long.pbtxt --out g --epochs 1000000") ==
             "2: [train] --epochs is 1000000: with 1000 rollouts of 12 steps each there would be "
             "more than 2147483647 steps");
  directory.write("mixed.pbtxt",
                  replaced(small_training, "training {",
                           "targets { gaussian { dimension: 4 correlated: 1 } gradient_noise: 1 }\n"
                           "training {"));
  BOOST_TEST(error("train mixed.pbtxt --out h") ==
             "2: [train] target 3 differs from the first in more than its law: targets of one "
             "training are Gaussians of one dimension with one gradient noise, or a single graph");
  directory.write("wild.pbtxt", replaced(small_training, "rate: 0.01", "rate: 1e30"));
  const std::string wild = error("train wild.pbtxt --out w");
  BOOST_TEST(wild.find("7: [train] update 2 of epoch 0 ran into numbers that are not finite; a "
                       "smaller step size or learning rate may help: [run] node ") == 0,
             wild);
  directory.write("small.pbtxt",
                  replaced(small_training, "diffusion_start: 0.5", "diffusion_start: 0.01"));
  BOOST_TEST(error("train small.pbtxt --out s") ==
             "3: [load] small.pbtxt:23: training.diffusion_start is 0.01, expected more than c of "
             "start, 0.05: what the network adds to c is positive");
  directory.write("scale.pbtxt",
                  replaced(small_training, "\"softplus\" low: 0", "\"softplus\" scale: 0 low: 0"));
  BOOST_TEST(error("train scale.pbtxt --out s") ==
             "2: [train] D cannot begin at 0.5: beside c, 0.05, the network would have to give inf "
             "before its scale of 0, and its transform cannot");
  directory.write("steps.pbtxt", replaced(small_training, "steps: 12", "steps: 100000"));
  const std::string steps = error("train steps.pbtxt --out n");
  BOOST_TEST(steps.starts_with("8: [train] a roll-out of 100000 steps with "), steps);
  BOOST_TEST(steps.ends_with(" nodes, expected at most 1000000; fewer steps may help"), steps);
  directory.write("wide.pbtxt", replaced(small_training, "dimension: 3", "dimension: 100000"));
  BOOST_TEST(
      error("train wide.pbtxt --out n --memory-budget 1G") ==
      "8: [gaussian] the matrices of a Gaussian of dimension 100000 need 280000000000 bytes, "
      "the budget is 1073741824");
  BOOST_TEST(error("train t.pbtxt --out o --memory-budget 1K")
                 .starts_with("8: [chains] plan and states of 8 chains need "));
  BOOST_TEST(error("train t.pbtxt --out o --memory-budget 8K")
                 .starts_with("8: [train] the training graph needs "));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing
