// The corpus tests/bad through the real program: one sentence and exit code 3, whatever the file.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "tests/driver/program.hpp"

using namespace whorl::testing;

BOOST_AUTO_TEST_SUITE(bad_graphs)

BOOST_AUTO_TEST_CASE(every_bad_file_ends_with_one_sentence_and_exit_code_3) {
  const Program whorl;
  int refused = 0;
  const std::filesystem::path root = std::filesystem::path(WHORL_SOURCE_DIR) / "tests" / "bad";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".pbtxt") continue;
    std::ifstream file(entry.path());
    std::string line;
    std::getline(file, line);
    const bool bad = line.starts_with("# expect: ");
    BOOST_TEST_CONTEXT(entry.path().string()) {
      const Outcome outcome = whorl.run({"check", entry.path().string()});
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
