// whorl sample from end to end, through the program: what it draws, says and leaves behind.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/property_tree/json_parser.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "program.hpp"

namespace whorl::testing {

namespace {

using Json = boost::property_tree::ptree;

// Networks that are constant, Q = 1 and D = 1, and yet want to know the scale of the task.
const char* const disguised_sghmc = R"(
format_version: 1
sampler: "SGHMC in disguise"
learned {
  curl {
    hidden: 1 inputs { name: "energy" } inputs { name: "momentum" }
    activation: "relu" weights: [0, 0, 0, 0, 1]
  }
  diffusion {
    hidden: 1 inputs { name: "energy" } inputs { name: "momentum" } inputs { name: "gradient" }
    activation: "relu" transform: "square" weights: [0, 0, 0, 0, 0, 1]
  }
  energy_input: "asinh" scale_momentum: true scale_gradient: true
  pilot { step_size: 0.05 friction: 1 chains: 8 steps: 400 }
}
)";

// y ~ N(x w, 1), w ~ N(0, 1); prior and likelihood apart, for any number of rows and columns.
const char* const linear_regression = R"(
format_version: 1
sizes { name: "rows" value: 10 }
sizes { name: "columns" value: 2 }
inputs { name: "x" type: "f32[rows,columns]" }
inputs { name: "y" type: "f32[rows]" }
inputs { name: "w" type: "f32[columns]" role: "parameter" }
constants { name: "half" type: "f32[]" values: [0.5] }
nodes { name: "mean" op: "matmul" inputs: ["x", "w"] }
nodes { name: "error" op: "sub" inputs: ["y", "mean"] }
nodes { name: "error2" op: "square" inputs: ["error"] }
nodes { name: "misfit" op: "sum" inputs: ["error2"] }
nodes { name: "likelihood" op: "mul" inputs: ["half", "misfit"] }
nodes { name: "w2" op: "square" inputs: ["w"] }
nodes { name: "norm" op: "sum" inputs: ["w2"] }
nodes { name: "prior" op: "mul" inputs: ["half", "norm"] }
outputs { name: "prior" node: "prior" }
outputs { name: "likelihood" node: "likelihood" }
)";

const char* const gaussian_experiment = R"(
format_version: 1
experiment: "a small Gaussian"
targets { gaussian { dimension: 3 mean: 3 correlated: 0.6 seed: 4 smallest_sd: 0.3 } }
sampler { name: "sghmc" settings { name: "friction" value: 2 } }
run {
  chains: 20 steps: 2000 burn_in: 0 thin: 1 seed: 1
  step_size { constant: 0.1 }
  position { uniform { low: 0 high: 6 } }
}
)";

// The target as in U' = U'' (w - m): 30 rows of two waves and a line, y = 1.5 a - b + wave.
struct Regression {
  std::string csv = "a,y,b\n";
  double precision[2][2] = {{1, 0}, {0, 1}}, right[2] = {0, 0};

  Regression() {
    for (int i = 0; i < 30; ++i) {
      const double t = i, a = std::sin(t), b = 0.1 * t - 1.5;
      const double y = 1.5 * a - b + std::cos(3 * t);
      csv += fmt::format("{},{},{}\n", a, y, b);
      const double x[2] = {a, b};
      for (int j = 0; j < 2; ++j) {
        for (int k = 0; k < 2; ++k) precision[j][k] += x[j] * x[k];
        right[j] += x[j] * y;
      }
    }
  }
  double determinant() const {
    return precision[0][0] * precision[1][1] - precision[0][1] * precision[1][0];
  }
  double mean(int j) const {
    return (precision[1 - j][1 - j] * right[j] - precision[0][1] * right[1 - j]) / determinant();
  }
  double sd(int j) const { return std::sqrt(precision[1 - j][1 - j] / determinant()); }
};

struct Fixture : Program {
  Fixture() {
    directory.write("linear.pbtxt", linear_regression);
    directory.write("gaussian.pbtxt", gaussian_experiment);
    directory.write("d.csv", Regression().csv);
  }

  std::string must(const std::string& words) const {
    const Outcome outcome = (*this)(words);
    BOOST_TEST(outcome.code == 0, outcome.err);
    return outcome.out;
  }
  Json json(const std::string& words) const {
    std::istringstream text(must(words + " --json"));
    Json tree;
    boost::property_tree::read_json(text, tree);
    return tree;
  }
};

// The mean within 5.85 standard errors, the sd within its own: sd / sqrt(2 ess).
void check_parameter(const Json& found, double mean, double sd, double bias = 0) {
  const double mcse = found.get<double>("mcse"), ess = found.get<double>("ess");
  BOOST_TEST(std::abs(found.get<double>("mean") - mean) < 5.85 * mcse + bias * sd);
  BOOST_TEST(std::abs(found.get<double>("sd") - sd) < 5.85 * sd / std::sqrt(2 * ess) + bias * sd);
}

const Json& parameter(const Json& report, std::size_t i) {
  return std::next(report.get_child("parameters").begin(), static_cast<std::ptrdiff_t>(i))->second;
}

const std::string data = " --data d.csv --columns x=a,b";

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sample, Fixture)

BOOST_AUTO_TEST_CASE(a_linear_regression_has_its_closed_form) {
  const Regression exact;
  const Json hmc = json(
      "sample linear.pbtxt --sampler hmc --step-size 0.15 --chains 8 --steps 1500"
      " --burn-in 100" +
      data);
  for (int j = 0; j < 2; ++j)
    check_parameter(parameter(hmc, static_cast<std::size_t>(j)), exact.mean(j), exact.sd(j));
  BOOST_TEST(hmc.get<double>("statistics.accepted") > 0.8);
  BOOST_TEST(parameter(hmc, 1).get<std::string>("name") == "w[1]");

  const Json sghmc = json(
      "sample linear.pbtxt --step-size 0.02 --set friction=2 --chains 16"
      " --steps 4000 --burn-in 500 --thin 5" +
      data);
  for (int j = 0; j < 2; ++j)
    check_parameter(parameter(sghmc, static_cast<std::size_t>(j)), exact.mean(j), exact.sd(j),
                    0.05);
  BOOST_TEST(std::abs(sghmc.get<double>("temperature") - 1) < 0.05);
  BOOST_TEST(sghmc.get<int>("draws") == 700);
  BOOST_TEST(sghmc.get_child("warnings").empty());
}

BOOST_AUTO_TEST_CASE(minibatches_have_the_same_mean) {
  const Regression exact;
  const Json report = json(
      "sample linear.pbtxt --step-size 0.004 --set friction=20 --chains 16"
      " --steps 6000 --burn-in 1000 --thin 10 --batch 10" +
      data);
  for (int j = 0; j < 2; ++j) {
    const Json& found = parameter(report, static_cast<std::size_t>(j));
    BOOST_TEST(std::abs(found.get<double>("mean") - exact.mean(j)) <
               5.85 * found.get<double>("mcse") + 0.05 * exact.sd(j));
  }
}

BOOST_AUTO_TEST_CASE(a_logistic_regression_agrees_with_hmc) {
  write_regression(*this);
  const std::string files = " --data x=x.npy --data y=y.npy";
  const Json hmc = json(
      "sample energy.pbtxt --sampler hmc --step-size 0.3 --chains 16"
      " --steps 1500 --burn-in 100" +
      files);
  const Json sghmc = json(
      "sample energy.pbtxt --step-size 0.05 --chains 16 --steps 8000 --thin 8"
      " --burn-in 800" +
      files);
  BOOST_TEST(parameter(sghmc, 2).get<std::string>("name") == "b");
  for (std::size_t j = 0; j < 3; ++j) {
    const Json &a = parameter(hmc, j), &b = parameter(sghmc, j);
    const double se = std::hypot(a.get<double>("mcse"), b.get<double>("mcse"));
    BOOST_TEST(std::abs(a.get<double>("mean") - b.get<double>("mean")) <
               5.85 * se + 0.05 * a.get<double>("sd"));
  }
}

BOOST_AUTO_TEST_CASE(a_learned_sampler_with_constant_networks_is_sghmc) {
  directory.write("learned.pbtxt", disguised_sghmc);
  const std::string words = "sample linear.pbtxt --step-size 0.02 --steps 100 --batch 10" + data;
  const Json report = json(words + " --sampler learned.pbtxt --out learned");
  must(words + " --out sghmc");
  BOOST_TEST(draws("learned", "w").same_bits(draws("sghmc", "w")));
  BOOST_TEST(report.get<double>("statistics.curl") == 1);
  // What its pilot run measured: the noise of minibatches heats p a little.
  BOOST_TEST(std::abs(report.get<double>("task.momentum_rms") - 1) < 0.3);
  BOOST_TEST(report.get<double>("task.energy_sd") > 0.5);
  const Json quotients = json(words +
                              " --sampler learned.pbtxt --set correction="
                              "finite_differences");
  BOOST_TEST(quotients.get<double>("statistics.fallbacks") < 0.1);
  BOOST_TEST(std::abs(parameter(quotients, 0).get<double>("mean") -
                      parameter(report, 0).get<double>("mean")) < 1e-3);
  // A rule of its own for the step size goes before a file's, and a flag before both.
  const std::string rule = "step_size_times_gradient_rms: 0.2 largest_step_size: 0.5 energy_input";
  std::string text = disguised_sghmc;
  text.replace(text.find("energy_input"), 12, rule);
  directory.write("rule.pbtxt", text);
  const Json ruled = json("sample linear.pbtxt --sampler rule.pbtxt --out ruled" + data);
  BOOST_TEST(ruled.get<double>("step_size") == 0.2 / ruled.get<double>("task.gradient_rms"));
  BOOST_TEST(json(words + " --sampler rule.pbtxt").get<double>("step_size") == 0.02);
  const Json repeated = json("sample ruled/config.pbtxt --out ruled2");
  BOOST_TEST(repeated.get<double>("step_size") == ruled.get<double>("step_size"));
  BOOST_TEST(draws("ruled", "w").same_bits(draws("ruled2", "w")));
  // The directory has all that is needed to do it again.
  directory.write("learned.pbtxt", "");
  must("sample learned/config.pbtxt --out again");
  BOOST_TEST(draws("again", "w").same_bits(draws("sghmc", "w")));
}

BOOST_AUTO_TEST_CASE(a_sampler_with_its_own_step_size_never_turns_the_momentum_around) {
  std::string strong = disguised_sghmc;  // D = 1e4
  strong.replace(strong.rfind("0, 1]"), 5, "0, 100]");
  directory.write("as_written.pbtxt", strong);
  strong.replace(strong.find("pilot"), 5,
                 "step_size_times_gradient_rms: 0.1 largest_step_size: 1 pilot");
  directory.write("learned.pbtxt", strong);
  const Json report = json("sample linear.pbtxt --sampler learned.pbtxt --steps 100" + data);
  BOOST_TEST(std::abs(report.get<double>("statistics.diffusion") * report.get<double>("step_size") -
                      1) < 1e-6);
  const Json written =
      json("sample linear.pbtxt --sampler as_written.pbtxt --step-size 1e-4 --steps 100" + data);
  BOOST_TEST(written.get<double>("statistics.diffusion") == 1e4);
}

BOOST_AUTO_TEST_CASE(a_sampler_written_by_hand_has_the_closed_form) {
  const Regression exact;
  const std::string file = WHORL_SOURCE_DIR "/graphs/samplers/slow_in_the_bulk.pbtxt";
  const Json report = json(
      "sample linear.pbtxt --step-size 0.02 --chains 16 --steps 4000"
      " --burn-in 500 --thin 5 --sampler " +
      file + data);
  for (int j = 0; j < 2; ++j)
    check_parameter(parameter(report, static_cast<std::size_t>(j)), exact.mean(j), exact.sd(j),
                    0.05);
}

BOOST_AUTO_TEST_CASE(a_gaussian_is_measured_against_its_exact_law) {
  const Json report = json("sample gaussian.pbtxt --out run");
  for (std::size_t j = 0; j < 3; ++j) {
    const Json& found = parameter(report, j);
    BOOST_TEST(found.get<double>("exact_mean") == 3);
    // All states count, also those on the way in.
    check_parameter(found, 3, found.get<double>("exact_sd"), 0.15);
  }
  const Json& curve = report.get_child("kl");
  BOOST_TEST(curve.size() == 20);
  BOOST_TEST(curve.front().second.get<int>("step") == 100);
  BOOST_TEST(curve.back().second.get<double>("kl") < curve.front().second.get<double>("kl"));
  BOOST_TEST(curve.back().second.get<double>("kl") < 0.05);
  BOOST_TEST(report.get<double>("vector_ess") > 20);

  // The curve is that of all states: here they are all draws.
  BOOST_TEST(to_string(draws("run", "theta").type()) == "f64[20,2000,3]");
  std::istringstream lines(directory.read("run/metrics.jsonl"));
  std::string line;
  int count = 0;
  while (std::getline(lines, line)) {
    std::istringstream text(line);
    Json metrics;
    boost::property_tree::read_json(text, metrics);
    BOOST_TEST(metrics.get<int>("step") == 100 * ++count);
    BOOST_TEST(metrics.get<double>("energy") > 0);
  }
  BOOST_TEST(count == 20);
}

BOOST_AUTO_TEST_CASE(a_count_of_gaussians_is_so_many_targets) {
  const auto with = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  };
  directory.write("several.pbtxt", with(gaussian_experiment, "smallest_sd: 0.3 }", "} count: 3"));
  directory.write("third.pbtxt",
                  with(with(gaussian_experiment, "smallest_sd: 0.3", ""), "seed: 4", "seed: 6"));
  const Json several = json("sample several.pbtxt --target 3 --steps 100 --out several");
  json("sample third.pbtxt --steps 100 --out third");
  BOOST_TEST(draws("several", "theta").same_bits(draws("third", "theta")));
  BOOST_TEST(directory.read("several/config.pbtxt") == directory.read("third/config.pbtxt"));
  BOOST_TEST(several.get<double>("step_size") == 0.1);
}

BOOST_AUTO_TEST_CASE(draws_are_the_same_bits_on_any_number_of_threads) {
  for (const std::string& words : {"linear.pbtxt --step-size 0.02 --steps 300 --batch 7" + data,
                                   std::string("gaussian.pbtxt --steps 300")}) {
    const std::string name = words.starts_with("linear") ? "w" : "theta";
    for (const char* threads : {"1", "2", "4"})
      must(fmt::format("sample {} --threads {} --out run{} --overwrite", words, threads, threads));
    const Tensor base = draws("run1", name);
    BOOST_TEST(base.elements() > 1000);
    BOOST_TEST(draws("run2", name).same_bits(base));
    BOOST_TEST(draws("run4", name).same_bits(base));
    must(fmt::format("sample {} --seed 9 --out run4 --overwrite", words));
    BOOST_TEST(!draws("run4", name).same_bits(base));
  }
}

BOOST_AUTO_TEST_CASE(data_come_from_tables_and_arrays_in_any_mix) {
  const std::string words = "sample linear.pbtxt --step-size 0.02 --steps 40 --out ";
  must(words + "given --data d.csv --columns x=a,b");
  // y has a column of its own name, and x takes the others.
  must(words + "guessed --data d.csv");
  // The same numbers as arrays, which tell the number of features as well.
  Tensor x({DType::f64, {30, 2}}), y({DType::f64, {30}});
  std::istringstream lines(Regression().csv);
  std::string line;
  std::getline(lines, line);
  for (int row = 0; std::getline(lines, line); ++row) {
    std::istringstream cells(line);
    char comma;
    cells >> x.data<double>()[2 * row] >> comma >> y.data<double>()[row] >> comma >>
        x.data<double>()[2 * row + 1];
  }
  npy("x.npy", x);
  npy("y.npy", y);
  must(words + "arrays --data x=x.npy --data y=y.npy");
  must(words + "mixed --data d.csv --data x=x.npy");
  const Tensor first = draws("given", "w");
  for (const char* other : {"guessed", "arrays", "mixed"})
    BOOST_TEST(draws(other, "w").same_bits(first), other);

  // An input without rows is bound as it is.
  const std::string half = "constants { name: \"half\" type: \"f32[]\" values: [0.5] }";
  std::string text = linear_regression;
  text.replace(text.find(half), half.size(), "inputs { name: \"half\" type: \"f32[]\" }");
  directory.write("scaled.pbtxt", text);
  npy("half.npy", Tensor::scalar(0.5));
  must(
      "sample scaled.pbtxt --step-size 0.02 --steps 40 --out whole --data d.csv"
      " --data half=half.npy");
  BOOST_TEST(draws("whole", "w").same_bits(first));
}

BOOST_AUTO_TEST_CASE(images_are_rows_of_as_many_columns_as_they_have_pixels) {
  // IDX, as MNIST has it: u8[3,2,2] and u8[3], of which f32[rows,columns] and f32[rows] are fed.
  using namespace std::string_literals;
  directory.write("images", "\0\0\x08\3\0\0\0\3\0\0\0\2\0\0\0\2\1\2\3\4\5\6\7\0\1\0\0\2"s);
  directory.write("labels", "\0\0\x08\1\0\0\0\3\1\0\2"s);
  npy("x.npy", Tensor::of<float>({3, 4}, {1, 2, 3, 4, 5, 6, 7, 0, 1, 0, 0, 2}));
  npy("y.npy", Tensor::of<float>({3}, {1, 0, 2}));
  const std::string words = "sample linear.pbtxt --step-size 0.001 --steps 40 --out ";
  must(words + "idx --data x=images --data y=labels");
  must(words + "npy --data x=x.npy --data y=y.npy");
  BOOST_TEST(draws("idx", "w").same_bits(draws("npy", "w")));
  BOOST_TEST(draws("idx", "w").shape()[2] == 4);
}

BOOST_AUTO_TEST_CASE(santa_refines_after_half_of_the_steps_unless_it_is_told_when) {
  const std::string words =
      "sample linear.pbtxt --data d.csv --sampler santa --step-size 0.0025 --steps 100 ";
  must(words + "--out usual");
  must(words + "--set refine_from=50 --out same");
  must(words + "--set refine_from=51 --out other");
  BOOST_TEST(draws("same", "w").same_bits(draws("usual", "w")));
  BOOST_TEST(!draws("other", "w").same_bits(draws("usual", "w")));
  // Its friction is multiplied by the root of the step size.
  must(words + "--set friction=2 --out by_friction");
  must(words + "--set friction_times_step_size=0.1 --out by_product");
  BOOST_TEST(draws("by_product", "w").same_bits(draws("by_friction", "w")));
  BOOST_TEST(!draws("by_product", "w").same_bits(draws("usual", "w")));
}

BOOST_AUTO_TEST_CASE(thinning_and_burn_in_choose_among_the_same_states) {
  const std::string words = "sample gaussian.pbtxt --steps 120 --out ";
  must(words + "all");
  must(words + "some --burn-in 13 --thin 7");
  const Tensor all = draws("all", "theta"), some = draws("some", "theta");
  BOOST_TEST(to_string(some.type()) == "f64[20,15,3]");
  for (std::int64_t chain = 0; chain < 20; ++chain)
    for (std::int64_t draw = 0; draw < 15; ++draw)
      for (std::int64_t i = 0; i < 3; ++i)
        BOOST_REQUIRE(some.at((chain * 15 + draw) * 3 + i) ==
                      all.at((chain * 120 + 13 + 7 * (draw + 1) - 1) * 3 + i));
}

// Without a path, only the end of a group of steps can be a draw.
BOOST_AUTO_TEST_CASE(draws_at_the_ends_of_groups_are_the_same_states) {
  const std::string words = "sample linear.pbtxt --step-size 0.02 --steps 120 --out ";
  must(words + "all --burn-in 0" + data);
  must(words + "some --burn-in 20 --thin 20" + data);
  const Tensor all = draws("all", "w"), some = draws("some", "w");
  BOOST_TEST(to_string(some.type()) == "f64[4,5,2]");
  for (std::int64_t chain = 0; chain < 4; ++chain)
    for (std::int64_t draw = 0; draw < 5; ++draw)
      for (std::int64_t i = 0; i < 2; ++i)
        BOOST_REQUIRE(some.at((chain * 5 + draw) * 2 + i) ==
                      all.at((chain * 120 + 20 * (draw + 2) - 1) * 2 + i));
}

// Steps are made in groups; here the last group of 20 has 19 steps of burn-in.
BOOST_AUTO_TEST_CASE(means_leave_out_burn_in_to_the_step) {
  directory.write("plain.pbtxt", R"(
format_version: 1
inputs { name: "w" type: "f32[2]" role: "parameter" }
nodes { name: "w2" op: "square" inputs: ["w"] }
nodes { name: "U" op: "sum" inputs: ["w2"] }
outputs { name: "U" }
)");
  const std::string words = "sample plain.pbtxt --step-size 0.1 --chains 3 --steps 120 ";
  must(words + "--burn-in 0 --out all");
  const Tensor all = draws("all", "w");
  double expected = 0;
  for (std::int64_t chain = 0; chain < 3; ++chain)
    for (std::int64_t i = 0; i < 2; ++i)
      expected += std::pow(all.at((chain * 120 + 118) * 2 + i), 2) / 3;
  const double found = json(words + "--burn-in 119").get<double>("energy");
  BOOST_TEST(std::abs(found - expected) < 1e-6 * expected);
}

BOOST_AUTO_TEST_CASE(a_learned_sampler_that_may_be_unstable_gets_a_note) {
  std::string text = disguised_sghmc;
  text.replace(text.find("transform: \"square\""), 19, "transform: \"square\" low: 0 high: 200");
  directory.write("bounded.pbtxt", text);
  const std::string words = "sample linear.pbtxt --sampler bounded.pbtxt --steps 20" + data;
  const Outcome noted = (*this)(words + " --step-size 0.02");
  BOOST_TEST(noted.code == 0);
  BOOST_TEST(
      noted.err ==
      "note: step size 0.02 times the sampler's largest D, 200, is not below 2: the momentum "
      "would grow wherever D is that large\n");
  BOOST_TEST((*this)(words + " --step-size 0.009").err == "");
  // With a rule for its step size, a sampler keeps D small by itself.
  text.replace(text.find("energy_input"), 12, "step_size_times_gradient_rms: 0.2 energy_input");
  directory.write("bounded.pbtxt", text);
  BOOST_TEST((*this)(words + " --step-size 0.02").err == "");
}

BOOST_AUTO_TEST_CASE(a_run_can_be_repeated_from_what_it_left) {
  const std::string words =
      "sample linear.pbtxt --step-size phases:0=0.02,50=0.01 --steps 200"
      " --batch 5 --standardise x --chains 3 --start uniform:-1,1"
      " --set friction=3 --out first" +
      data;
  must(words);
  std::filesystem::remove(directory / "linear.pbtxt");
  must("sample first/config.pbtxt --out second");
  const Tensor first = draws("first", "w");
  BOOST_TEST(first.elements() > 500);
  BOOST_TEST(draws("second", "w").same_bits(first));
  BOOST_TEST(directory.read("second/config.pbtxt") == directory.read("first/config.pbtxt"));
}

BOOST_AUTO_TEST_CASE(what_is_printed_tells_the_table_and_the_warnings) {
  const std::string good = must("sample linear.pbtxt --sampler hmc --step-size 0.15" + data);
  BOOST_TEST(
      good.starts_with("linear.pbtxt, sampled by hmc\n  chains    4 of 2000 steps\n"
                       "  draws     1000 a chain, every state after 1000 steps of burn-in\n"
                       "  time      "));
  BOOST_TEST(good.find("\nparameter        mean          sd      mcse   R-hat      ESS\nw[0]  ") !=
             std::string::npos);
  BOOST_TEST(good.find("warning") == std::string::npos);
  const std::string bad = must("sample linear.pbtxt --sampler sgld --step-size 1e-5" + data);
  BOOST_TEST(bad.find("\nwarning: R-hat is ") != std::string::npos);
  BOOST_TEST(bad.find("\nwarning: ESS is ") != std::string::npos);
  const std::string hot =
      must("sample linear.pbtxt --step-size 0.02 --gradient-noise 10 --chains 16" + data);
  BOOST_TEST(hot.find("\nwarning: the kinetic temperature is ") != std::string::npos);
  // One chain cannot tell how well it knows its temperature.
  BOOST_TEST(
      must("sample linear.pbtxt --step-size 0.02 --gradient-noise 3 --chains 1 --steps 20000" +
           data)
          .find("the kinetic temperature is ") == std::string::npos);
  BOOST_TEST(must("sample gaussian.pbtxt --steps 8")
                 .find("\nESS of the whole vector: not known: too few draws\n") !=
             std::string::npos);
  BOOST_TEST(must("sample gaussian.pbtxt --steps 60 --step-size 1e-4")
                 .find(" a chain, or less: correlations last beyond lag 20\n") !=
             std::string::npos);
  BOOST_TEST(must("sample linear.pbtxt --step-size 0.02 --steps 5 --burn-in 2" + data)
                 .find("warning: R-hat and ESS need at least 4 draws a chain, there are 3\n") !=
             std::string::npos);
  BOOST_TEST(must("sample linear.pbtxt --step-size 0.02 --steps 5 --quiet" + data).empty());
}

BOOST_AUTO_TEST_CASE(what_is_wrong_with_a_run_is_said_in_words) {
  const auto says = [&](const std::string& words, const std::string& text) {
    const std::string out = must("sample linear.pbtxt " + words + data);
    BOOST_TEST(out.find(text) != std::string::npos, out);
    return out;
  };
  says("--step-size 0.02 --gradient-noise 10 --chains 16",
       ": a smaller step size or more friction may help\n");
  // Momenta that begin at 0 and have no time to warm up.
  directory.write(
      "cold.pbtxt",
      "format_version: 1 experiment: \"cold\" targets { gaussian { dimension: 50 mean: 0 "
      "diagonal: 1 smallest_sd: 0.05 } } run { step_size { constant: 0.001 } momentum { "
      "constant: 0 } }");
  const std::string cold = must("sample cold.pbtxt --steps 100 --burn-in 10 --start 0");
  BOOST_TEST(cold.find(", expected 1: the chains may not have settled; more burn-in may help\n") !=
             std::string::npos);
  says("--sampler hmc --step-size 0.42",
       "% of the proposals were accepted with step size 0.42, less "
       "than 50%: a smaller step size may help\n");
  says("--sampler hmc --step-size 100", "warning: 4 of 4 chains never moved\n");
  says("--sampler psgld --step-size 0.01",
       "note: psgld: its moving average makes the draws biased, however small the step size\n");
  for (const std::string optimiser : {"santa", "adam", "sgdm"}) {
    const std::string out = says("--sampler " + optimiser + " --step-size 0.001",
                                 "warning: " + optimiser +
                                     " is an optimiser: the spread of the "
                                     "draws is not a posterior's\n");
    BOOST_TEST(out.find("R-hat is ") == std::string::npos);
    BOOST_TEST(out.find("ESS is ") == std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(data_that_no_input_takes_are_told) {
  const std::string words = "sample linear.pbtxt --step-size 0.02 --steps 10 ";
  BOOST_TEST((*this)(words + "--data d.csv --columns x=a").err ==
             "note: d.csv: no input takes column b\n");
  npy("x.npy", Tensor({DType::f64, {30, 2}}));
  npy("y.npy", Tensor({DType::f64, {30}}));
  BOOST_TEST((*this)(words + "--data d.csv --data x=x.npy --data y=y.npy").err ==
             "note: no input takes anything of d.csv\n");
  directory.write("c.csv", "a,y,b\n1,2,3\n1,3,4\n");
  const std::string constant = (*this)(words + "--data c.csv --standardise x").err;
  BOOST_TEST(constant.find("'a'") != std::string::npos, constant);
}

BOOST_AUTO_TEST_CASE(a_path_may_have_an_equals_sign) {
  const std::string words = "sample linear.pbtxt --step-size 0.02 --steps 10 --out ";
  std::filesystem::create_directory(directory / "n=30");
  directory.write("n=30/d.csv", Regression().csv);
  directory.write("n=30.csv", Regression().csv);
  must(words + "one --data n=30/d.csv");
  must(words + "two --data n=30.csv");
  must("sample one/config.pbtxt --out three");
  must("sample two/config.pbtxt --out four");
  const Tensor first = draws("one", "w");
  for (const char* other : {"two", "three", "four"})
    BOOST_TEST(draws(other, "w").same_bits(first), other);
}

BOOST_AUTO_TEST_CASE(a_sampler_file_may_have_any_name) {
  directory.write("learned.txt", disguised_sghmc);
  const std::string words = "sample linear.pbtxt --step-size 0.02 --steps 10 --out ";
  must(words + "one --sampler learned.txt" + data);
  must(words + "two" + data);
  BOOST_TEST(draws("one", "w").same_bits(draws("two", "w")));
}

BOOST_AUTO_TEST_CASE(an_own_step_size_that_diverges_says_what_to_give) {
  std::string text = disguised_sghmc;
  text.replace(text.find("energy_input"), 12,
               "step_size_times_gradient_rms: 1e3 largest_step_size: 1e3 energy_input");
  directory.write("wild.pbtxt", text);
  const std::string found = error("sample linear.pbtxt --sampler wild.pbtxt" + data);
  BOOST_TEST(found.starts_with("7: [sample] the energy has grown to "), found);
  BOOST_TEST(found.ends_with(", is by the sampler's own rule: give another with --step-size"),
             found);
}

// A second without a line on a pipe, so quick runs are silent.
BOOST_AUTO_TEST_CASE(nothing_is_said_on_the_way_of_a_quick_run) {
  BOOST_TEST((*this)("sample gaussian.pbtxt --steps 100").err.empty());
}

BOOST_AUTO_TEST_CASE(a_signal_stops_a_run_after_it_wrote_what_there_is) {
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string where = directory.path();
    if (::chdir(where.c_str()) != 0) ::_exit(99);
    ::dup2(::open("said.txt", O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    ::dup2(::open("errors.txt", O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    ::execl(WHORL_BINARY, "whorl", "sample", "gaussian.pbtxt", "--steps", "200000", "--thin", "10",
            "--out", "run", static_cast<char*>(nullptr));
    ::_exit(96);
  }
  // The first line of metrics tells that it is on its way.
  for (int i = 0; i < 2000 && directory.read("run/metrics.jsonl").empty(); ++i) ::usleep(5000);
  ::kill(child, SIGINT);
  int status = 0;
  ::waitpid(child, &status, 0);
  BOOST_REQUIRE(WIFEXITED(status));
  BOOST_TEST(WEXITSTATUS(status) == 130);
  const std::string said = directory.read("errors.txt");
  BOOST_TEST(said.find("[sample] stopped by a signal after step ") != std::string::npos, said);
  BOOST_TEST(said.ends_with(" of 200000; 'whorl resume run' goes on\n"), said);
  BOOST_TEST(directory.read("said.txt").starts_with("gaussian.pbtxt, sampled by sghmc\n"));
  const std::int64_t made = draws("run", "theta").shape()[1];
  BOOST_TEST(made > 0);
  BOOST_TEST(made < 20000);
}

BOOST_AUTO_TEST_CASE(help_fits_a_screen) {
  const std::string help = must("sample --help");
  BOOST_TEST(std::count(help.begin(), help.end(), '\n') <= 40);
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) BOOST_TEST(line.size() <= 100u, line);
  BOOST_TEST(help.find("--step-size is required unless the experiment or the sampler gives one") !=
             std::string::npos);
  BOOST_TEST(help.find("\nExample:\n  whorl sample ") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing
