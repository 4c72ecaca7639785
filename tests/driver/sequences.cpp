// Sequences of different lengths from their files to predictions: a recurrent network in a graph
// file, an experiment, several samplers, a sampler that is trained on them.
#include <fmt/format.h>
#include <signal.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/npy.hpp"
#include "engine/evaluate.hpp"
#include "graphs/experiment_file.hpp"
#include "graphs/graph_file.hpp"
#include "models/gru.hpp"
#include "runs.hpp"

namespace whorl::testing {

namespace {

// Melodies of 5 keys that go up or down by one key a frame.
struct Melodies : Runs {
  Melodies() {
    write_set("train", {7, 3, 40, 12, 1, 9, 25, 7}, 1);
    write_set("valid", {8, 5}, 2);
    write_set("test", {30, 2, 11}, 3);
    const std::filesystem::path source = WHORL_SOURCE_DIR;
    std::filesystem::copy_file(source / "graphs/energies/gru.pbtxt", directory / "gru.pbtxt");
    directory.write("melodies.pbtxt", experiment);
  }

  void write_set(const std::string& name, const std::vector<std::int64_t>& lengths,
                 int first) const {
    std::filesystem::create_directories(directory / name);
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      Tensor frames({DType::f32, {lengths[s], 5}});
      const std::int64_t by = s % 2 == 0 ? 1 : 4;
      for (std::int64_t t = 0; t < lengths[s]; ++t)
        for (std::int64_t key = 0; key < 5; ++key)
          frames.data<float>()[t * 5 + key] = (first + t * by) % 5 == key ? 1.f : 0.f;
      save_npy(directory / fmt::format("{}/{:03}.npy", name, s), frames);
    }
  }

  void must(const std::string& text) const {
    const Outcome made = call(text);
    BOOST_REQUIRE_MESSAGE(made.code == 0, made.err);
  }
  std::string failure(const std::string& text) const {
    const Outcome made = call(text);
    return fmt::format("{}: {}", made.code, made.err.substr(0, made.err.find('\n')));
  }
  std::vector<nlohmann::json> metrics(const std::string& run) const {
    std::vector<nlohmann::json> lines;
    std::istringstream text(directory.read(run + "/metrics.jsonl"));
    for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }

  static constexpr const char* experiment = R"(
format_version: 1
experiment: "melodies"
targets {
  graph: "gru.pbtxt"
  sizes { name: "hidden" value: 6 }
  sizes { name: "gates" value: 18 }
}
data { sequences { input: "x" train: "train" validation: "valid" test: "test" } }
sampler {
  name: "sghmc"
  settings { name: "friction_times_step_size" value: 0.1 }
  learning_rate { constant: 0.05 }
}
sampler { name: "adam" learning_rate { constant: 0.02 } }
sampler { name: "psgld" settings { name: "moments" value: 1 } settings { name: "epsilon" value: 0.01 } learning_rate { constant: 0.01 } }
sampler { name: "santa" settings { name: "friction_times_step_size" value: 0.1 } learning_rate { constant: 0.001 } }
sampler { name: "learned.pbtxt" learning_rate { constant: 0.02 } }
run {
  chains: 3
  steps: 240
  burn_in: 120
  thin: 40
  position { normal { mean: 0 sd: 0.2 } }
  seed: 3
}
evaluation { every: 40 }
training {
  start {
    curl { hidden: 4 activation: "relu" inputs { name: "energy" scale: 0.3 low: -3 high: 0 } inputs { name: "momentum" low: -5 high: 5 } transform: "none" low: -5 high: 5 }
    diffusion { hidden: 4 activation: "relu" inputs { name: "energy" scale: 0.3 low: -3 high: 0 } inputs { name: "momentum" low: -5 high: 5 } inputs { name: "gradient" low: -5 high: 5 } transform: "absolute" scale: 2 low: 0 high: 100 }
    c: 1
    alpha_times_step_size: 0.01
    energy_input: "mean_log_joint"
    scale_gradient: true
    pilot { step_size: 0.01 friction: 5 chains: 2 steps: 40 }
  }
  curl_start: 1
  epochs: 2
  rollouts: 2
  steps: 10
  truncate: 5
  cross_chain { every: 2 ridge: 0.05 }
  adam { rate: 0.003 }
  chains: 4
  learning_rate: 0.02
  position { normal { mean: 0 sd: 0.2 } }
  momentum { constant: 0 }
  seed: 5
}
)";
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sequences, Melodies)

BOOST_AUTO_TEST_CASE(chains_are_judged_frame_by_frame_as_they_go) {
  for (const char* sampler : {"sghmc", "adam", "psgld", "santa"}) {
    must(fmt::format("sample melodies.pbtxt --sampler {0} --quiet --out {0}", sampler));
    const auto lines = metrics(sampler);
    BOOST_REQUIRE(lines.size() == 6u);
    BOOST_TEST(lines[5]["epoch"] == 30);  // 8 sequences are a pass
    BOOST_TEST(!lines[2].contains("average_nll"));
    for (const char* name : {"nll", "nll_after_first", "nll_by_sequence", "average_nll",
                             "validation_nll", "validation_average_nll_by_sequence"})
      BOOST_TEST(lines[5][name].get<double>() > 0, sampler << " " << name);
    BOOST_TEST(lines[5]["nll"].get<double>() < lines[0]["nll"].get<double>(), sampler);
    // A coin for every key is 5 log 2.
    BOOST_TEST(lines[5]["nll"].get<double>() < 3.46, sampler);
  }
}

BOOST_AUTO_TEST_CASE(any_number_of_threads_and_a_kill_on_the_way_give_the_same_bits) {
  const auto whole = [&](const std::string& run, const std::string& more) {
    must(fmt::format("sample melodies.pbtxt --quiet --out {} {}", run, more));
    return files(run);
  };
  const std::string often = "--with storage.checkpoint_seconds=0.001";
  const auto base = whole("base", often + " --threads 1");
  for (int threads : {2, 3})
    BOOST_TEST(differences(base, whole(fmt::format("threads{}", threads),
                                       often + fmt::format(" --threads {}", threads))) == "");
  // Killed later and later, until it comes to its end; most kills fall between two checkpoints.
  const std::string begin = fmt::format("sample melodies.pbtxt --quiet {} --out ", often);
  std::string next = begin + "killed";
  int resumed = 0;
  for (int time = 50'000; time < 60'000'000; time += 20'000 + time / 3) {
    const int code = interrupted(next, SIGKILL, time);
    if (code == 0) break;
    BOOST_REQUIRE(code == 128 + SIGKILL);
    next = next_call(begin, "killed");
    resumed += next.starts_with("resume");
  }
  BOOST_TEST(resumed > 0);
  BOOST_TEST(differences(base, files("killed")) == "");
}

BOOST_AUTO_TEST_CASE(a_report_draws_the_first_rule_and_folds_the_others_away) {
  must("sample melodies.pbtxt --quiet --out run");
  must("report run -o page.html");
  const std::string page = directory.read("page.html");
  const std::size_t folded =
      page.find("<details>\n<summary>The same by other ways of counting frames");
  BOOST_REQUIRE(folded != std::string::npos);
  const std::size_t end = page.find("</details>", folded);
  for (const char* first : {">Test negative log likelihood<",
                            ">Validation negative log likelihood, posterior average<"})
    BOOST_TEST(page.find(first) < folded, first);
  for (const char* other :
       {">Test negative log likelihood without first frames<",
        ">Validation negative log likelihood by sequence, posterior average<"}) {
    const std::size_t at = page.find(other);
    BOOST_TEST((folded < at && at < end), other);
  }
}

BOOST_AUTO_TEST_CASE(what_the_chains_predict_is_told_at_the_end) {
  const Outcome made = call("sample melodies.pbtxt --out run");
  BOOST_REQUIRE_MESSAGE(made.code == 0, made.err);
  const auto last = metrics("run").back();
  for (const auto& [label, prefix] : {std::pair("test", ""), std::pair("average", "average_"),
                                      std::pair("its average", "validation_average_")}) {
    const auto number = [&, begin = prefix](const char* name) {
      return last[fmt::format("{}{}", begin, name)].get<double>();
    };
    const std::string line = fmt::format(
        "  {:<11}  NLL {:.5f} a frame, {:.5f} without first frames, {:.5f} by sequence\n", label,
        number("nll"), number("nll_after_first"), number("nll_by_sequence"));
    BOOST_TEST(made.out.find(line) != std::string::npos, line << " in\n" << made.out);
  }
  const Outcome again = call("sample melodies.pbtxt --quiet --json --out again");
  const auto scores = nlohmann::json::parse(again.out)["scores"];
  BOOST_TEST(scores["average_nll"] == last["average_nll"]);
  BOOST_TEST(scores.size() == 12);
  BOOST_TEST(!std::filesystem::exists(directory / "run/scores.json"));
}

BOOST_AUTO_TEST_CASE(predictions_need_no_training_data) {
  must("sample melodies.pbtxt --quiet --out run");
  const Outcome before = call("predict run --json --quiet");
  std::filesystem::remove_all(directory / "train");
  const Outcome after = call("predict run --json --quiet");
  BOOST_TEST(after.out == before.out, after.err);
  write_set("wide", {4}, 0);
  save_npy(directory / "wide/000.npy", Tensor({DType::f32, {4, 6}}));
  BOOST_TEST(failure("predict run --data wide --quiet") ==
             "4: [predict] run: the draws of parameter 'w_x' are [5,18]; the data given need "
             "[6,18]");
}

BOOST_AUTO_TEST_CASE(frames_that_are_no_probabilities_are_refused_with_their_place) {
  write_set("loud", {3, 4}, 1);
  Tensor frames({DType::f32, {4, 5}});
  frames.data<float>()[2 * 5 + 3] = 127;
  save_npy(directory / "loud/001.npy", frames);
  BOOST_TEST(
      failure("sample melodies.pbtxt --with data.sequences.test=loud --quiet --out run") ==
      fmt::format("4: [sample] {}: sequence 2, frame 3, column 4 is 127; expected 0 to 1, as "
                  "bernoulli_cross_entropy has it",
                  "loud"));
}

BOOST_AUTO_TEST_CASE(data_that_judge_themselves_are_told) {
  const Outcome made = call("sample melodies.pbtxt --with data.sequences.test=train --out run");
  BOOST_REQUIRE_MESSAGE(made.code == 0, made.err);
  BOOST_TEST(made.err.find("train and train have the same sequences: what is learned is judged by "
                           "itself") != std::string::npos,
             made.err);
}

BOOST_AUTO_TEST_CASE(tables_and_tensors_beside_the_graph_are_refused) {
  BOOST_TEST(failure("sample melodies.pbtxt --data train --quiet --out run") ==
             "2: [sample] --data is for tables and arrays, and the experiment has sequences; as in "
             "--with data.sequences.train=songs.mat:pieces");
  std::string graph = directory.read("gru.pbtxt");
  const std::string constant = "constants { name: \"nothing\" type: \"f32[]\" values: [0] }";
  const std::size_t at = graph.find(constant);
  BOOST_REQUIRE(at != std::string::npos);
  graph.replace(at, constant.size(),
                "constants { name: \"nothing\" type: \"f32[]\" external { path: \"zero.bin\" } }");
  directory.write("gru.pbtxt", graph);
  directory.write("zero.bin", std::string(4, '\0'));
  const std::string found = failure("sample melodies.pbtxt --quiet --out run");
  BOOST_TEST(found.starts_with("3: [load] gru.pbtxt:"), found);
  BOOST_TEST(found.ends_with("external path 'zero.bin' is refused: the graph must be whole without "
                             "other files"),
             found);
}

BOOST_AUTO_TEST_CASE(stored_draws_predict_what_the_run_has_averaged) {
  must("sample melodies.pbtxt --quiet --out run");
  const Outcome made = call("predict run --json --out p.npy --quiet");
  BOOST_REQUIRE_MESSAGE(made.code == 0, made.err);
  const auto found = nlohmann::json::parse(made.out);
  const auto last = metrics("run").back();
  BOOST_TEST(found["draws"] == 9);
  BOOST_TEST(found["frames"] == 43);
  BOOST_TEST(found["sequences"] == 3);
  for (const char* name : {"nll", "nll_after_first", "nll_by_sequence"})
    BOOST_TEST(found[name].get<double>() == last[fmt::format("average_{}", name)].get<double>(),
               boost::test_tools::tolerance(1e-12));
  const Tensor losses = npy("p.npy");
  BOOST_TEST(to_string(losses.type()) == "f64[43]");
  double sum = 0;
  for (std::int64_t t = 0; t < 43; ++t) sum += losses.at(t);
  BOOST_TEST(sum / 43 == found["nll"].get<double>(), boost::test_tools::tolerance(1e-12));
  const Outcome others = call("predict run --data valid --json --quiet");
  BOOST_REQUIRE_MESSAGE(others.code == 0, others.err);
  BOOST_TEST(nlohmann::json::parse(others.out)["nll"].get<double>() ==
                 last["validation_average_nll"].get<double>(),
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(failure("predict run --data valid --data test --quiet") ==
             "2: [predict] --data is given 2 times; sequences are in one place");
  const Outcome text = call("predict run --quiet");
  BOOST_TEST(text.out.starts_with("3 sequences of 43 frames in all, 9 draws\n  NLL"));
}

BOOST_AUTO_TEST_CASE(a_sampler_is_trained_on_windows_and_used_on_whole_sequences) {
  must("train melodies.pbtxt --with data.sequences.window=8 --quiet --out trained");
  must("check --sampler trained/sampler.pbtxt");
  must("sample melodies.pbtxt --sampler trained/sampler.pbtxt --quiet --out used");
  BOOST_TEST(metrics("used").back()["nll"].get<double>() < 3.46);
  const ExperimentFile stored = load_experiment(directory / "trained/config.pbtxt");
  BOOST_TEST(*stored.data.sequences->window == 8);
  BOOST_TEST(stored.data.sequences->train == (directory / "train"));
}

BOOST_AUTO_TEST_CASE(the_energy_in_the_library_is_that_of_the_model) {
  LoadOptions options;
  options.sizes = {{"frames", 9}, {"keys", 5}, {"hidden", 6}, {"gates", 18}};
  const Graph file = load_graph(directory / "gru.pbtxt", options);
  const Gru model{5, 6};
  const Graph built = model.energy_graph(DType::f32, 9);
  Feeds feeds;
  std::uint32_t state = 1;
  for (NodeId id : built.input_nodes()) {
    Tensor tensor(built.type(id));
    for (std::int64_t i = 0; i < tensor.elements() && tensor.dtype() == DType::f32; ++i)
      tensor.data<float>()[i] =
          static_cast<float>((state = state * 1664525u + 1013904223u) >> 8) / 16777216.f - 0.5f;
    feeds.emplace(std::string(built.name(id)), tensor);
  }
  *feeds.at("length").data<std::int32_t>() = 7;
  const auto outputs = [&](const Graph& graph) {
    std::vector<NodeId> nodes;
    for (const Graph::Output& output : graph.outputs()) nodes.push_back(output.node);
    return evaluate(graph, feeds, nodes);
  };
  const std::vector<Tensor> a = outputs(file), b = outputs(built);
  BOOST_REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::int64_t j = 0; j < a[i].elements(); ++j)
      BOOST_TEST(a[i].at(j) == b[i].at(j), boost::test_tools::tolerance(1e-5));
  BOOST_TEST(a[2].at(6) > 0);
  BOOST_TEST(a[2].at(7) == 0);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_one_sentence) {
  const std::string run = "sample melodies.pbtxt --quiet --out run ";
  BOOST_TEST(failure(run + "--with data.sequences.input=z") ==
             "2: [sample] sequences: the energy has no data input 'z'");
  BOOST_TEST(
      failure(run + "--with data.sequences.input=length") ==
      "2: [sample] the data input 'x' has no data: sequences feed 'length', and 'length' with "
      "their lengths");
  BOOST_TEST(failure(run + "--with data.sequences.train=nowhere") ==
             "6: [data] nowhere: cannot open: No such file or directory");
  BOOST_TEST(failure(run + "--with data.sequences.window=0") ==
             "3: [load] melodies.pbtxt:9: data.sequences.window is 0, expected at least 1");
  BOOST_TEST(failure(run + "--with data.sequences.weighting=note") ==
             "3: [load] melodies.pbtxt:9: data.sequences.weighting is 'note', expected one of "
             "sequence, frame");
  BOOST_TEST(failure(run + "--with data.batch=2") ==
             "3: [load] melodies.pbtxt:9: data.batch is given beside sequences, which have their "
             "own");
  BOOST_TEST(failure(run + "--batch 2") ==
             "2: [sample] the data are sequences, one a step: files, columns and batches of rows "
             "cannot be used");
  directory.write("flat.pbtxt", R"(
format_version: 1
inputs { name: "x" type: "f32[4,5]" }
inputs { name: "length" type: "i32[]" }
inputs { name: "w" type: "f32[5]" role: "parameter" }
nodes { name: "h" op: "matmul" inputs: ["x", "w"] }
nodes { name: "likelihood" op: "sum" inputs: ["h"] }
nodes { name: "prior" op: "sum" inputs: ["w"] }
outputs { name: "prior" }
outputs { name: "likelihood" }
)");
  directory.write("flat_run.pbtxt", R"(
format_version: 1
targets { graph: "flat.pbtxt" }
data { sequences { input: "x" train: "train" } }
sampler { name: "sgld" }
run { chains: 1 steps: 4 step_size { constant: 0.01 } }
)");
  BOOST_TEST(failure("sample flat_run.pbtxt --quiet --out run") ==
             "2: [sample] sequences: the input 'x' is f32[4,5]; expected [frames,columns] with a "
             "name for its first size, which changes from sequence to sequence");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing
