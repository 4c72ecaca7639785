// What can be wrong with a call of whorl sample, and the exact sentence and exit code for it.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "driver/run_directory.hpp"
#include "program.hpp"

namespace whorl::testing {

namespace {

// U = |w|^2 / 2 + sum of y w: one output, so no minibatches.
const char* const energy = R"(
format_version: 1
sizes { name: "rows" value: 3 }
inputs { name: "y" type: "f32[rows]" }
inputs { name: "w" type: "f32[]" role: "parameter" }
nodes { name: "error" op: "sub" inputs: ["y", "w"] }
nodes { name: "error2" op: "square" inputs: ["error"] }
nodes { name: "U" op: "sum" inputs: ["error2"] }
outputs { name: "U" }
)";

const char* const plain = R"(
format_version: 1
inputs { name: "w" type: "f32[2]" role: "parameter" }
nodes { name: "w2" op: "square" inputs: ["w"] }
nodes { name: "U" op: "sum" inputs: ["w2"] }
outputs { name: "U" }
)";

const char* const three_targets = R"(
format_version: 1
targets { gaussian { dimension: 2 mean: 0 diagonal: 1 } count: 2 }
targets { gaussian { dimension: 2 mean: 0 diagonal: 1 smallest_sd: 2 } }
run { step_size { constant: 0.1 } }
)";

struct Fixture : Program {
  Fixture() {
    directory.write("energy.pbtxt", energy);
    directory.write("plain.pbtxt", plain);
    directory.write("three.pbtxt", three_targets);
    directory.write("d.csv", "y\n1\n2\n3\n4\n");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sample_errors, Fixture)

BOOST_AUTO_TEST_CASE(targets) {
  BOOST_TEST(error("sample") ==
             "2: [sample] TARGET is missing; as in: whorl sample energy.pbtxt --data d.csv "
             "--sampler sghmc --step-size 0.02 --out run");
  BOOST_TEST(error("sample none.pbtxt").starts_with("6: [load] none.pbtxt: "));
  directory.write(
      "many.pbtxt",
      "format_version: 1 experiment: \"e\" targets { gaussian { dimension: 2 diagonal: 1 } "
      "count: 3 } targets { gaussian { dimension: 2 diagonal: 1 } }");
  BOOST_TEST((*this)("check many.pbtxt").out == "many.pbtxt is a valid experiment: e, targets 4\n");
  BOOST_TEST(error("sample three.pbtxt") ==
             "2: [sample] the experiment has 3 targets; choose one with --target N");
  BOOST_TEST(error("sample three.pbtxt --target 4") ==
             "2: [sample] --target is out of range: 4; expected 1 to 3");
  BOOST_TEST(error("sample three.pbtxt --target 3") ==
             "2: [gaussian] none of 10000 random covariances of dimension 2 has a standard "
             "deviation of 2 or more in every direction");
  BOOST_TEST(error("sample three.pbtxt --target 1 --data d.csv") ==
             "2: [sample] the target is a Gaussian, which has no data");
  directory.write("no_parameter.pbtxt",
                  "format_version: 1 inputs { name: \"x\" type: \"f32[]\" } "
                  "nodes { name: \"u\" op: \"square\" inputs: [\"x\"] } outputs { name: \"u\" }");
  BOOST_TEST(error("sample no_parameter.pbtxt --step-size 1") ==
             "3: [energy] no input has the role \"parameter\", so there is nothing to sample");
  directory.write("reserved.pbtxt",
                  "format_version: 1 inputs { name: \"momentum\" type: \"f32[]\" } "
                  "inputs { name: \"w\" type: \"f32[]\" role: \"parameter\" } "
                  "nodes { name: \"u\" op: \"mul\" inputs: [\"w\", \"momentum\"] } "
                  "outputs { name: \"u\" }");
  npy("one.npy", Tensor::scalar(1.0f));
  BOOST_TEST(error("sample reserved.pbtxt --step-size 1 --data momentum=one.npy") ==
             "3: [energy] the data input 'momentum' has a name that the sampler uses itself; "
             "rename it");
  BOOST_TEST((*this)("sample reserved.pbtxt --sampler sgld --step-size 0.01 --steps 20 "
                     "--data momentum=one.npy")
                 .code == 0);
  directory.write("count.pbtxt",
                  "format_version: 1 inputs { name: \"count\" type: \"f32[]\" } "
                  "inputs { name: \"w\" type: \"f32[]\" role: \"parameter\" } "
                  "nodes { name: \"u\" op: \"mul\" inputs: [\"w\", \"count\"] } "
                  "outputs { name: \"u\" }");
  BOOST_TEST(error("sample count.pbtxt --sampler adam --step-size 1 --data count=one.npy") ==
             "3: [energy] the data input 'count' has a name that the sampler uses itself; rename "
             "it");
}

BOOST_AUTO_TEST_CASE(run_settings) {
  const std::string call = "sample plain.pbtxt ";
  BOOST_TEST(error(call) == "2: [sample] the step size is missing; as in --step-size 0.01");
  BOOST_TEST(error(call + "--step-size x") == "2: [sample] --step-size: 'x' is not a number");
  BOOST_TEST(error(call + "--step-size nan") == "2: [sample] --step-size: 'nan' is not a number");
  BOOST_TEST(error(call + "--step-size cosin:1,2") ==
             "2: [sample] --step-size: 'cosin:1,2' is not a schedule; expected a number, "
             "phases:STEP=SIZE,..., polynomial:A,B,GAMMA or cosine:HIGHEST,PERIOD");
  BOOST_TEST(error(call + "--step-size cosine:1") ==
             "2: [sample] --step-size: 'cosine:1' has 1 number; expected 2");
  BOOST_TEST(error(call + "--step-size cosine:1,0.5") ==
             "2: [sample] --step-size: the period of 0.5 is not a number of steps");
  BOOST_TEST(error(call + "--step-size phases:0") ==
             "2: [sample] --step-size: the phase '0' is not STEP=SIZE");
  BOOST_TEST(error(call + "--step-size phases:-1=2") ==
             "2: [sample] --step-size: '-1' is not a number of steps");
  BOOST_TEST(error(call + "--step-size 0").starts_with("2: [schedule] "));
  BOOST_TEST(error(call + "--step-size -0.1").starts_with("2: [schedule] "));
  const std::string small = call + "--step-size 0.1 ";
  BOOST_TEST(error(small + "--chains 0") ==
             "2: [sample] --chains is out of range: 0; expected 1 to 1000000");
  BOOST_TEST(error(small + "--steps 0") ==
             "2: [sample] --steps is out of range: 0; expected 1 to 2147483647");
  BOOST_TEST(error(small + "--steps 10 --burn-in 10") ==
             "2: [sample] the burn-in of 10 steps leaves nothing of 10 steps");
  BOOST_TEST(error(small + "--steps 10 --burn-in 5 --thin 6") ==
             "2: [sample] one state in 6 is kept, but only 5 steps follow the burn-in: there would "
             "be no draw");
  BOOST_TEST(error(small + "--start normal:0") ==
             "2: [sample] --start: 'normal:0' has 1 number; expected 2");
  BOOST_TEST(error(small + "--start normal:0,-1") ==
             "2: [sample] --start: the standard deviation is -1; expected 0 or more");
  BOOST_TEST(error(small + "--start uniform:1,0") ==
             "2: [sample] --start: the range from 1 to 0 is empty");
  BOOST_TEST(error(small + "--start beta:1,0") ==
             "2: [sample] --start: 'beta:1,0' is not a start; expected normal:MEAN,SD, "
             "uniform:LOW,HIGH or a number");
  BOOST_TEST(error(small + "--gradient-noise -1") ==
             "2: [sample] the gradient noise is -1; expected 0 or more");
}

BOOST_AUTO_TEST_CASE(samplers) {
  const std::string call = "sample plain.pbtxt --step-size 0.1 ";
  BOOST_TEST(error(call + "--sampler sgmhc") ==
             "2: [sampler] unknown sampler 'sgmhc', did you mean 'sghmc'?; expected sgld, psgld, "
             "sghmc, sgnht, hmc, santa, adam, sgdm or a sampler file");
  BOOST_TEST(
      error(call + "--sampler bogus") ==
      "2: [sampler] unknown sampler 'bogus'; expected sgld, psgld, sghmc, sgnht, hmc, santa, adam, "
      "sgdm or a sampler file");
  directory.write("s_edit.txt", "format_version: 1 sampler: 1");
  BOOST_TEST(error(call + "--sampler s_edit.txt").starts_with("3: [load] s_edit.txt:1:"));
  BOOST_TEST(error(call + "--set frction=1") ==
             "2: [sample] sghmc has no setting 'frction', did you mean 'friction'?; it has: "
             "temperature, friction, friction_times_step_size, noise_estimate, integrator");
  BOOST_TEST(error(call + "--set friction=x") == "2: [sample] --set friction: 'x' is not a number");
  BOOST_TEST(error(call + "--set integrator=2") ==
             "2: [sample] setting 'integrator' is 2; expected one of: semi_implicit, euler");
  BOOST_TEST(error(call + "--set integrator=foo") ==
             "2: [sample] --set integrator: 'foo' is none of semi_implicit, euler");
  BOOST_TEST(error(call + "--set friction=-1") ==
             "2: [sampler] friction is -1, expected at least 0");
  BOOST_TEST(error(call + "--set temperature=-1") ==
             "2: [sampler] temperature is -1, expected at least 0");
  BOOST_TEST(error(call + "--sampler sgld --set noise_estimate=-1") ==
             "2: [sampler] noise_estimate is -1, expected at least 0");
  BOOST_TEST(error(call + "--sampler hmc --set leapfrog_steps=1.5") ==
             "2: [sample] setting 'leapfrog_steps' is 1.5; expected a whole number");
  BOOST_TEST(error(call + "--sampler none.pbtxt").starts_with("6: [load] none.pbtxt: "));
  BOOST_TEST(
      error(call + "--set friction=30") ==
      "2: [sampler] step size 0.1 times friction 30 is not below 2, so the momentum of sghmc "
      "would grow: the step size must be below 0.06666666666666667");
}

BOOST_AUTO_TEST_CASE(data) {
  const std::string call = "sample energy.pbtxt --step-size 0.1 ";
  BOOST_TEST(error(call) ==
             "2: [sample] input 'y' f32[3] has no data; give --data FILE.csv or --data y=y.npy");
  BOOST_TEST(error(call + "--data z=d.npy") ==
             "2: [sample] data: the energy has no data input 'z'");
  BOOST_TEST(error(call + "--data d.csv --data e.csv") ==
             "2: [sample] data: two tables are given, d.csv and e.csv; expected one");
  BOOST_TEST(error(call + "--data y=a.npy --data y=b.npy") ==
             "2: [sample] data: input 'y' is given twice");
  BOOST_TEST(error(call + "--data none.csv").starts_with("6: [csv] none.csv: "));
  BOOST_TEST(error(call + "--data d.csv --columns y") ==
             "2: [sample] --columns 'y' names no columns; as in --columns y=a,b");
  BOOST_TEST(error(call + "--data d.csv --columns y=") ==
             "2: [sample] --columns 'y=' has nothing after '='");
  directory.write("numbers.csv", "1.5\n2.5\n");
  BOOST_TEST(error(call + "--data numbers.csv") ==
             "4: [csv] numbers.csv:1: expected column names, found numbers; put a line of names at "
             "the top of the file");
  directory.write("z.csv", "z\n1\n2\n");
  BOOST_TEST(error(call + "--data z.csv") ==
             "4: [data] z.csv: there is no column 'y' for the input of that name; the columns are "
             "z");
  BOOST_TEST(error(call + "--data d.csv --columns x=a") ==
             "2: [sample] columns: the energy has no data input 'x'");
  BOOST_TEST(error(call + "--data y=y.npy --columns y=a") ==
             "2: [sample] columns: input 'y' does not come from a CSV file");
  BOOST_TEST(error(call + "--data d.csv --standardise z") ==
             "2: [sample] standardise: the energy has no data input 'z'");
  BOOST_TEST(error(call + "--data d.csv --separator ab") ==
             "2: [sample] the separator is 'ab'; expected one of , ; | and tab");
  BOOST_TEST(error(call + "--data d.csv --batch 2") ==
             "2: [energy] minibatches need the outputs 'prior' and 'likelihood', so that only the "
             "likelihood is scaled; the graph has the single output 'U'");
  BOOST_TEST(error(call + "--data d.csv --batch 5").starts_with("4: "));
  BOOST_TEST(error("sample plain.pbtxt --step-size 0.1 --data d.csv") ==
             "2: [sample] the energy has no data inputs, so d.csv cannot be used");
  BOOST_TEST(error("sample plain.pbtxt --step-size 0.1 --batch 5") ==
             "2: [sample] a batch of 5 rows is asked for, but there are no rows");
  std::string effects = energy;
  effects.replace(effects.find("name: \"w\" type: \"f32[]\""), 23,
                  "name: \"w\" type: \"f32[rows]\"");
  directory.write("effects.pbtxt", effects);
  BOOST_TEST(error("sample effects.pbtxt --step-size 0.1 --data d.csv --batch 2") ==
             "2: [sample] parameter 'w' has the size 'rows', which minibatches change; sample "
             "without --batch");
  std::string fixed = energy;
  fixed.replace(fixed.find("[rows]"), 6, "[3]");
  directory.write("fixed.pbtxt", fixed);
  BOOST_TEST(error("sample fixed.pbtxt --step-size 0.1 --data d.csv") ==
             "4: [sample] input 'y' is f32[3], but a step has 4 rows; write a named size into the "
             "graph, as in sizes { name: \"rows\" value: 3 }, to use it for any number");
}

BOOST_AUTO_TEST_CASE(directories_and_memory) {
  const std::string call = "sample plain.pbtxt --step-size 0.1 --steps 100 ";
  BOOST_TEST(error(call + "--out .") ==
             "2: [run] --out .: the directory is not empty; choose another, or give "
             "--overwrite");
  BOOST_TEST(error(call + "--out d.csv").starts_with("6: [run] --out d.csv: "));
  BOOST_TEST(error(call + "--chains 1000 --memory-budget 400K")
                 .starts_with("8: [chains] plan and states of 1000 chains need "));
  // What fails before it begins leaves nothing behind, and nothing out.
  BOOST_TEST(error(call + "--sampler none.pbtxt --out new").starts_with("6: "));
  BOOST_TEST(!std::filesystem::exists(directory / "new"));
  BOOST_TEST((*this)(call + "--out old").code == 0);
  BOOST_TEST(error(call + "--sampler none.pbtxt --out old --overwrite").starts_with("6: "));
  BOOST_TEST(!directory.read("old/draws.nc").empty());
  // The directory is tried before anything is read.
  BOOST_TEST(error(call + "--sampler none.pbtxt --out old").starts_with("2: [run] --out old: "));
  {
    const driver::RunDirectory held(directory / "old", driver::RunDirectory::Use::resume);
    BOOST_TEST(error(call + "--out old --overwrite") ==
               "2: [run] old: another run is writing to this directory");
    BOOST_TEST(error("resume old") == "2: [run] old: another run is writing to this directory");
  }
  BOOST_TEST((*this)(call + "--out old --overwrite").code == 0);
}

BOOST_AUTO_TEST_CASE(only_an_earlier_run_is_overwritten) {
  const std::string call = "sample plain.pbtxt --step-size 0.1 --steps 100 --out run --overwrite";
  std::filesystem::create_directory(directory / "run");
  directory.write("run/notes.txt", "mine");
  const std::string refused =
      "2: [run] --out run: the directory is not that of an earlier run: it has no config.pbtxt "
      "that "
      "is an experiment; choose another";
  BOOST_TEST(error(call) == refused);
  directory.write("run/config.pbtxt", "of another program");
  BOOST_TEST(error(call) == refused);
  BOOST_TEST(directory.read("run/config.pbtxt") == "of another program");
  std::filesystem::remove_all(directory / "run");
  BOOST_TEST((*this)(call).code == 0);
  directory.write("run/notes.txt", "mine");
  // A run of another target: the draws of the first one are gone, all else is there.
  BOOST_TEST((*this)("sample three.pbtxt --target 1 --steps 100 --out run --overwrite").code == 0);
  BOOST_TEST(directory.read("run/notes.txt") == "mine");
  BOOST_TEST(!std::filesystem::exists(directory / "run/energy.pb"));
  BOOST_TEST(draws("run", "theta").elements() > 0);
}

BOOST_AUTO_TEST_CASE(a_run_that_fails_in_its_first_step_leaves_nothing) {
  const std::string call = "sample plain.pbtxt --sampler sgld --steps 100 --out run ";
  BOOST_TEST(error(call + "--step-size 1e30 --start 1e30").starts_with("7: [sample] "));
  BOOST_TEST(!std::filesystem::exists(directory / "run"));
  // An earlier run is still there.
  BOOST_TEST((*this)(call + "--step-size 0.1").code == 0);
  const std::string before = directory.read("run/draws.nc");
  BOOST_TEST(error(call + "--step-size 1e30 --start 1e30 --overwrite").starts_with("7: [sample] "));
  BOOST_TEST((directory.read("run/draws.nc") == before));
}

BOOST_AUTO_TEST_CASE(chains_that_diverge) {
  BOOST_TEST(error("sample plain.pbtxt --sampler sgld --step-size 50 --steps 100")
                 .starts_with("7: [sample] the energy has grown to "));
  // What was measured until then is there.
  BOOST_TEST(error("sample plain.pbtxt --sampler sgld --step-size phases:0=0.1,200=50 --steps 400"
                   " --out run")
                 .starts_with("7: [sample] the energy has grown to "));
  BOOST_TEST(directory.read("run/metrics.jsonl").starts_with("{\"step\": 100, "));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing
