// Source: the bytes of one graph file, read within limits, and what kind of file they are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "graphs/file/place.hpp"
#include "graphs/graph_file.hpp"

namespace whorl::graphs {

struct Source {
  std::string origin;               // the file's name in messages
  std::filesystem::path directory;  // where external tensors may lie; empty: nowhere
  std::string bytes;
  LoadLimits limits;
  std::int64_t constant_bytes = 0;  // of the tensors that were decoded so far

  Place place(int line = 0, int column = 0) const { return {origin, line, column}; }
};

enum class Form { text, binary };

// The line of every entry that an error may have to name. Lines count from 1; all lists are empty
// for binary files.
struct BodyLines {
  std::vector<int> inputs, constants, nodes, outputs;
};
struct Lines {
  int format_version = 0;
  BodyLines main;
  std::vector<int> functions, metadata;
  std::vector<BodyLines> bodies;  // of the functions
};
inline int line_at(const std::vector<int>& lines, std::size_t i) {
  return i < lines.size() ? lines[i] : 0;
}

// Reads a regular file of at most limits.file_bytes. Throws an io Error when it cannot be read.
std::string read_file(const std::filesystem::path& path, const LoadLimits& limits);

// Refuses what is neither text nor a container and says what it looks like. A byte order mark is
// removed. Text that passes is UTF-8 without control characters, its braces are closed, and they
// are nested no deeper than the limit. The lines are those of a text that also passes the parser.
Form check_form(Source& source, Lines& lines);

}  // namespace whorl::graphs
