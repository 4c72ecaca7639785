// Source: the bytes of one file, read within limits, and what kind of file they are.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
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
  std::int64_t constant_bytes = 0;    // of the tensors that were decoded so far
  std::string_view what = "a graph";  // that it ought to hold
  // The named dimensions; those that the caller gave, until take_sizes adds the file's own.
  std::map<std::string, std::int64_t> sizes = {};
  // The ops by names of the file's own, likewise.
  std::map<std::string, std::string> ops = {};
  // What f32 and f64 stand for, when a body is written for both.
  std::optional<DType> floating = {};

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
  std::vector<int> functions, metadata, sizes, ops;
  std::vector<BodyLines> bodies;  // of the functions
  // The first outermost field that is not format_version, and whether a text is its value.
  std::string_view first_field;
  bool first_is_text = false;
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

// `place` is that of the version.
template <class Message>
void check_version(const Message& message, int newest, const Place& place) {
  const int version = message.format_version();
  if (!message.has_format_version())
    load_error(place, "format_version is missing: write format_version: {}", newest);
  if (version > newest)
    load_error(place, "format_version {} is newer than {}, the newest that this Whorl reads",
               version, newest);
  if (version < 1) load_error(place, "format_version {} was never used", version);
}

}  // namespace whorl::graphs
