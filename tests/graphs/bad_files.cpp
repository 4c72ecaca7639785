// The corpus tests/bad: every file says in its first line what loading it must give.
//
//   # expect: TEXT   the graph Error "[load] TEXT", where {file} stands for the file's name
//   # warns: TEXT    it loads, with this one warning
//   # loads          without warnings
//
// The folder's first letter says what the file ought to be: Graph, Sampler or Experiment.
#include <algorithm>
#include <set>
#include <vector>

#include "graphs/experiment_file.hpp"
#include "graphs/sampler_file.hpp"
#include "tests/graphs/files.hpp"

using namespace whorl;
using namespace whorl::test;

namespace {

std::vector<std::filesystem::path> corpus() {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path root = std::filesystem::path(WHORL_SOURCE_DIR) / "tests" / "bad";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
    if (entry.path().extension() == ".pbtxt") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string first_line(const std::filesystem::path& path) {
  const std::string text = file_bytes(path);
  return text.substr(0, text.find_first_of("\r\n"));
}

std::string filled_in(std::string text, const std::filesystem::path& path) {
  const auto at = text.find("{file}");
  if (at != std::string::npos) text.replace(at, 6, path.string());
  return "[load] " + text;
}

char kind(const std::filesystem::path& path) { return path.parent_path().filename().string()[0]; }

// What loading gave, in the words of a first line.
std::string outcome(const std::filesystem::path& path) {
  LoadReport report;
  LoadOptions options;
  options.report = &report;
  const std::string error = graph_error_of([&] {
    if (kind(path) == 'S') {
      load_sampler(path);
    } else if (kind(path) == 'E') {
      load_experiment(path);
    } else {
      load_graph(path, options);
    }
  });
  if (!error.empty()) return error;
  return report.warnings.empty() ? "loads" : report.warnings.front();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bad_files)

BOOST_AUTO_TEST_CASE(every_file_gives_what_its_first_line_says) {
  for (const auto& path : corpus()) {
    BOOST_TEST_CONTEXT(path.string()) {
      const std::string line = first_line(path), found = outcome(path);
      if (line == "# loads") {
        BOOST_CHECK_EQUAL(found, "loads");
      } else if (line.starts_with("# warns: ")) {
        BOOST_CHECK_EQUAL(found, filled_in(line.substr(9), path));
      } else {
        BOOST_REQUIRE(line.starts_with("# expect: "));
        BOOST_CHECK_EQUAL(found, filled_in(line.substr(10), path));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_corpus_has_files_of_every_class_that_a_text_can_show) {
  std::set<std::string> classes;
  for (const auto& path : corpus()) classes.insert(path.parent_path().filename());
  for (int id : {1,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 22, 23, 24, 25, 26,
                 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 55, 56, 61, 62})
    BOOST_CHECK_MESSAGE(classes.contains(fmt::format("G{}", id)), "no files for G" << id);
  for (const char* id : {"S1", "S2", "S3", "S4", "E1", "E2", "E3", "E4"})
    BOOST_CHECK_MESSAGE(classes.contains(id), "no files for " << id);
}

BOOST_AUTO_TEST_CASE(what_loads_from_the_corpus_survives_saving) {
  int loaded = 0;
  for (const auto& path : corpus()) {
    if (first_line(path).starts_with("# expect: ")) continue;
    BOOST_TEST_CONTEXT(path.string()) {
      if (kind(path) == 'S') {
        const std::string text = to_pbtxt(load_sampler(path));
        BOOST_CHECK_EQUAL(to_pbtxt(parse_sampler(text, "text")), text);
      } else if (kind(path) == 'E') {
        const std::string text = to_pbtxt(load_experiment(path));
        BOOST_CHECK_EQUAL(to_pbtxt(parse_experiment(text, "text")), text);
      } else {
        const Graph graph = load_graph(path);
        check_same(graph, parse_graph(to_pbtxt(graph), "text"));
        check_same(graph, parse_graph(to_binary(graph), "binary"));
      }
      ++loaded;
    }
  }
  BOOST_CHECK_GT(loaded, 20);
}

BOOST_AUTO_TEST_SUITE_END()
