// What the tests of graph files share: directories that vanish, whole files, and errors as texts.
#pragma once

#include <unistd.h>

#include <atomic>
#include <boost/crc.hpp>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "graphs/graph_file.hpp"

namespace whorl::test {

// A directory of its own for one test, removed at its end.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    static std::atomic<int> counter{0};
    path_ = std::filesystem::temp_directory_path() /
            fmt::format("whorl_graphs_{}_{}", ::getpid(), counter++);
    std::filesystem::create_directories(path_);
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::string file_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  BOOST_REQUIRE_MESSAGE(file, "cannot read " << path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  BOOST_REQUIRE(file);
}

// The text of the graph Error that f throws; "" when it throws none.
template <class F>
std::string graph_error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    BOOST_CHECK_MESSAGE(error.kind() == ErrorKind::graph, "wrong kind: " << error.what());
    return error.what();
  }
  return "";
}

inline std::string load_error_of(std::string bytes, const LoadOptions& options = {}) {
  return graph_error_of([&] { parse_graph(std::move(bytes), "g", options); });
}

// A container around any payload, made apart from the library's own.
inline std::string container(std::string_view payload) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(payload.data(), payload.size());
  std::string bytes("\x89WHRL\r\n\x1a", 8);
  const auto put = [&](std::uint64_t number, int size) {
    for (int i = 0; i < size; ++i) bytes.push_back(static_cast<char>(number >> (8 * i) & 0xff));
  };
  put(1, 4);
  put(payload.size(), 8);
  put(crc.checksum(), 4);
  return bytes.append(payload).append("WHRL END");
}

// Everything that a file keeps of a graph, compared bit by bit.
inline void check_same(const Graph& a, const Graph& b) {
  BOOST_REQUIRE_EQUAL(a.size(), b.size());
  for (NodeId id = 0; id < a.size(); ++id) {
    BOOST_REQUIRE_EQUAL(a.op(id).name, b.op(id).name);
    BOOST_REQUIRE(std::ranges::equal(a.inputs(id), b.inputs(id)));
    BOOST_REQUIRE_MESSAGE(a.attributes(id) == b.attributes(id), a.label(id) << ": attributes");
    BOOST_REQUIRE(a.type(id) == b.type(id));
    BOOST_REQUIRE_EQUAL(a.name(id), b.name(id));
  }
  BOOST_REQUIRE_EQUAL(a.outputs().size(), b.outputs().size());
  for (std::size_t i = 0; i < a.outputs().size(); ++i) {
    BOOST_REQUIRE_EQUAL(a.outputs()[i].name, b.outputs()[i].name);
    BOOST_REQUIRE_EQUAL(a.outputs()[i].node, b.outputs()[i].node);
  }
  BOOST_REQUIRE(a.metadata() == b.metadata());
}

}  // namespace whorl::test
