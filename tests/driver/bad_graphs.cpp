// The corpus tests/bad through the real program: one sentence and exit code 3, whatever the file.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "tests/driver/program.hpp"

using namespace whorl::testing;

namespace {

const char* const energy = R"(
format_version: 1
inputs { name: "w" type: "f32[2]" role: "parameter" }
nodes { name: "w2" op: "square" inputs: ["w"] }
nodes { name: "U" op: "sum" inputs: ["w2"] }
outputs { name: "U" }
)";

// What makes the program read a file: graphs are checked, samplers and experiments used.
std::vector<std::string> command_for(const std::filesystem::path& path) {
  const std::string kind = path.parent_path().filename().string().substr(0, 1);
  if (kind == "S")
    return {"sample", "energy.pbtxt", "--step-size", "0.1", "--steps", "10", "--sampler", path};
  if (kind == "E") return {"sample", path, "--steps", "10"};
  return {"check", path};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bad_graphs)

BOOST_AUTO_TEST_CASE(every_bad_file_ends_with_one_sentence_and_exit_code_3) {
  const Program whorl;
  whorl.directory.write("energy.pbtxt", energy);
  int refused = 0;
  const std::filesystem::path root = std::filesystem::path(WHORL_SOURCE_DIR) / "tests" / "bad";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".pbtxt") continue;
    std::ifstream file(entry.path());
    std::string line;
    std::getline(file, line);
    const bool bad = line.starts_with("# expect: ");
    BOOST_TEST_CONTEXT(entry.path().string()) {
      const Outcome outcome = whorl.run(command_for(entry.path()));
      if (!bad) {
        BOOST_TEST(outcome.code < 128);
        continue;
      }
      ++refused;
      BOOST_TEST(outcome.code == 3);
      BOOST_TEST(outcome.out.empty());
      BOOST_TEST(outcome.err.starts_with("[load] "));
      BOOST_TEST(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    }
  }
  BOOST_TEST(refused > 250);
}

BOOST_AUTO_TEST_SUITE_END()
