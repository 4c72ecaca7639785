// Types every command of README.md and compares what it says with what is printed there.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "program.hpp"

namespace whorl::testing {

namespace {

namespace fs = std::filesystem;

struct Typed {
  std::string command, wanted;
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The lines "$ command" inside ``` blocks, each with what follows up to the next one.
std::vector<Typed> typed_commands(const std::string& readme) {
  std::vector<Typed> list;
  std::istringstream lines(readme);
  bool inside = false, open = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
      open = false;
    } else if (inside && line.starts_with("$ ")) {
      list.push_back({line.substr(2), ""});
      open = true;
    } else if (open) {
      list.back().wanted += line + '\n';
    }
  }
  return list;
}

// Words, and numbers to four digits: the last digits are the processor's, and so are tiny numbers,
// which are rounding errors.
std::string comparable(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    // Memory, threads and time are the machine's, steps are the planner's, and whether a run is
    // long enough for a word on the way is the machine's, too.
    if (line.starts_with("  memory") || line.starts_with("  work") || line.starts_with("  time") ||
        line.starts_with("sample: "))
      continue;
    for (char& c : line)
      if (c == '[' || c == ']' || c == ',') c = ' ';
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      char* end = nullptr;
      const double number = std::strtod(word.c_str(), &end);
      const bool whole = end == word.c_str() + word.size() && std::isfinite(number);
      const double shown = std::abs(number) < 1e-6 ? 0 : number;
      result += whole ? fmt::format("{:.4g} ", shown) : word + ' ';
    }
    result += '\n';
  }
  return result;
}

std::string typed(const Program& program, const std::string& command) {
  const std::string path = fs::path(WHORL_BINARY).parent_path().string();
  const std::string line = fmt::format("cd '{}' && PATH='{}':$PATH && {{ {}; }} > said.txt 2>&1",
                                       program.directory.path(), path, command);
  // Commands that show a mistake fail on purpose.
  if (std::system(line.c_str()) == -1) return "cannot start a shell";
  return program.directory.read("said.txt");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(readme)

BOOST_AUTO_TEST_CASE(every_command_says_what_is_printed) {
  const Program program;
  for (const char* folder : {"examples", "graphs"})
    fs::create_directory_symlink(fs::path(WHORL_SOURCE_DIR) / folder, program.directory / folder);
  fs::create_directories(program.directory / "build/quickstart");
  const auto commands = typed_commands(text_of(fs::path(WHORL_SOURCE_DIR) / "README.md"));
  BOOST_TEST(commands.size() >= 10u);
  for (const Typed& one : commands) {
    const std::string said = typed(program, one.command);
    BOOST_TEST(comparable(said) == comparable(one.wanted), one.command << " says\n" << said);
  }
}

BOOST_AUTO_TEST_CASE(the_graph_that_is_printed_is_the_one_in_the_examples) {
  const fs::path root = WHORL_SOURCE_DIR;
  const std::string file = text_of(root / "graphs/examples/logistic_regression.pbtxt");
  const std::string body = file.substr(file.find("format_version"));
  BOOST_TEST(text_of(root / "README.md").find("```\n" + body + "```\n") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing
