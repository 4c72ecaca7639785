// What a user may get wrong, and the exact sentence and exit code for it.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "program.hpp"

namespace whorl::testing {

namespace {

const std::string feeds = " --feed x=x.npy --feed y=y.npy --feed w=w.npy --feed b=b.npy";

struct Fixture : Program {
  Fixture() { write_regression(*this); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(errors, Fixture)

BOOST_AUTO_TEST_CASE(commands) {
  BOOST_TEST(error("") == "2: [whorl] a command is missing; see 'whorl --help'");
  BOOST_TEST(error("chek energy.pbtxt") ==
             "2: [whorl] unknown command 'chek', did you mean 'check'?; see 'whorl --help'");
  BOOST_TEST(error("forecast energy.pbtxt") ==
             "2: [whorl] unknown command 'forecast'; expected one of: check, show, run, grad, "
             "train, sample, resume, predict, summary, table, report, ops; see 'whorl --help'");
  BOOST_TEST(error("--threads 2 run") ==
             "2: [whorl] option '--threads' before the command; options follow it");
}

BOOST_AUTO_TEST_CASE(options) {
  BOOST_TEST(
      error("run energy.pbtxt --theads 2") ==
      "2: [run] unknown option '--theads', did you mean '--threads'?; see 'whorl run --help'");
  BOOST_TEST(
      error("run energy.pbtxt --thread 2") ==
      "2: [run] unknown option '--thread', did you mean '--threads'?; see 'whorl run --help'");
  BOOST_TEST(
      error("run energy.pbtxt --rand") ==
      "2: [run] unknown option '--rand', did you mean '--random-feeds'?; see 'whorl run --help'");
  BOOST_TEST(error("check energy.pbtxt --zzzzzzz") ==
             "2: [check] unknown option '--zzzzzzz'; see 'whorl check --help'");
  BOOST_TEST(error("check energy.pbtxt -z") ==
             "2: [check] unknown option '-z'; see 'whorl check --help'");
  BOOST_TEST(error("run energy.pbtxt --rest x") ==
             "2: [run] unknown option '--rest', did you mean '--feed'?; see 'whorl run --help'");
  BOOST_TEST(error("run energy.pbtxt --threads") == "2: [run] option '--threads' needs a value");
  BOOST_TEST(error("run energy.pbtxt --threads --json") ==
             "2: [run] option '--threads' needs a value");
  BOOST_TEST(error("run energy.pbtxt --json=yes") ==
             "2: [run] option '--json' does not take a value");
  BOOST_TEST(error("run energy.pbtxt --threads 1 --threads 2") ==
             "2: [run] option '--threads' is given twice");
  BOOST_TEST(error("run energy.pbtxt --json --json") == "2: [run] option '--json' is given twice");
  BOOST_TEST(error("check") == "2: [check] GRAPH is missing; as in: whorl check energy.pbtxt");
  BOOST_TEST(error("check energy.pbtxt other.pbtxt") ==
             "2: [check] unexpected argument 'other.pbtxt'; see 'whorl check --help'");
  BOOST_TEST(error("run energy.pbtxt --feed x=x.npy y=y.npy") ==
             "2: [run] unexpected argument 'y=y.npy': every file has its own option, as in "
             "--feed y=y.npy");
}

BOOST_AUTO_TEST_CASE(numbers) {
  const auto cores = std::max(1u, std::thread::hardware_concurrency());
  BOOST_TEST(error("run energy.pbtxt --threads -1" + feeds) ==
             "2: [run] --threads is out of range: -1; expected 0 to " + std::to_string(4 * cores));
  const std::string many = std::to_string(4 * cores + 1);
  BOOST_TEST(error("run energy.pbtxt --threads " + many + feeds) ==
             "2: [run] --threads is out of range: " + many + "; expected 0 to " +
                 std::to_string(4 * cores));
  BOOST_TEST(error("run energy.pbtxt --threads two" + feeds) ==
             "2: [run] --threads is not a whole number: 'two'");
  BOOST_TEST(error("run energy.pbtxt --threads 1.5" + feeds) ==
             "2: [run] --threads is not a whole number: '1.5'");
  BOOST_TEST(error("run energy.pbtxt --chains 0" + feeds) ==
             "2: [run] --chains is out of range: 0; expected 1 to 2147483647");
  BOOST_TEST(error("run energy.pbtxt --repeat 0" + feeds) ==
             "2: [run] --repeat is out of range: 0; expected 1 to 1000000000");
  for (const std::string seed : {"-1", "18446744073709551616", "x"})
    BOOST_TEST(error("run energy.pbtxt --seed " + seed + feeds) ==
               "2: [run] --seed is not a whole number from 0 to 2^64-1: '" + seed + "'");
  BOOST_TEST((*this)("run energy.pbtxt --threads 0" + feeds).code == 0);
}

BOOST_AUTO_TEST_CASE(budgets) {
  const std::string found = error("run energy.pbtxt --memory-budget 1X" + feeds);
  BOOST_TEST(
      found.starts_with("2: [run] --memory-budget is '1X'; expected bytes with K, M, G or "
                        "nothing behind, from 1 to the machine's "));
  BOOST_TEST(error("run energy.pbtxt --memory-budget 9999999G" + feeds)
                 .starts_with("2: [run] --memory-budget is '9999999G'; expected "));
}

BOOST_AUTO_TEST_CASE(the_budget_is_compared_with_what_check_prints) {
  for (const std::string threads : {"1", "2"}) {
    const std::string with = " energy.pbtxt --threads " + threads;
    const std::string json = (*this)("check --json" + with).out;
    const std::string key = "\"memory_bytes\": ";
    const std::int64_t bytes = std::stoll(json.substr(json.find(key) + key.size()));
    const std::string enough = " --memory-budget " + std::to_string(bytes);
    const std::string short_of = " --memory-budget " + std::to_string(bytes - 1);
    const std::string said = "the plan needs " + std::to_string(bytes) + " bytes on " + threads +
                             (threads == "1" ? " thread" : " threads") + ", the budget is " +
                             std::to_string(bytes - 1);
    BOOST_TEST((*this)("check" + with + enough).code == 0);
    BOOST_TEST((*this)("run" + with + enough + feeds).code == 0);
    BOOST_TEST(error("check" + with + short_of) == "8: [check] " + said);
    BOOST_TEST(error("run" + with + short_of + feeds) == "8: [run] " + said);
    // w and b are drawn: 3 numbers of 4 bytes.
    BOOST_TEST(error("run" + with + enough + " --random-feeds --feed x=x.npy --feed y=y.npy") ==
               "8: [run] the plan and the random feeds need " + std::to_string(bytes + 12) +
                   " bytes on " + threads + (threads == "1" ? " thread" : " threads") +
                   ", the budget is " + std::to_string(bytes));
  }
}

BOOST_AUTO_TEST_CASE(chains_beyond_the_budget_are_refused_before_a_number_is_drawn) {
  const std::string found = error("run energy.pbtxt --random-feeds --chains 1000000000 " +
                                  std::string("--memory-budget 1M --threads 1"));
  BOOST_TEST(found.starts_with("8: [run] the plan and the random feeds need "));
  BOOST_TEST(found.ends_with(" bytes on 1 thread, the budget is 1048576"));
}

BOOST_AUTO_TEST_CASE(feeds_and_fetches) {
  BOOST_TEST(error("run energy.pbtxt --feed x=x.npy") ==
             "2: [run] input 'y' is not fed: expected f32[4]; give --feed y=FILE.npy, or "
             "--random-feeds");
  BOOST_TEST(error("run energy.pbtxt --feed weight=w.npy") ==
             "2: [run] --feed: the graph has no input 'weight'");
  BOOST_TEST(error("run energy.pbtxt --feed X=x.npy") ==
             "2: [run] --feed: the graph has no input 'X', did you mean 'x'?");
  BOOST_TEST(error("run energy.pbtxt --feed x") ==
             "2: [run] --feed 'x' has no file; as in --feed x=x.npy");
  BOOST_TEST(error("run energy.pbtxt --feed x=") == "2: [run] --feed 'x=' has nothing after '='");
  BOOST_TEST(error("run energy.pbtxt --feed =x.npy") ==
             "2: [run] --feed '=x.npy' has no name before '='");
  BOOST_TEST(error("run energy.pbtxt --feed x=x.npy --feed x=y.npy") ==
             "2: [run] --feed names 'x' twice");
  BOOST_TEST(error("run energy.pbtxt --fetch u=u.npy" + feeds) ==
             "2: [run] --fetch: the graph has no output or node 'u', did you mean 'U'?");
  BOOST_TEST(error("run energy.pbtxt --fetch U=o.npy --fetch prior=o.npy" + feeds) ==
             "2: [run] --fetch: 'U' and 'prior' go to the same file o.npy");
}

BOOST_AUTO_TEST_CASE(arrays_that_do_not_fit) {
  BOOST_TEST(error("run energy.pbtxt --feed x=y.npy") ==
             "4: [run] input 'x' is fed with f32[4] from y.npy; expected f32[4,2], or f32[K,4,2] "
             "for K chains");
  BOOST_TEST(error("run energy.pbtxt --feed b=x.npy") ==
             "4: [run] input 'b' is fed with f32[4,2] from x.npy; expected f32[], or f32[K] for K "
             "chains");
  npy("i.npy", Tensor({DType::i32, {4}}));
  BOOST_TEST(error("run energy.pbtxt --feed y=i.npy") ==
             "4: [run] input 'y' is fed with i32[4] from i.npy; expected f32");
  std::string wide = directory.read("i.npy");
  wide.replace(wide.find("<i4"), 3, "<i8");
  directory.write("i8.npy", wide + std::string(16, '\0'));
  BOOST_TEST(error("run energy.pbtxt --feed y=i8.npy") ==
             "4: [run] input 'y' is fed with i32[4] (int64 in the file) from i8.npy; expected f32");
  directory.write("empty.npy", "");
  BOOST_TEST(error("run energy.pbtxt --feed y=empty.npy") ==
             "4: [npy] empty.npy: the file is empty");
  npy("big.npy", Tensor::of<double>({2}, {1, 1e200}));
  BOOST_TEST(error("run energy.pbtxt --feed w=big.npy") ==
             "4: [npy] big.npy: element 1 is too large for f32: 1e+200");
  npy("wide.npy", Tensor::of<double>({2}, {1, 1}));
  BOOST_TEST((*this)("run energy.pbtxt --random-feeds --feed w=wide.npy").code == 0);
  directory.write("text.npy", "this is no array");
  BOOST_TEST(error("run energy.pbtxt --feed x=text.npy") ==
             "4: [npy] text.npy: not an NPY file: it begins with 74 68 69 73 20 69");
  BOOST_TEST(error("run energy.pbtxt --feed x=none.npy") ==
             "6: [npy] none.npy: cannot open: No such file or directory");
}

BOOST_AUTO_TEST_CASE(chains_that_disagree) {
  npy("w3.npy", Tensor({DType::f32, {3, 2}}));
  npy("b2.npy", Tensor({DType::f32, {2}}));
  npy("b0.npy", Tensor({DType::f32, {0}}));
  const std::string rest = " --feed x=x.npy --feed y=y.npy";
  BOOST_TEST(error("run energy.pbtxt --feed w=w3.npy --feed b=b2.npy" + rest) ==
             "4: [run] the feeds disagree on the number of chains: 3 for 'w', 2 for 'b'");
  BOOST_TEST(error("run energy.pbtxt --chains 4 --feed w=w3.npy --feed b=b.npy" + rest) ==
             "4: [run] input 'w' is fed for 3 chains, but --chains is 4");
  BOOST_TEST(error("run energy.pbtxt --feed w=w.npy --feed b=b0.npy" + rest) ==
             "4: [run] input 'b' is fed for 0 chains; expected at least 1");
  BOOST_TEST(error("run energy.pbtxt --chains 4" + feeds) ==
             "2: [run] --chains is 4, but no feed has a chain axis, so all chains would be the "
             "same");
}

BOOST_AUTO_TEST_CASE(gradients) {
  const std::string as_in =
      " missing; as in: whorl grad energy.pbtxt --of U --wrt w,b -o gradient.pb";
  BOOST_TEST(error("grad energy.pbtxt --wrt w -o g.pb") == "2: [grad] --of is" + as_in);
  BOOST_TEST(error("grad energy.pbtxt --of U") == "2: [grad] --wrt and --output are" + as_in);
  BOOST_TEST(error("grad energy.pbtxt") == "2: [grad] --of, --wrt and --output are" + as_in);
  BOOST_TEST(error("grad energy.pbtxt --of u --wrt w -o g.pb") ==
             "2: [grad] --of: the graph has no output or node 'u', did you mean 'U'?");
  BOOST_TEST(error("grad energy.pbtxt --of U --wrt w,v -o g.pb") ==
             "2: [grad] --wrt: the graph has no output or node 'v'");
  BOOST_TEST(error("grad energy.pbtxt --of U --wrt w,,b -o g.pb") ==
             "2: [grad] --wrt 'w,,b' has an empty name in it");
  BOOST_TEST(error("grad energy.pbtxt --of U --wrt w,w -o g.pb") ==
             "2: [grad] --wrt names 'w' twice");
  BOOST_TEST(error("grad energy.pbtxt --of logits --wrt w -o g.pb") ==
             "2: [grad] --of logits is f32[4]; a gradient needs a scalar: add a sum node");
  BOOST_TEST(error("grad energy.pbtxt --of prior --wrt b -o g.pb") ==
             "3: [grad] node 12 'prior' (mul) does not depend on node 3 'b' (input); give "
             "--allow-unused to get zeros");
  directory.write("whole.pbtxt",
                  "format_version: 1\ninputs { name: \"k\" type: \"i32[3]\" }\n"
                  "nodes { name: \"n\" op: \"sum\" inputs: \"k\" }\n"
                  "inputs { name: \"x\" type: \"f32[]\" }\noutputs { name: \"x\" }\n"
                  "outputs { name: \"n\" }\n");
  BOOST_TEST(error("grad whole.pbtxt --of x --wrt k -o g.pb") ==
             "2: [grad] --wrt k is i32[3]; a gradient needs f32 or f64");
  BOOST_TEST(error("grad whole.pbtxt --of k --wrt x -o g.pb") ==
             "2: [grad] --of k is i32[3]; a gradient needs f32 or f64");
  BOOST_TEST((*this)("grad energy.pbtxt --of prior --wrt b -o g.pb --allow-unused").code == 0);
  BOOST_TEST(error("grad energy.pbtxt --of U --wrt w -o no/g.pb").starts_with("6: "));
  BOOST_TEST(error("grad energy.pbtxt --of U --wrt w -o g.txt").starts_with("2: "));
}

BOOST_AUTO_TEST_CASE(ops) {
  BOOST_TEST(error("ops matmull") == "2: [ops] unknown op 'matmull', did you mean 'matmul'?");
}

BOOST_AUTO_TEST_CASE(files) {
  const auto empty_name = [&](const std::vector<std::string>& words) {
    const Outcome outcome = run(words);
    return std::to_string(outcome.code) + ": " + outcome.err;
  };
  BOOST_TEST(empty_name({"check", ""}) == "2: [check] GRAPH: the file name is empty\n");
  BOOST_TEST(empty_name({"show", "energy.pbtxt", "--dot", ""}) ==
             "2: [show] --dot: the file name is empty\n");
  BOOST_TEST(error("show energy.pbtxt --json --dot -") ==
             "2: [show] --json and --dot - both go to standard output; give --dot a file");
  BOOST_TEST(error("run energy.pbtxt --fetch U=/dev/stdout" + feeds) ==
             "6: [npy] /dev/stdout: cannot write: not a regular file");
  BOOST_TEST(error("check none.pbtxt").starts_with("6: "));
  BOOST_TEST(error("check .").starts_with("6: "));
  directory.write("bad.pbtxt", "format_version: 1\nnodes { name: \"a\" op: \"matmull\" }\n");
  const std::string found = error("check bad.pbtxt");
  BOOST_TEST(found.starts_with("3: [load] bad.pbtxt:2: "));
  BOOST_TEST(found.ends_with("unknown op 'matmull', did you mean 'matmul'?"));
  BOOST_TEST(error("show energy.pbtxt --dot no/g.dot") ==
             "6: [show] no/g.dot: cannot write: No such file or directory");
  BOOST_TEST(error("run energy.pbtxt --fetch U=no/u.npy" + feeds) ==
             "6: [npy] no/u.npy: cannot write: No such file or directory");
}

BOOST_AUTO_TEST_CASE(a_graph_without_outputs_checks_but_does_not_run) {
  directory.write("open.pbtxt",
                  "format_version: 1\ninputs { name: \"x\" type: \"f32[2]\" }\n"
                  "nodes { name: \"y\" op: \"exp\" inputs: \"x\" }\n");
  BOOST_TEST((*this)("check open.pbtxt").code == 0);
  BOOST_TEST(error("run open.pbtxt --random-feeds --quiet") ==
             "3: [run] open.pbtxt: the graph has no outputs; name a node by --fetch NAME");
  BOOST_TEST((*this)("run open.pbtxt --random-feeds --fetch y").code == 0);
}

BOOST_AUTO_TEST_CASE(the_first_number_that_is_not_finite_is_named) {
  directory.write("root.pbtxt", R"(
format_version: 1
inputs { name: "x" type: "f32[3]" role: "parameter" }
nodes { name: "noise" op: "sqrt" inputs: "x" }
nodes { name: "twice" op: "add" inputs: "noise" inputs: "noise" }
nodes { name: "U" op: "sum" inputs: "twice" }
outputs { name: "U" }
)");
  npy("x.npy", Tensor::of<float>({3}, {1, -1, -4}));
  const std::string one = "run root.pbtxt --feed x=x.npy";
  BOOST_TEST((*this)(one).code == 0);
  BOOST_TEST(
      error(one + " --check-finite --fetch U=U.npy") ==
      "7: [run] node 1 'noise' (sqrt) is the first with a non-finite value: 2 of 3 elements");
  BOOST_TEST(directory.read("U.npy") == "");
  npy("x4.npy", Tensor::of<float>({4, 3}, {1, 2, 3, 4, 5, 6, 1, 1, -1, 1, 1, 1}));
  BOOST_TEST(
      error("run root.pbtxt --check-finite --feed x=x4.npy") ==
      "7: [run] node 1 'noise' (sqrt) is the first with a non-finite value: 1 of 12 elements, "
      "chain 2");
  npy("nan.npy", Tensor::of<float>({3}, {1, std::nanf(""), 2}));
  BOOST_TEST(error("run root.pbtxt --check-finite --feed x=nan.npy") ==
             "7: [run] node 0 'x' (input) is the first with a non-finite value: 1 of 3 elements");
}

BOOST_AUTO_TEST_CASE(names_with_blanks_and_umlauts_are_only_names) {
  directory.write("my gr\xc3\xa4ph $HOME ~.pbtxt", logistic_regression);
  BOOST_TEST(run({"check", "my gr\xc3\xa4ph $HOME ~.pbtxt"}).code == 0);
  npy("a b=c.npy", Tensor({DType::f32, {2}}));
  BOOST_TEST(run({"run", "energy.pbtxt", "--random-feeds", "--feed", "w=a b=c.npy"}).code == 0);
  directory.write("bell\a\n.pbtxt", logistic_regression);
  BOOST_TEST(run({"check", "bell\a\n.pbtxt"}).out.starts_with("bell  .pbtxt is a valid graph\n"));
  const Outcome lines = run({"check", "two\nlines.pbtxt"});
  BOOST_TEST(lines.code == 6);
  BOOST_TEST(std::count(lines.err.begin(), lines.err.end(), '\n') == 1);
  BOOST_TEST(run({"check", std::string(5000, 'x')}).code == 6);
}

BOOST_AUTO_TEST_CASE(variables_that_would_change_the_computation_are_ignored_and_reported) {
  const Outcome outcome = run({"run", "energy.pbtxt", "--random-feeds"},
                              {{"MKL_CBWR", "COMPATIBLE"}, {"OMP_NUM_THREADS", "7"}});
  BOOST_TEST(outcome.code == 0);
  BOOST_TEST(outcome.err ==
             "note: OMP_NUM_THREADS is set and was ignored: Whorl decides this itself\n"
             "note: MKL_CBWR is set and was ignored: Whorl decides this itself\n");
  BOOST_TEST(outcome.out == (*this)("run energy.pbtxt --random-feeds").out);
}

BOOST_AUTO_TEST_CASE(a_reader_that_went_away_is_harmless_and_lost_output_is_not) {
  const std::vector<std::string> words{"show", "energy.pbtxt"};
  const Outcome closed = run(words, {}, "");
  BOOST_TEST(closed.code == 6);
  BOOST_TEST(closed.err == "[whorl] cannot write to standard output: Bad file descriptor\n");
  BOOST_TEST(run({"check", "energy.pbtxt", "--quiet"}, {}, "").code == 0);
  const Outcome full = run(words, {}, "/dev/full");
  BOOST_TEST(full.code == 6);
  BOOST_TEST(full.err == "[whorl] cannot write to standard output: No space left on device\n");
  const std::string piped = "'" WHORL_BINARY "' ops | true; exit \\${PIPESTATUS[0]}";
  BOOST_TEST(std::system(("bash -c \"" + piped + "\"").c_str()) == 0);
}

BOOST_AUTO_TEST_CASE(a_limit_on_the_size_of_files_leaves_nothing_behind) {
  const std::size_t files = directory.files();
  // Blocks of 1024 bytes.
  const std::string command = "cd '" + directory.path() +
                              "' && ulimit -f 1 && '" WHORL_BINARY
                              "' run energy.pbtxt --random-feeds --chains 1000 --fetch w=big.npy "
                              "2> said.txt; test \\$? = 6";
  BOOST_TEST(std::system(("bash -c \"" + command + "\"").c_str()) == 0);
  BOOST_TEST(directory.read("said.txt") == "[npy] big.npy: cannot write: File too large\n");
  BOOST_TEST(directory.files() == files + 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing
