// Sampler files: what is saved is what was there, to the last bit; hashes; hand-written samplers.
#include <bit>
#include <random>

#include "engine/evaluate.hpp"
#include "engine/ops.hpp"
#include "graphs/experiment_file.hpp"
#include "graphs/sampler_file.hpp"
#include "samplers/chains.hpp"
#include "samplers/dynamics.hpp"
#include "tests/graphs/files.hpp"

using namespace whorl;
using namespace whorl::test;

namespace {

LearnedSampler small_sampler() {
  LearnedSampler sampler;
  sampler.curl.hidden = {2};
  sampler.curl.inputs = {{0.5, -1}, {1, 0}};
  sampler.curl.low = -5;
  sampler.curl.high = 5;
  sampler.curl.weights = {0.1, -0.25, 1e-9, 3, 1.0 / 3, 0, -1e22, 7, 8};
  sampler.diffusion.hidden = {1, 1};
  sampler.diffusion.activation = "tanh";
  sampler.diffusion.inputs.resize(3);
  sampler.diffusion.transform = Transform::softplus;
  sampler.diffusion.scale = 2;
  sampler.diffusion.weights = {1, 2, 3, 4, 5, 6, 7, 8};
  sampler.beta = 1;
  sampler.c = 0.01;
  sampler.alpha_times_step_size = 0.01;
  sampler.energy_input = EnergyInput::asinh;
  sampler.scale_gradient = true;
  sampler.statistics.energy_sd = 2.5;
  return sampler;
}

SamplerFile small_file() {
  SamplerFile file;
  file.name = "small";
  file.record = {{"made by", "a test"}, {"seed", "7"}};
  file.learned = small_sampler();
  return file;
}

std::filesystem::path stored(std::string_view name) {
  return std::filesystem::path(WHORL_SOURCE_DIR) / "graphs" / "samplers" /
         fmt::format("{}.pbtxt", name);
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  });
}

// U = |x|^2 / 2.
Energy round_energy(std::int64_t n, DType dtype) {
  Graph graph;
  const Value x = input(graph, "x", {dtype, {n}}, "parameter");
  graph.add_output("U", (0.5 * sum(square(x))).id);
  return Energy(std::move(graph));
}

Step step_of(const SamplerFile& file, std::int64_t n, DType dtype) {
  return recipe_step(round_energy(n, dtype),
                     complete_recipe(graph_dynamics(file.variables, file.dynamics(n, dtype))));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sampler_files)

BOOST_AUTO_TEST_CASE(a_saved_sampler_reads_well) {
  BOOST_CHECK_EQUAL(to_pbtxt(small_file()), R"(# A sampler that was learned, to be used with
#   whorl sample ENERGY --sampler FILE
# Numbers are exact. The hash guards them: remove its line before you change anything.
format_version: 1
sampler: "small"
hash: "d47e12df42e9418a5608f41d7801290e"
learned {
  curl {
    hidden: [2]
    activation: "relu"
    inputs { name: "energy" scale: 0.5 shift: -1 }
    inputs { name: "momentum" scale: 1 shift: 0 }
    transform: "none"
    scale: 1
    low: -5
    high: 5
    weights: [0.1, -0.25, 1e-09, 3, 0.3333333333333333, 0, -1e+22, 7, 8]
  }
  diffusion {
    hidden: [1, 1]
    activation: "tanh"
    inputs { name: "energy" scale: 1 shift: 0 }
    inputs { name: "momentum" scale: 1 shift: 0 }
    inputs { name: "gradient" scale: 1 shift: 0 }
    transform: "softplus"
    scale: 2
    weights: [1, 2, 3, 4, 5, 6, 7, 8]
  }
  beta: 1
  c: 0.01
  alpha_times_step_size: 0.01
  energy_input: "asinh"
  scale_momentum: false
  scale_gradient: true
  pilot { step_size: 0.025 friction: 1 chains: 16 steps: 2000 }
  statistics { energy_mean: 0 energy_sd: 2.5 momentum_rms: 1 gradient_rms: 1 }
}
record { key: "made by" value: "a test" }
record { key: "seed" value: "7" }
)");
}

BOOST_AUTO_TEST_CASE(long_lists_of_weights_are_wrapped) {
  SamplerFile file = small_file();
  file.learned->curl.hidden = {10};
  draw_weights(*file.learned, 1);
  const std::string text = to_pbtxt(file);
  std::size_t start = 0;
  for (std::size_t end; (end = text.find('\n', start)) != text.npos; start = end + 1)
    BOOST_CHECK_LE(end - start, 100u);
  BOOST_CHECK(text.find("    weights: [\n      ") != text.npos);
}

BOOST_AUTO_TEST_CASE(a_loaded_sampler_is_the_saved_one_bit_for_bit) {
  std::mt19937_64 random(5);
  SamplerFile file = small_file();
  LearnedSampler& sampler = *file.learned;
  sampler.curl.hidden = {64, 32};
  draw_weights(sampler, 3);
  for (double& weight : sampler.curl.weights) {
    const double drawn = std::bit_cast<double>(random());
    if (std::isfinite(drawn)) weight = drawn;
  }
  sampler.curl.weights[0] = -0.0;
  sampler.curl.weights[1] = 5e-324;
  const ScratchDirectory directory;
  save_sampler(file, directory / "s.pbtxt");
  const SamplerFile loaded = load_sampler(directory / "s.pbtxt");
  BOOST_CHECK_EQUAL(loaded.name, file.name);
  BOOST_CHECK(loaded.record == file.record);
  BOOST_REQUIRE(loaded.learned.has_value());
  BOOST_CHECK(same_bits(loaded.learned->curl.weights, sampler.curl.weights));
  BOOST_CHECK(same_bits(loaded.learned->diffusion.weights, sampler.diffusion.weights));
  BOOST_CHECK_EQUAL(to_pbtxt(loaded), to_pbtxt(file));
  BOOST_CHECK_EQUAL(to_pbtxt(loaded), file_bytes(directory / "s.pbtxt"));
}

BOOST_AUTO_TEST_CASE(every_field_of_a_learned_sampler_is_kept) {
  SamplerFile file = small_file();
  const LearnedSampler loaded = *parse_sampler(to_pbtxt(file), "s").learned;
  const LearnedSampler wanted = small_sampler();
  BOOST_CHECK(loaded.curl.hidden == wanted.curl.hidden);
  BOOST_CHECK_EQUAL(loaded.diffusion.activation, "tanh");
  BOOST_CHECK_EQUAL(loaded.curl.inputs[0].scale, 0.5);
  BOOST_CHECK_EQUAL(loaded.curl.inputs[0].shift, -1);
  BOOST_CHECK(loaded.diffusion.transform == Transform::softplus);
  BOOST_CHECK_EQUAL(loaded.diffusion.scale, 2);
  BOOST_CHECK_EQUAL(loaded.curl.low, -5);
  BOOST_CHECK_EQUAL(loaded.curl.high, 5);
  BOOST_CHECK_EQUAL(loaded.diffusion.high, 0);
  BOOST_CHECK_EQUAL(loaded.alpha, 0);
  BOOST_CHECK_EQUAL(loaded.alpha_times_step_size, 0.01);
  BOOST_CHECK_EQUAL(loaded.beta, 1);
  BOOST_CHECK_EQUAL(loaded.c, 0.01);
  BOOST_CHECK(loaded.energy_input == EnergyInput::asinh);
  BOOST_CHECK(!loaded.scale_momentum);
  BOOST_CHECK(loaded.scale_gradient);
  BOOST_CHECK_EQUAL(loaded.pilot.steps, wanted.pilot.steps);
  BOOST_CHECK_EQUAL(loaded.statistics.energy_sd, 2.5);
  // A rule for the step size, which alpha must not depend on.
  file.learned->alpha_times_step_size = 0;
  file.learned->step_size_times_gradient_rms = 0.3;
  file.learned->largest_step_size = 0.75;
  const LearnedSampler ruled = *parse_sampler(to_pbtxt(file), "s").learned;
  BOOST_CHECK_EQUAL(ruled.step_size_times_gradient_rms, 0.3);
  BOOST_CHECK_EQUAL(ruled.largest_step_size, 0.75);
}

BOOST_AUTO_TEST_CASE(clamps_of_inputs_are_kept) {
  SamplerFile file = small_file();
  const std::string hash = canonical_hash(file);
  file.learned->curl.inputs[1].low = -5;
  file.learned->curl.inputs[1].high = 4;
  BOOST_CHECK(canonical_hash(file) != hash);
  const SamplerFile loaded = parse_sampler(to_pbtxt(file), "s");
  BOOST_CHECK_EQUAL(loaded.learned->curl.inputs[1].low, -5);
  BOOST_CHECK_EQUAL(loaded.learned->curl.inputs[1].high, 4);
  BOOST_CHECK_EQUAL(loaded.learned->curl.inputs[0].high, 0);
}

BOOST_AUTO_TEST_CASE(a_sampler_that_looks_at_means_is_kept) {
  SamplerFile file = small_file();
  const std::string hash = canonical_hash(file);
  file.learned->energy_input = EnergyInput::mean_log_joint;
  file.learned->mean_gradient = true;
  file.learned->trained_size = 15910;
  BOOST_CHECK(canonical_hash(file) != hash);
  const std::string text = to_pbtxt(file);
  BOOST_CHECK_MESSAGE(text.find("  energy_input: \"mean_log_joint\"\n") != text.npos, text);
  BOOST_CHECK_MESSAGE(text.find("  mean_gradient: true\n  trained_size: 15910\n") != text.npos,
                      text);
  const SamplerFile loaded = parse_sampler(text, "s");
  BOOST_CHECK(loaded.learned->energy_input == EnergyInput::mean_log_joint);
  BOOST_CHECK(loaded.learned->mean_gradient);
  BOOST_CHECK_EQUAL(loaded.learned->trained_size, 15910);
  BOOST_CHECK_EQUAL(to_pbtxt(loaded), text);
  BOOST_CHECK(loaded.record == file.record);
  // Each by itself is part of what the sampler does.
  SamplerFile other = file;
  other.learned->mean_gradient = false;
  BOOST_CHECK(canonical_hash(other) != canonical_hash(file));
  other = file;
  other.learned->trained_size = 0;
  BOOST_CHECK(canonical_hash(other) != canonical_hash(file));
  BOOST_CHECK_EQUAL(parse_sampler(to_pbtxt(other), "s").learned->trained_size, 0);
}

BOOST_AUTO_TEST_CASE(the_hash_is_of_what_the_sampler_does) {
  const SamplerFile file = small_file();
  BOOST_CHECK_EQUAL(canonical_hash(file), "d47e12df42e9418a5608f41d7801290e");
  SamplerFile renamed = file;
  renamed.name = "another";
  renamed.record.clear();
  BOOST_CHECK_EQUAL(canonical_hash(renamed), canonical_hash(file));
  SamplerFile changed = file;
  changed.learned->curl.weights[4] = std::nextafter(1.0 / 3, 1);
  BOOST_CHECK(canonical_hash(changed) != canonical_hash(file));
}

BOOST_AUTO_TEST_CASE(an_edited_copy_is_refused_until_its_hash_is_removed) {
  std::string text = to_pbtxt(small_file());
  const auto at = text.find("beta: 1");
  text.replace(at, 7, "beta: 2");
  const std::string error = graph_error_of([&] { parse_sampler(text, "s"); });
  BOOST_CHECK_MESSAGE(
      error.starts_with(
          "[load] s:6: hash is d47e12df42e9418a5608f41d7801290e, but that of this sampler is "),
      error);
  BOOST_CHECK_MESSAGE(
      error.ends_with(": the file was changed after it was written; remove the line "
                      "if that is meant"),
      error);
  const auto hash = text.find("hash:");
  text.erase(hash, text.find('\n', hash) - hash);
  BOOST_CHECK_EQUAL(parse_sampler(text, "s").learned->beta, 2);
}

BOOST_AUTO_TEST_CASE(what_no_file_could_hold_is_not_saved) {
  SamplerFile file = small_file();
  file.learned->curl.weights.pop_back();
  BOOST_CHECK(graph_error_of([&] { to_pbtxt(file); }).find("has 8 numbers, expected 9") !=
              std::string::npos);
  file = small_file();
  file.learned->curl.weights[0] = std::numeric_limits<double>::infinity();
  BOOST_CHECK_EQUAL(graph_error_of([&] { to_pbtxt(file); }),
                    "[save] weights is inf, expected a finite number");
  file = small_file();
  file.name = "\xff";
  BOOST_CHECK_EQUAL(graph_error_of([&] { to_pbtxt(file); }), "[save] sampler is not UTF-8 text");
  BOOST_CHECK_EXCEPTION(save_sampler(small_file(), "s.txt"), Error, [](const Error& error) {
    return error.kind() == ErrorKind::usage &&
           std::string(error.what()) == "[save] s.txt: the name of a sampler file ends in .pbtxt";
  });
}

BOOST_AUTO_TEST_CASE(other_kinds_of_files_are_named) {
  BOOST_CHECK_EQUAL(graph_error_of([] { parse_sampler("\x89PNG\r\n", "s"); }),
                    "[load] s: this looks like a PNG image, not like a sampler; the file begins "
                    "with 89 50 4e 47 0d 0a");
  Graph graph;
  graph.add_output("x", input(graph, "x", {DType::f32, {}}).id);
  BOOST_CHECK_EQUAL(graph_error_of([&] { parse_sampler(to_binary(graph), "s"); }),
                    "[load] s: this is a binary graph, not a sampler");
  BOOST_CHECK_EXCEPTION(load_sampler("/nowhere/s.pbtxt"), Error,
                        [](const Error& error) { return error.kind() == ErrorKind::io; });
}

BOOST_AUTO_TEST_CASE(the_stored_samplers_make_steps_of_any_size_and_dtype) {
  for (const char* name : {"friction_uphill", "coordinate_thermostat", "slow_in_the_bulk"})
    BOOST_TEST_CONTEXT(name) {
      const SamplerFile file = load_sampler(stored(name));
      for (std::int64_t n : {1, 2, 7})
        for (DType dtype : {DType::f32, DType::f64}) {
          const Step step = step_of(file, n, dtype);
          BOOST_CHECK_EQUAL(step.state.size(), file.variables.size() + 1);
          BOOST_CHECK(step.state[0].type == (Type{dtype, {n}}));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_sampler_by_hand_survives_saving) {
  for (const char* name : {"friction_uphill", "coordinate_thermostat", "slow_in_the_bulk"})
    BOOST_TEST_CONTEXT(name) {
      const SamplerFile file = load_sampler(stored(name));
      const std::string text = to_pbtxt(file);
      const SamplerFile again = parse_sampler(text, "s");
      BOOST_CHECK_EQUAL(to_pbtxt(again), text);
      BOOST_CHECK_EQUAL(canonical_hash(again), canonical_hash(file));
      check_same(again.dynamics(5, DType::f64), file.dynamics(5, DType::f64));
      BOOST_REQUIRE_EQUAL(again.variables.size(), file.variables.size());
      for (std::size_t i = 0; i < file.variables.size(); ++i) {
        BOOST_CHECK_EQUAL(again.variables[i].name, file.variables[i].name);
        BOOST_CHECK(again.variables[i].start.kind == file.variables[i].start.kind);
        BOOST_CHECK_EQUAL(again.variables[i].start.a, file.variables[i].start.a);
        BOOST_CHECK_EQUAL(again.variables[i].start.b, file.variables[i].start.b);
      }
    }
}

BOOST_AUTO_TEST_CASE(a_function_becomes_a_graph_for_n_coordinates) {
  const SamplerFile file = load_sampler(stored("friction_uphill"));
  const Graph graph = file.dynamics(2, DType::f64);
  const auto outputs = evaluate(graph, {{"momentum", Tensor::of<double>({2}, {1, -2})},
                                        {"gradient", Tensor::of<double>({2}, {3, 5})}});
  for (int i = 0; i < 2; ++i) {
    BOOST_CHECK_EQUAL(outputs.at("Q").at(i), 1);
    const double climb = i == 0 ? 0.6 : -2;
    BOOST_CHECK_CLOSE(outputs.at("D").at(i), 0.7 + std::log1p(std::exp(climb)), 1e-12);
  }
  BOOST_CHECK(outputs.at("Q").type() == (Type{DType::f64, {2}}));
}

// The thermostat that Whorl has built in is the one that the file writes down.
BOOST_AUTO_TEST_CASE(the_stored_thermostat_is_the_built_in_one) {
  const SamplerFile file = load_sampler(stored("coordinate_thermostat"));
  const Step by_file = step_of(file, 3, DType::f64);
  const Step built_in =
      recipe_step(round_energy(3, DType::f64), complete_recipe(sgnht_dynamics(1, true)));
  const Feeds feeds{{"position", Tensor::of<double>({3}, {1, -2, 0.5})},
                    {"momentum", Tensor::of<double>({3}, {0.3, 2, -1})},
                    {"thermostat", Tensor::of<double>({3}, {1, 0.5, 2})},
                    {"seed", Tensor::of<std::int32_t>({2}, {1, 2})},
                    {"step", Tensor::scalar<std::int32_t>(3)},
                    {"step_size", Tensor::scalar(0.1)}};
  const auto a = evaluate(by_file.graph, feeds), b = evaluate(built_in.graph, feeds);
  for (const char* name : {"position", "momentum", "thermostat"})
    for (int i = 0; i < 3; ++i) BOOST_CHECK_CLOSE(a.at(name).at(i), b.at(name).at(i), 1e-10);
}

// Q = 0.5 + sigmoid(u - 1) + 0.1 tanh(p), D = 0.3 + Q^2, u = U / n, against the formulas by hand.
BOOST_AUTO_TEST_CASE(a_curl_of_the_energy_gets_all_terms_of_its_correction) {
  const SamplerFile file = load_sampler(stored("slow_in_the_bulk"));
  const Energy energy = round_energy(2, DType::f64);
  const Recipe recipe =
      complete_recipe(graph_dynamics(file.variables, file.dynamics(2, DType::f64)));
  StepBuilder step(energy, {});
  const Value momentum = step.state("momentum", step.vector());
  const State state{{step.position(), momentum}, step.energy(), step.gradient()};
  const Value by_position = recipe.terms(step, state, 0).correction,
              by_momentum = recipe.terms(step, state, 1).correction;
  const double theta[2]{1.5, -2}, p[2]{0.7, -0.4};
  const Feeds feeds{{"position", Tensor::of<double>({2}, {theta[0], theta[1]})},
                    {"momentum", Tensor::of<double>({2}, {p[0], p[1]})}};
  const auto found = evaluate(step.graph(), feeds, {by_position.id, by_momentum.id});
  const double u = (theta[0] * theta[0] + theta[1] * theta[1]) / 4;
  const double far = 1 / (1 + std::exp(1 - u));
  for (int i = 0; i < 2; ++i) {
    const double q = 0.5 + far + 0.1 * std::tanh(p[i]);
    const double dq_dp = 0.1 * (1 - std::tanh(p[i]) * std::tanh(p[i]));
    BOOST_CHECK_CLOSE(found[0].at(i), -dq_dp, 1e-9);
    BOOST_CHECK_CLOSE(found[1].at(i), far * (1 - far) / 2 * theta[i] + 2 * q * dq_dp, 1e-9);
  }
}

BOOST_AUTO_TEST_CASE(a_damaged_text_is_refused_or_is_a_sampler) {
  for (const std::string& text :
       {to_pbtxt(small_file()), to_pbtxt(load_sampler(stored("friction_uphill")))}) {
    const auto load = [](std::string bytes) {
      return graph_error_of([&] { parse_sampler(std::move(bytes), "s"); });
    };
    const std::size_t end = std::min(text.find("\nrecord"), text.size() - 1);
    for (std::size_t size = 0; size < end; ++size)
      BOOST_REQUIRE_MESSAGE(!load(text.substr(0, size)).empty(), "cut at " << size);
    for (std::size_t i = text.find("format_version"); i < text.size(); ++i)
      for (char change : {'\x01', '\x20', '\x40'}) {
        std::string damaged = text;
        damaged[i] = static_cast<char>(damaged[i] ^ change);
        load(damaged);  // checks that nothing but a graph Error comes out
      }
  }
}

BOOST_AUTO_TEST_SUITE_END()
