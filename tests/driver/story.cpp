// A graph written by hand, from the file to the gradient to many chains.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <sstream>

#include "program.hpp"

namespace whorl::testing {

namespace {

const std::string data = " --feed x=x.npy --feed y=y.npy";

struct Fixture : Program {
  Fixture() { write_regression(*this); }

  std::string must(const std::string& words) const {
    const Outcome outcome = (*this)(words);
    BOOST_TEST(outcome.code == 0, words << ": " << outcome.err);
    BOOST_TEST(outcome.err == "");
    return outcome.out;
  }
};

void check_near(const Tensor& tensor, std::initializer_list<double> wanted) {
  BOOST_REQUIRE(tensor.elements() == static_cast<std::int64_t>(wanted.size()));
  std::int64_t i = 0;
  for (double value : wanted) BOOST_TEST(std::abs(tensor.at(i++) - value) < 1e-5);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(story, Fixture)

BOOST_AUTO_TEST_CASE(check_sums_up_a_graph) {
  const std::string text = must("check energy.pbtxt --threads 1");
  BOOST_TEST(text.substr(0, text.find("  work")) ==
             "energy.pbtxt is a valid graph\n"
             "  inputs      x  f32[4,2]       data\n"
             "              y  f32[4]         data\n"
             "              w  f32[2]         parameter\n"
             "              b  f32[]          parameter\n"
             "  outputs     U  f32[]\n"
             "  nodes       14: input 4, add 2, sum 2, bernoulli_cross_entropy 1, broadcast 1, "
             "fill 1, matmul 1, mul 1, square 1\n"
             "  parameters  3 numbers\n");
  BOOST_TEST(text.find("; critical path 6 nodes\n  memory      ") != std::string::npos);
  BOOST_TEST(text.find("\n  hash        ") != std::string::npos);
  BOOST_TEST(must("check energy.pbtxt --quiet") == "");
}

BOOST_AUTO_TEST_CASE(show_prints_a_line_for_every_node) {
  const std::string text = must("show energy.pbtxt");
  BOOST_TEST(
      text.starts_with("%0 = input() {dtype=f32, shape=[4,2], role=\"data\"} : f32[4,2]  # x\n"));
  BOOST_TEST(text.ends_with("output U = %13\n"));
  BOOST_TEST(must("show energy.pbtxt --dot g.dot") ==
             "wrote g.dot: draw it with 'dot -Tsvg -O g.dot'\n");
  const std::string dot = directory.read("g.dot");
  BOOST_TEST(dot.starts_with("digraph"));
  BOOST_TEST(dot == must("show energy.pbtxt --dot -"));
  BOOST_TEST(must("show energy.pbtxt --optimised").find("%") == 0u);
}

BOOST_AUTO_TEST_CASE(run_prints_and_stores_outputs) {
  const std::string feeds = data + " --feed w=w.npy --feed b=b.npy";
  // All probabilities are 1/2: U = 4 log 2.
  BOOST_TEST(must("run energy.pbtxt" + feeds) == "U  f32[]  2.7725887\n");
  BOOST_TEST(must("run energy.pbtxt --fetch U=U.npy" + feeds) == "U  f32[]  wrote U.npy\n");
  check_near(npy("U.npy"), {4 * std::log(2.0)});
  BOOST_TEST(must("run energy.pbtxt --fetch logits" + feeds) ==
             "U  f32[]  2.7725887\nlogits  f32[4]  [0, 0, 0, 0]\n");
}

BOOST_AUTO_TEST_CASE(quiet_prints_only_what_is_asked_for) {
  const std::string quiet = "run energy.pbtxt --quiet --feed w=w.npy --feed b=b.npy" + data;
  BOOST_TEST(must(quiet) == "");
  BOOST_TEST(must(quiet + " --repeat 2 --fetch U=U.npy") == "");
  BOOST_TEST(must(quiet + " --fetch logits") == "logits  f32[4]  [0, 0, 0, 0]\n");
  BOOST_TEST(must(quiet + " --profile").starts_with("mean of 1 run after one warm-up\n"));
  BOOST_TEST(must(quiet + " --json").starts_with("{"));
  BOOST_TEST(must("grad energy.pbtxt --of U --wrt w -o g.pb --quiet") == "");
  BOOST_TEST(must("show energy.pbtxt --quiet") == must("show energy.pbtxt"));
  BOOST_TEST(must("show energy.pbtxt --quiet --dot g.dot") == "");
}

BOOST_AUTO_TEST_CASE(a_stored_gradient_runs_like_any_other_graph) {
  const std::string text = must("grad energy.pbtxt --of U --wrt w,b -o gradient.pb");
  BOOST_TEST(text.starts_with("wrote gradient.pb: "));
  BOOST_TEST(text.ends_with(" nodes, outputs U f32[], grad/w f32[2], grad/b f32[]\n"));
  must("check gradient.pb");
  must("run gradient.pb --feed w=w.npy --feed b=b.npy --fetch grad/w=gw.npy --fetch grad/b=gb.npy" +
       data);
  // dU/dw = sum_n (1/2 - y_n) x_n, dU/db = sum_n (1/2 - y_n).
  check_near(npy("gw.npy"), {-1.5, 1});
  check_near(npy("gb.npy"), {0});
}

BOOST_AUTO_TEST_CASE(text_and_binary_gradients_are_the_same_graph) {
  must("grad energy.pbtxt --of U --wrt w -o a.pb");
  must("grad energy.pbtxt --of U --wrt w -o a.pbtxt");
  BOOST_TEST(must("show a.pb") == must("show a.pbtxt"));
  BOOST_TEST(directory.read("a.pb") != directory.read("a.pbtxt"));
}

BOOST_AUTO_TEST_CASE(a_gradient_can_be_differentiated_again) {
  directory.write("cube.pbtxt", R"(
format_version: 1
inputs { name: "x" type: "f64[]" role: "parameter" }
nodes { name: "square" op: "mul" inputs: "x" inputs: "x" }
nodes { name: "cube" op: "mul" inputs: "square" inputs: "x" }
outputs { name: "cube" }
)");
  must("grad cube.pbtxt --of cube --wrt x -o first.pb");
  must("grad first.pb --of grad/x --wrt x -o second.pb --keep-outputs");
  npy("x.npy", Tensor::scalar(2.0));
  BOOST_TEST(must("run second.pb --feed x=x.npy") ==
             "grad/x  f64[]  12\ngrad/x/x  f64[]  12\ncube  f64[]  8\n");
}

BOOST_AUTO_TEST_CASE(chains_by_shape_equal_chains_one_by_one) {
  must("grad energy.pbtxt --of U --wrt w,b -o gradient.pb");
  const auto w = Tensor::of<float>({3, 2}, {0, 0, 1, -2, 0.5, 3});
  npy("w3.npy", w);
  const std::string rest = data + " --feed b=b.npy --fetch U=U.npy --fetch grad/w=g.npy";
  must("run gradient.pb --feed w=w3.npy" + rest);
  const Tensor energies = npy("U.npy"), gradients = npy("g.npy");
  BOOST_TEST(to_string(energies.type()) == "f32[3]");
  BOOST_TEST(to_string(gradients.type()) == "f32[3,2]");
  for (std::int64_t chain = 0; chain < 3; ++chain) {
    npy("w1.npy", Tensor::of<float>({2}, w.values<float>().subspan(2 * chain, 2)));
    must("run gradient.pb --feed w=w1.npy" + rest);
    check_near(npy("U.npy"), {energies.at(chain)});
    check_near(npy("g.npy"), {gradients.at(2 * chain), gradients.at(2 * chain + 1)});
  }
}

BOOST_AUTO_TEST_CASE(chains_by_option_draw_their_own_parameters) {
  const std::string words = "run energy.pbtxt --random-feeds --fetch w=w.npy --quiet" + data;
  must(words + " --chains 4");
  const Tensor four = npy("w.npy");
  BOOST_TEST(to_string(four.type()) == "f32[4,2]");
  BOOST_TEST(four.at(0) != four.at(2));
  // The numbers of a chain do not depend on how many there are, but on the seed.
  must(words + " --chains 2");
  const Tensor two = npy("w.npy");
  for (std::int64_t i = 0; i < 4; ++i) BOOST_TEST(two.at(i) == four.at(i));
  must(words + " --chains 2 --seed 1");
  BOOST_TEST(npy("w.npy").at(0) != two.at(0));
}

BOOST_AUTO_TEST_CASE(the_same_bits_come_out_for_any_number_of_threads) {
  for (int threads : {1, 2, 3})
    must("run energy.pbtxt --chains 50 --random-feeds --fetch U=" + std::to_string(threads) +
         ".npy --threads " + std::to_string(threads));
  BOOST_TEST(directory.read("1.npy") == directory.read("2.npy"));
  BOOST_TEST(directory.read("1.npy") == directory.read("3.npy"));
}

BOOST_AUTO_TEST_CASE(profile_and_repeat_tell_where_the_time_goes) {
  const std::string text =
      must("run energy.pbtxt --random-feeds --repeat 10 --profile --threads 1");
  BOOST_TEST(text.find("\n10 runs on 1 thread, the fastest took ") != std::string::npos);
  BOOST_TEST(text.find("\nmean of 10 runs after one warm-up\n") != std::string::npos);
  BOOST_TEST(text.find("  step\n") != std::string::npos);
  BOOST_TEST(text.find("scores:matmul\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(large_outputs_are_summed_up) {
  directory.write("iota.pbtxt", R"(
format_version: 1
nodes { name: "y" op: "iota" attr { name: "shape" ints: 101 } attr { name: "axis" i: 0 } }
outputs { name: "y" }
)");
  BOOST_TEST(must("run iota.pbtxt") == "y  i32[101]  min 0  mean 50  max 100\n");
  BOOST_TEST(must("run iota.pbtxt --fetch y").starts_with("y  i32[101]  [0, 1, 2, 3, "));
}

BOOST_AUTO_TEST_CASE(every_command_speaks_json) {
  BOOST_TEST(must("run energy.pbtxt --json --feed w=w.npy --feed b=b.npy" + data)
                 .find("\"values\": [2.7725887]") != std::string::npos);
  BOOST_TEST(must("check energy.pbtxt --json").find("\"parameters\": 3,") != std::string::npos);
  BOOST_TEST(must("show energy.pbtxt --json").find("\"op\": \"matmul\",") != std::string::npos);
  BOOST_TEST(must("ops clamp --json").find("\"name\": \"clamp\",") != std::string::npos);
  BOOST_TEST(must("grad energy.pbtxt --of U --wrt b -o b.pb --json").find("\"grad/b\"") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(ops_lists_the_table_and_tells_about_one_op) {
  const std::string table = must("ops");
  BOOST_TEST(table.find("\nmatmul ") != std::string::npos);
  BOOST_TEST(table.find(" condition, yes, no\n") != std::string::npos);
  BOOST_TEST(must("ops clamp") ==
             "clamp(x)\n"
             "  types        f32 f64\n"
             "  attribute    low: a number, required\n"
             "  attribute    high: a number, required\n"
             "  gradient     a rule of its own\n");
}

BOOST_AUTO_TEST_CASE(help_fits_a_screen_and_shows_an_example) {
  for (const char* words :
       {"--help", "check --help", "show -h", "run --help", "grad --help", "ops --help"}) {
    const std::string text = must(words);
    BOOST_TEST(std::count(text.begin(), text.end(), '\n') <= 24);
    BOOST_TEST(text.find("Example") != std::string::npos);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) BOOST_TEST(line.size() <= 100u);
  }
  BOOST_TEST(must("help") == must("--help"));
  BOOST_TEST(must("help run") == must("run --help"));
  BOOST_TEST(must("--version").starts_with("whorl 0."));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing
