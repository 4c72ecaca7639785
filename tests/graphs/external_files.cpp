// External tensors that only a file system can show; tests/bad/G36 has the others.
#include <sys/stat.h>

#include "tests/graphs/files.hpp"

using namespace whorl;
using namespace whorl::test;

namespace {

// A directory with a graph whose constant lies in "data.bin", and a secret beside the directory.
struct Fixture {
  ScratchDirectory directory;
  Fixture() {
    std::filesystem::create_directories(directory / "graphs/below");
    write_bytes(directory / "secret.bin", "12345678");
    write_bytes(directory / "graphs/g.pbtxt",
                "format_version: 1\n"
                "constants { name: \"c\" type: \"f32[2]\" external { path: \"data.bin\" } }\n");
    write_bytes(
        directory / "graphs/h.pbtxt",
        "format_version: 1\n"
        "constants { name: \"c\" type: \"f32[2]\" external { path: \"below/data.bin\" } }\n");
  }
  // The error of loading, from "constant" on.
  std::string error(std::string_view file = "graphs/g.pbtxt") {
    const std::string text = graph_error_of([&] { load_graph(directory / file); });
    return text.substr(std::min(text.size(), text.find("constant")));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(external_files, Fixture)

BOOST_AUTO_TEST_CASE(a_regular_file_is_read) {
  const std::array<float, 2> values{1.5f, -2};
  write_bytes(directory / "graphs/data.bin",
              {reinterpret_cast<const char*>(values.data()), sizeof values});
  const Graph graph = load_graph(directory / "graphs/g.pbtxt");
  const AttrValue value = graph.attributes(0).value(0);
  BOOST_CHECK(std::get<Tensor>(value).same_bits(Tensor::of<float>({2}, {1.5f, -2})));
}

BOOST_AUTO_TEST_CASE(a_symbolic_link_is_refused) {
  std::filesystem::create_symlink("../secret.bin", directory / "graphs/data.bin");
  BOOST_CHECK_EQUAL(error(), "constant 'c': external path 'data.bin' goes through a symbolic link");
}

BOOST_AUTO_TEST_CASE(a_linked_directory_is_refused) {
  std::filesystem::remove(directory / "graphs/below");
  write_bytes(directory / "data.bin", "12345678");
  std::filesystem::create_directory_symlink("..", directory / "graphs/below");
  BOOST_CHECK_EQUAL(error("graphs/h.pbtxt"),
                    "constant 'c': external path 'below/data.bin' goes through a symbolic link");
}

BOOST_AUTO_TEST_CASE(a_hard_link_is_refused) {
  std::filesystem::create_hard_link(directory / "secret.bin", directory / "graphs/data.bin");
  BOOST_CHECK_EQUAL(error(),
                    "constant 'c': external path 'data.bin' is a hard link: it has 2 names");
}

BOOST_AUTO_TEST_CASE(a_pipe_is_refused_without_waiting) {
  BOOST_REQUIRE_EQUAL(::mkfifo((directory / "graphs/data.bin").c_str(), 0600), 0);
  BOOST_CHECK_EQUAL(error(), "constant 'c': external path 'data.bin' is not a regular file");
}

BOOST_AUTO_TEST_CASE(a_graph_that_is_no_file_has_no_external_tensors) {
  BOOST_CHECK_EQUAL(load_error_of(file_bytes(directory / "graphs/g.pbtxt")),
                    "[load] g:2: constant 'c': external path 'data.bin' is refused: the graph must "
                    "be whole without other files");
}

BOOST_AUTO_TEST_CASE(graph_files_that_cannot_be_read_are_io_errors) {
  BOOST_REQUIRE_EQUAL(::mkfifo((directory / "pipe.pbtxt").c_str(), 0600), 0);
  for (const char* name : {"missing.pbtxt", "graphs", "pipe.pbtxt"}) {
    try {
      load_graph(directory / name);
      BOOST_ERROR("was read: " << name);
    } catch (const Error& error) {
      BOOST_CHECK_MESSAGE(error.kind() == ErrorKind::io, error.what());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
