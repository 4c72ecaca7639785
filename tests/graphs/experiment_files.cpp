// Experiment files: every field is kept, paths are found, and files are told apart.
#include <cstdlib>

#include "engine/ops.hpp"
#include "graphs/experiment_file.hpp"
#include "graphs/sampler_file.hpp"
#include "samplers/energy.hpp"
#include "tests/graphs/files.hpp"

using namespace whorl;
using namespace whorl::test;

namespace {

// Every field, in the words that to_pbtxt writes.
constexpr const char* whole = R"(format_version: 1
experiment: "everything"
targets {
  gaussian { dimension: 2 mean: 1 covariance: [1, 0.5, 0.5, 2] seed: 4 smallest_sd: 0.1 }
  gradient_noise: 0.5
}
targets {
  gaussian { dimension: 10 mean: 0 correlated: 1.5 seed: 0 smallest_sd: 0 }
  gradient_noise: 0
  count: 3
}
targets {
  graph: "energies/u.pbtxt"
  gradient_noise: 0
  sizes { name: "hidden" value: 40 }
  sizes { name: "rows" value: 500 }
  ops { name: "activation" op: "tanh" }
}
data {
  files: ["d.csv", "x=more/x.npy"]
  columns { input: "x" columns: ["a", "b"] }
  columns { input: "y" columns: "c" }
  standardise: "x"
  batch: 32
  separator: ";"
  test: ["x=test/x.npy", "y=test/y.npy"]
  scaling { input: "x" divisor: 255 mean: 0.25 sd: 0.5 }
  scaling { input: "z" divisor: 1 mean: 0 sd: 2 }
  labels { input: "y" keep: [7, 0, 3] }
  validation: 100
}
sampler {
  name: "sghmc"
  settings { name: "friction" value: 0.5 }
  settings { name: "noise" value: 0 }
}
sampler {
  name: "s.pbtxt"
  learning_rate { phases { value: 0.1 epoch: 0 } phases { value: 0.2 epoch: 0.5 } }
}
sampler { name: "adam" step_size { constant: 0.002 } }
run {
  chains: 10
  steps: 1000
  thin: 5
  burn_in: 100
  seed: 18446744073709551615
  step_size { phases { from: 0 value: 0.1 } phases { from: 500 value: 0.01 } }
  position { uniform { low: -1 high: 1 } }
  momentum { normal { mean: 0 sd: 2 } }
}
training {
  start {
    curl {
      hidden: [4, 3]
      activation: "relu"
      inputs { name: "energy" scale: 0.1 shift: 0 }
      inputs { name: "momentum" scale: 1 shift: 0 low: -5 high: 5 }
      transform: "none"
      scale: 1
      low: -5
      high: 5
    }
    diffusion {
      hidden: [4]
      activation: "softplus"
      inputs { name: "energy" scale: 1 shift: 0 }
      inputs { name: "momentum" scale: 1 shift: 0 }
      inputs { name: "gradient" scale: 1 shift: 0 }
      transform: "softplus"
      scale: 1
    }
    alpha: 0.25
    beta: 1
    c: 0
    energy_input: "raw"
    scale_momentum: false
    scale_gradient: false
    pilot { step_size: 0.025 friction: 1 chains: 16 steps: 2000 }
    statistics { energy_mean: 0 energy_sd: 1 momentum_rms: 1 gradient_rms: 1 }
  }
  curl_output: 0.1
  diffusion_start: 0.5
  epochs: 3
  rollouts: 2
  steps: 40
  truncate: 0
  cross_chain { every: 4 ridge: 0.01 weight: 2 }
  in_chain { from: 10 every: 2 chains: 5 pooled: false ridge: 0.02 weight: 3 }
  separate_updates: true
  adam { rate: 0.001 final_rate: 0.0001 beta1: 0.9 beta2: 0.999 epsilon: 1e-07 clip: 1 }
  chains: 20
  seed: 9
  step_size: 0.02
  position { normal { mean: 0 sd: 1 } }
  momentum { constant: 0 }
  through_gradient: true
  curl_decay: 0.125
  curl_start: 1
}
published {
  sampler: "NNSGHMC"
  quantity: "kl"
  value: 0.03
  spread: 0.01
  step: 12000
  source: "a paper"
}
published { sampler: "SGHMC" quantity: "vector_ess" value: 22 source: "another" }
evaluation { every: 120 }
)";

// Environment variables that get their old values back.
class Variables {
 public:
  Variables(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      const char* value = std::getenv(name);
      old_.emplace_back(name, value == nullptr ? std::optional<std::string>() : value);
    }
  }
  ~Variables() {
    for (const auto& [name, value] : old_)
      value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
  }

 private:
  std::vector<std::pair<const char*, std::optional<std::string>>> old_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(experiment_files)

BOOST_AUTO_TEST_CASE(a_whole_experiment_is_written_as_it_was_read) {
  BOOST_CHECK_EQUAL(to_pbtxt(parse_experiment(whole, "e")), whole);
}

BOOST_AUTO_TEST_CASE(every_field_arrives) {
  const ExperimentFile e = parse_experiment(whole, "e");
  BOOST_CHECK_EQUAL(e.name, "everything");
  BOOST_REQUIRE_EQUAL(e.targets.size(), 3u);
  BOOST_CHECK(e.targets[0].gaussian->covariance == (std::vector<double>{1, 0.5, 0.5, 2}));
  BOOST_CHECK_EQUAL(e.targets[0].gradient_noise, 0.5);
  BOOST_CHECK_EQUAL(*e.targets[1].gaussian->correlated, 1.5);
  BOOST_CHECK(!e.targets[1].gaussian->diagonal);
  BOOST_CHECK(!e.targets[2].gaussian);
  BOOST_CHECK_EQUAL(e.targets[2].graph, "energies/u.pbtxt");
  BOOST_CHECK_EQUAL(e.data.columns[0].second[1], "b");
  BOOST_CHECK_EQUAL(*e.data.batch, 32);
  BOOST_CHECK_EQUAL(e.data.separator, ";");
  BOOST_CHECK(e.targets[2].sizes ==
              (std::map<std::string, std::int64_t>{{"hidden", 40}, {"rows", 500}}));
  BOOST_CHECK(e.targets[2].ops == (std::map<std::string, std::string>{{"activation", "tanh"}}));
  BOOST_CHECK(e.targets[0].sizes.empty() && e.targets[0].ops.empty());
  BOOST_CHECK(e.data.test == (std::vector<std::string>{"x=test/x.npy", "y=test/y.npy"}));
  BOOST_REQUIRE_EQUAL(e.data.scaling.size(), 2u);
  BOOST_CHECK_EQUAL(e.data.scaling[0].input, "x");
  BOOST_CHECK_EQUAL(e.data.scaling[0].divisor, 255);
  BOOST_CHECK_EQUAL(e.data.scaling[0].mean, 0.25);
  BOOST_CHECK_EQUAL(e.data.scaling[0].sd, 0.5);
  BOOST_CHECK_EQUAL(e.data.scaling[1].input, "z");
  BOOST_CHECK_EQUAL(e.data.labels->input, "y");
  BOOST_CHECK(e.data.labels->keep == (std::vector<std::int64_t>{7, 0, 3}));
  BOOST_CHECK_EQUAL(*e.data.validation, 100);
  BOOST_CHECK_EQUAL(e.sampler(), "sghmc");
  BOOST_CHECK_EQUAL(e.sampler_settings()[0].second, 0.5);
  BOOST_REQUIRE_EQUAL(e.samplers.size(), 3u);
  BOOST_CHECK(!e.samplers[0].step_size && !e.samplers[0].learning_rate);
  BOOST_CHECK_EQUAL(e.samplers[1].name, "s.pbtxt");
  BOOST_CHECK(e.samplers[1].settings.empty() && !e.samplers[1].step_size);
  const auto& phases = e.samplers[1].learning_rate->phases;
  BOOST_REQUIRE_EQUAL(phases.size(), 2u);
  BOOST_CHECK(!phases[0].from && !phases[1].from);
  BOOST_CHECK_EQUAL(*phases[1].epoch, 0.5);
  BOOST_CHECK_EQUAL(phases[1].value, 0.2);
  BOOST_CHECK_EQUAL(*e.samplers[2].step_size->constant, 0.002);
  BOOST_CHECK_EQUAL(*e.evaluation.every, 120);
  BOOST_CHECK_EQUAL(*e.run.burn_in, 100);
  BOOST_CHECK_EQUAL(*e.run.seed, 18446744073709551615u);
  BOOST_CHECK_EQUAL(*e.run.step_size->phases[1].from, 500);
  BOOST_CHECK(!e.run.step_size->phases[1].epoch);
  BOOST_CHECK(e.run.position->kind == Start::Kind::uniform);
  BOOST_CHECK_EQUAL(e.run.momentum->b, 2);
  const TrainingSettings& training = *e.training;
  BOOST_CHECK(training.start.curl.hidden == (std::vector<std::int64_t>{4, 3}));
  BOOST_CHECK(training.start.curl.weights.empty());
  BOOST_CHECK_EQUAL(*training.diffusion_start, 0.5);
  BOOST_CHECK_EQUAL(training.in_chain->chains, 5);
  BOOST_CHECK(!training.in_chain->pooled);
  BOOST_CHECK_EQUAL(training.step_size, 0.02);
  BOOST_CHECK(!training.learning_rate);
  BOOST_CHECK(training.separate_updates);
  BOOST_CHECK_EQUAL(training.adam.final_rate, 0.0001);
  BOOST_CHECK_EQUAL(training.truncate, 0);
  BOOST_CHECK(training.through_gradient);
  BOOST_CHECK_EQUAL(training.curl_decay, 0.125);
  BOOST_CHECK_EQUAL(e.targets[1].count, 3);
  BOOST_REQUIRE_EQUAL(e.published.size(), 2u);
  BOOST_CHECK_EQUAL(e.published[0].sampler, "NNSGHMC");
  BOOST_CHECK_EQUAL(e.published[0].quantity, "kl");
  BOOST_CHECK_EQUAL(e.published[0].value, 0.03);
  BOOST_CHECK_EQUAL(*e.published[0].spread, 0.01);
  BOOST_CHECK_EQUAL(*e.published[0].step, 12000);
  BOOST_CHECK_EQUAL(e.published[1].source, "another");
  BOOST_CHECK(!e.published[1].spread && !e.published[1].step);
}

BOOST_AUTO_TEST_CASE(a_published_value_says_what_it_is_and_where_it_is_from) {
  const auto error = [](const std::string& fields) {
    return graph_error_of(
        [&] { parse_experiment("format_version: 1\npublished { " + fields + " }\n", "e"); });
  };
  BOOST_CHECK_EQUAL(error("sampler: \"s\" quantity: \"kl\" value: 1"),
                    "[load] e:2: published.source is missing");
  BOOST_CHECK_EQUAL(
      error("sampler: \"s\" quantity: \"kl\" value: 1 spread: -1 source: \"a paper\""),
      "[load] e:2: published.spread is -1, expected at least 0");
}

BOOST_AUTO_TEST_CASE(sequences_are_written_as_they_were_read) {
  const std::string text = R"(format_version: 1
data {
  sequences {
    input: "x"
    train: "d.mat:train"
    validation: "valid"
    test: "/tmp/t.npy"
    window: 200
    weighting: "frame"
  }
}
)";
  const ExperimentFile e = parse_experiment(text, "e");
  BOOST_REQUIRE(e.data.sequences);
  const SequenceSettings& sequences = *e.data.sequences;
  BOOST_CHECK_EQUAL(sequences.input, "x");
  BOOST_CHECK_EQUAL(sequences.train, "d.mat:train");
  BOOST_CHECK_EQUAL(sequences.validation.value(), "valid");
  BOOST_CHECK_EQUAL(sequences.test.value(), "/tmp/t.npy");
  BOOST_CHECK_EQUAL(sequences.window.value(), 200);
  BOOST_CHECK(sequences.weighting == SequenceSettings::Weighting::frame);
  BOOST_CHECK_EQUAL(to_pbtxt(e), text);
}

BOOST_AUTO_TEST_CASE(what_is_left_out_of_sequences_is_not_written) {
  const auto parse = [](std::string_view more) {
    return parse_experiment(
        fmt::format("format_version: 1\ndata {{ sequences {{ input: \"x\" train: \"d\"{} }} }}\n",
                    more),
        "e");
  };
  const ExperimentFile e = parse("");
  BOOST_REQUIRE(e.data.sequences);
  BOOST_CHECK(!e.data.sequences->validation && !e.data.sequences->test);
  BOOST_CHECK(!e.data.sequences->window);
  BOOST_CHECK(e.data.sequences->weighting == SequenceSettings::Weighting::sequence);
  BOOST_CHECK_EQUAL(to_pbtxt(e),
                    "format_version: 1\ndata { sequences { input: \"x\" train: \"d\" } }\n");
  // A default that is spelled out is still the default.
  BOOST_CHECK_EQUAL(to_pbtxt(parse(" weighting: \"sequence\"")), to_pbtxt(e));
  BOOST_CHECK(!parse_experiment(whole, "e").data.sequences);
}

BOOST_AUTO_TEST_CASE(sequences_are_sought_as_files_are) {
  const Variables variables{"WHORL_DATA"};
  ::setenv("WHORL_DATA", "/data", 1);
  const auto read = [](const std::string& train, const std::string& validation,
                       const std::string& test) {
    return *parse_experiment(
                fmt::format("format_version: 1\ndata {{ sequences {{ input: \"x\" train: \"{}\" "
                            "validation: \"{}\" test: \"{}\" }} }}\n",
                            train, validation, test),
                "e", "/dir")
                .data.sequences;
  };
  const SequenceSettings beside = read("d.mat:train", "valid", "more/t.npy");
  BOOST_CHECK_EQUAL(beside.train, "/dir/d.mat:train");
  BOOST_CHECK_EQUAL(beside.validation.value(), "/dir/valid");
  BOOST_CHECK_EQUAL(beside.test.value(), "/dir/more/t.npy");
  const SequenceSettings fetched =
      read("$WHORL_DATA/d.mat:train", "$WHORL_DATA/a/valid", "$WHORL_DATA/t.npy");
  BOOST_CHECK_EQUAL(fetched.train, "/data/d.mat:train");
  BOOST_CHECK_EQUAL(fetched.validation.value(), "/data/a/valid");
  BOOST_CHECK_EQUAL(fetched.test.value(), "/data/t.npy");
  const SequenceSettings absolute = read("/a/d.mat:train", "/a/valid", "/a/t.npy");
  BOOST_CHECK_EQUAL(absolute.train, "/a/d.mat:train");
  BOOST_CHECK_EQUAL(absolute.validation.value(), "/a/valid");
  BOOST_CHECK_EQUAL(absolute.test.value(), "/a/t.npy");
}

BOOST_AUTO_TEST_CASE(sequences_that_make_no_sense_are_refused) {
  const auto error = [](const std::string& sequences, const std::string& more = "") {
    return graph_error_of([&] {
      parse_experiment("format_version: 1\ndata {\n  sequences {\n    " + sequences + "\n  }\n  " +
                           more + "\n}\n",
                       "e");
    });
  };
  const std::string good = "input: \"x\" train: \"d\"";
  BOOST_CHECK_EQUAL(error(good), "");
  BOOST_CHECK_EQUAL(error("train: \"d\""), "[load] e:3: data.sequences.input is missing");
  BOOST_CHECK_EQUAL(error("input: \"x\""), "[load] e:3: data.sequences.train is missing");
  constexpr const char* empty = "is empty, expected FILE.mat:VARIABLE or a directory";
  BOOST_CHECK_EQUAL(error("input: \"x\" train: \"\""),
                    fmt::format("[load] e:4: data.sequences.train {}", empty));
  BOOST_CHECK_EQUAL(error(good + " validation: \"\""),
                    fmt::format("[load] e:4: data.sequences.validation {}", empty));
  BOOST_CHECK_EQUAL(error(good + " test: \"\""),
                    fmt::format("[load] e:4: data.sequences.test {}", empty));
  BOOST_CHECK_EQUAL(error(good + " window: 0"),
                    "[load] e:4: data.sequences.window is 0, expected at least 1");
  BOOST_CHECK_EQUAL(
      error(good + " weighting: \"key\""),
      "[load] e:4: data.sequences.weighting is 'key', expected one of sequence, frame");
  BOOST_CHECK_EQUAL(error(good + " weighting: \"frames\""),
                    "[load] e:4: data.sequences.weighting is 'frames', did you mean 'frame'?");
  for (const auto& [field, text] : std::vector<std::pair<std::string, std::string>>{
           {"files", "files: \"d.csv\""},
           {"columns", "columns { input: \"x\" columns: \"a\" }"},
           {"standardise", "standardise: \"x\""},
           {"batch", "batch: 32"},
           {"separator", "separator: \";\""},
           {"test", "test: \"t.csv\""},
           {"scaling", "scaling { input: \"x\" }"},
           {"labels", "labels { input: \"y\" keep: 1 }"},
           {"validation", "validation: 9"}})
    BOOST_CHECK_EQUAL(
        error(good, text),
        fmt::format("[load] e:6: data.{} is given beside sequences, which have their own", field));
}

BOOST_AUTO_TEST_CASE(the_stored_experiments_load) {
  int loaded = 0;
  for (const auto& file : std::filesystem::directory_iterator(
           std::filesystem::path(WHORL_SOURCE_DIR) / "graphs" / "experiments")) {
    BOOST_CHECK(kind_of_file(file.path()) == FileKind::experiment);
    const std::string text = to_pbtxt(load_experiment(file.path()));
    BOOST_CHECK_EQUAL(to_pbtxt(parse_experiment(text, "e")), text);
    ++loaded;
  }
  BOOST_CHECK_GT(loaded, 0);
}

BOOST_AUTO_TEST_CASE(the_targets_of_the_stored_experiments_load_with_their_sizes_and_ops) {
  int loaded = 0;
  for (const auto& file : std::filesystem::directory_iterator(
           std::filesystem::path(WHORL_SOURCE_DIR) / "graphs" / "experiments"))
    for (const TargetSettings& target : load_experiment(file.path()).targets) {
      if (target.gaussian) continue;
      LoadOptions options;
      options.sizes = target.sizes;
      options.ops = target.ops;
      BOOST_CHECK_NO_THROW(Energy(load_graph(target.graph, options)));
      ++loaded;
    }
  BOOST_CHECK_GT(loaded, 0);
}

BOOST_AUTO_TEST_CASE(the_stored_energies_load) {
  for (const auto& file : std::filesystem::directory_iterator(
           std::filesystem::path(WHORL_SOURCE_DIR) / "graphs" / "energies")) {
    LoadReport report;
    LoadOptions options;
    options.report = &report;
    BOOST_CHECK_NO_THROW(Energy(load_graph(file.path(), options)));
    BOOST_CHECK_MESSAGE(report.warnings.empty(), file.path());
  }
}

BOOST_AUTO_TEST_CASE(what_is_left_out_is_empty_or_has_its_default) {
  const ExperimentFile e = parse_experiment(
      "format_version: 1\n"
      "training { start { curl { } diffusion { transform: \"softplus\" } } cross_chain { }\n"
      "  adam { rate: 0.002 } }\n",
      "e");
  BOOST_CHECK(e.name.empty() && e.targets.empty() && e.samplers.empty());
  BOOST_CHECK(e.sampler().empty() && e.sampler_settings().empty());
  BOOST_CHECK(e.data.test.empty() && e.data.scaling.empty() && !e.data.labels);
  BOOST_CHECK(!e.data.validation && !e.evaluation.every && !e.training->learning_rate);
  BOOST_CHECK(!e.data.batch && !e.run.chains && !e.run.step_size);
  BOOST_CHECK_EQUAL(e.training->start.diffusion.inputs.size(), 3u);
  BOOST_CHECK_EQUAL(e.training->cross_chain->every, 2);
  BOOST_CHECK(!e.training->in_chain);
  BOOST_CHECK_EQUAL(e.training->adam.final_rate, 0.002);  // that of rate
  BOOST_CHECK_EQUAL(e.training->chains, 50);
}

BOOST_AUTO_TEST_CASE(schedules_are_kept) {
  for (const char* schedule : {"constant: 0.1", "polynomial { a: 0.1 b: 1 gamma: 0.55 }",
                               "cosine { highest: 0.5 period: 100 }",
                               "phases { value: 1 epoch: 0 } phases { value: 2 epoch: 2.5 }"}) {
    const std::string text =
        fmt::format("format_version: 1\nrun {{ step_size {{ {} }} }}\n", schedule);
    BOOST_CHECK_EQUAL(to_pbtxt(parse_experiment(text, "e")), text);
  }
}

BOOST_AUTO_TEST_CASE(a_rate_takes_the_place_of_the_step_size_of_a_training) {
  const std::string start =
      "format_version: 1\n"
      "training { start { curl { } diffusion { transform: \"softplus\" } } cross_chain { }\n";
  const ExperimentFile e = parse_experiment(start + "  learning_rate: 0.007 }\n", "e");
  BOOST_CHECK_EQUAL(*e.training->learning_rate, 0.007);
  const std::string text = to_pbtxt(e);
  BOOST_CHECK(text.find("learning_rate: 0.007") != text.npos);
  BOOST_CHECK_EQUAL(to_pbtxt(parse_experiment(text, "e")), text);
  BOOST_CHECK_EQUAL(
      graph_error_of([&] { parse_experiment(start + "  learning_rate: 1 step_size: 1 }\n", "e"); }),
      "[load] e:3: training.learning_rate is given beside step_size, expected one of them");
}

BOOST_AUTO_TEST_CASE(settings_reach_every_sampler_of_the_file) {
  const ScratchDirectory directory;
  write_bytes(directory / "e.pbtxt", R"(format_version: 1
targets { graph: "u.pbtxt" sizes { name: "hidden" value: 40 } }
sampler { name: "sghmc" learning_rate { constant: 0.1 } }
sampler { name: "sgld" learning_rate { constant: 0.2 } }
)");
  const ExperimentFile e = load_experiment(
      directory / "e.pbtxt", {"sampler.learning_rate.constant=0.5", "targets.sizes.value=7",
                              "evaluation.every=3", "data.validation=9", "data.test=a.csv"});
  for (const SamplerSettings& sampler : e.samplers)
    BOOST_CHECK_EQUAL(*sampler.learning_rate->constant, 0.5);
  BOOST_CHECK_EQUAL(e.targets[0].sizes.at("hidden"), 7);
  BOOST_CHECK_EQUAL(*e.evaluation.every, 3);
  BOOST_CHECK_EQUAL(*e.data.validation, 9);
  BOOST_CHECK_EQUAL(e.data.test.at(0), (directory / "a.csv").string());
}

BOOST_AUTO_TEST_CASE(fetched_data_are_sought_where_the_environment_says) {
  const Variables variables{"WHORL_DATA", "XDG_CACHE_HOME", "HOME"};
  const auto files = [] {
    return parse_experiment(
               "format_version: 1\n"
               "data { files: [\"$WHORL_DATA/a/b.npy\", \"x=$WHORL_DATA/x=1.npy\", "
               "\"c/$WHORL_DATA/d.npy\"] test: \"y=$WHORL_DATA/y.npy\" }\n",
               "e", "/dir")
        .data;
  };
  ::setenv("WHORL_DATA", "/data", 1);
  ::setenv("XDG_CACHE_HOME", "/cache", 1);
  ::setenv("HOME", "/home/u", 1);
  BOOST_CHECK_EQUAL(data_directory(), "/data");
  BOOST_CHECK(files().files == (std::vector<std::string>{"/data/a/b.npy", "x=/data/x=1.npy",
                                                         "/dir/c/$WHORL_DATA/d.npy"}));
  BOOST_CHECK(files().test == (std::vector<std::string>{"y=/data/y.npy"}));
  // What is empty is not set.
  ::setenv("WHORL_DATA", "", 1);
  BOOST_CHECK_EQUAL(data_directory(), "/cache/whorl/data");
  BOOST_CHECK_EQUAL(files().files[0], "/cache/whorl/data/a/b.npy");
  ::unsetenv("WHORL_DATA");
  ::unsetenv("XDG_CACHE_HOME");
  BOOST_CHECK_EQUAL(data_directory(), "/home/u/.cache/whorl/data");
  ::unsetenv("HOME");
  BOOST_CHECK_EQUAL(data_directory(), "/.cache/whorl/data");
}

BOOST_AUTO_TEST_CASE(files_are_sought_beside_the_experiment) {
  const ScratchDirectory directory;
  write_bytes(directory / "e.pbtxt", R"(format_version: 1
targets { graph: "u.pbtxt" }
targets { graph: "/tmp/u.pbtxt" }
data { files: ["d.csv", "x=x.npy", "y=/tmp/y.npy"] test: ["t.csv", "x=/tmp/t.npy"] }
sampler { name: "s.pbtxt" }
sampler { name: "adam" }
sampler { name: "../t.pbtxt" }
)");
  const ExperimentFile e = load_experiment(directory / "e.pbtxt");
  BOOST_CHECK_EQUAL(e.targets[0].graph, directory / "u.pbtxt");
  BOOST_CHECK_EQUAL(e.targets[1].graph, "/tmp/u.pbtxt");
  BOOST_CHECK_EQUAL(e.data.files[0], (directory / "d.csv").string());
  BOOST_CHECK_EQUAL(e.data.files[1], "x=" + (directory / "x.npy").string());
  BOOST_CHECK_EQUAL(e.data.files[2], "y=/tmp/y.npy");
  BOOST_CHECK_EQUAL(e.data.test[0], (directory / "t.csv").string());
  BOOST_CHECK_EQUAL(e.data.test[1], "x=/tmp/t.npy");
  BOOST_CHECK_EQUAL(e.samplers[1].name, "adam");
  BOOST_CHECK_EQUAL(e.samplers[2].name, (directory / "../t.pbtxt").string());
  BOOST_CHECK_EQUAL(e.sampler(), (directory / "s.pbtxt").string());
  BOOST_CHECK_EQUAL(
      parse_experiment("format_version: 1\nsampler { name: \"sghmc\" }", "e", "/dir").sampler(),
      "sghmc");
}

BOOST_AUTO_TEST_CASE(files_are_told_apart_by_their_first_field) {
  const ScratchDirectory directory;
  const auto kind = [&](std::string_view text) {
    write_bytes(directory / "f.pbtxt", text);
    return kind_of_file(directory / "f.pbtxt");
  };
  BOOST_CHECK(kind(whole) == FileKind::experiment);
  BOOST_CHECK(kind("# learned { }\nformat_version: 1\nsampler: \"s\"") == FileKind::sampler);
  BOOST_CHECK(kind("sampler { name: \"sghmc\" }\nformat_version: 1") == FileKind::experiment);
  BOOST_CHECK(kind("sampler: { name: \"sghmc\" }") == FileKind::experiment);
  BOOST_CHECK(kind("learned {") == FileKind::sampler);
  BOOST_CHECK(kind("format_version: 1 run { ") == FileKind::experiment);
  BOOST_CHECK(kind("format_version: 1\ninputs { name: \"run\" }") == FileKind::graph);
  BOOST_CHECK(kind("format_version: 1\nrunn { }") == FileKind::graph);
  BOOST_CHECK(kind("") == FileKind::graph);
  BOOST_CHECK(kind("\x89PNG") == FileKind::graph);
  Graph graph;
  graph.add_output("x", input(graph, "x", {DType::f32, {}}).id);
  BOOST_CHECK(kind(to_binary(graph)) == FileKind::graph);
  BOOST_CHECK_EXCEPTION(kind_of_file(directory / "none"), Error,
                        [](const Error& error) { return error.kind() == ErrorKind::io; });
}

BOOST_AUTO_TEST_CASE(a_damaged_text_is_refused_or_is_an_experiment) {
  const std::string text = whole;
  std::size_t refused = 0;
  const auto load = [&](std::string bytes) {
    refused += !graph_error_of([&] { parse_experiment(std::move(bytes), "e"); }).empty();
  };
  for (std::size_t size = 0; size < text.size(); ++size) load(text.substr(0, size));
  BOOST_CHECK_GT(refused, text.size() / 2);
  for (std::size_t i = 0; i < text.size(); ++i)
    for (char change : {'\x01', '\x20', '\x40'}) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      load(damaged);  // checks that nothing but a graph Error comes out
    }
}

BOOST_AUTO_TEST_SUITE_END()
