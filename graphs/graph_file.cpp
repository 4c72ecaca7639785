#include "graphs/graph_file.hpp"

#include <google/protobuf/arena.h>

#include <algorithm>

#include "engine/file.hpp"
#include "graphs/file/container.hpp"
#include "graphs/file/decode.hpp"
#include "graphs/file/encode.hpp"
#include "graphs/file/expand.hpp"
#include "graphs/file/link.hpp"
#include "graphs/file/sizes.hpp"
#include "graphs/file/text.hpp"
#include "graphs/graph.pb.h"

namespace whorl {

namespace {

using graphs::Source;

// The defaults are the most that is allowed.
LoadLimits lowered(const LoadLimits& wanted) {
  LoadLimits limits;
  const auto lower = [&](std::int64_t LoadLimits::*member) {
    limits.*member = std::clamp<std::int64_t>(wanted.*member, 0, limits.*member);
  };
  lower(&LoadLimits::file_bytes);
  lower(&LoadLimits::nodes);
  lower(&LoadLimits::edges);
  lower(&LoadLimits::outputs);
  lower(&LoadLimits::rank);
  lower(&LoadLimits::name_bytes);
  lower(&LoadLimits::list);
  lower(&LoadLimits::nesting);
  lower(&LoadLimits::value_bytes);
  lower(&LoadLimits::constant_bytes);
  return limits;
}

void take_metadata(const file::Graph& message, const graphs::Lines& lines, const Source& source,
                   Graph& graph) {
  const auto check = [&](int line, std::string_view what, std::string_view text) {
    if (!is_utf8(text)) graphs::load_error(source.place(line), "{} is not UTF-8 text", what);
  };
  check(0, "the name", message.name());
  if (message.has_name()) graph.metadata().emplace("name", message.name());
  for (int i = 0; i < message.metadata_size(); ++i) {
    const file::Entry& entry = message.metadata(i);
    const int line = graphs::line_at(lines.metadata, static_cast<std::size_t>(i));
    check(line, "a metadata key", entry.key());
    check(line, "a metadata value", entry.value());
    if (entry.key().empty()) graphs::load_error(source.place(line), "a metadata entry has no key");
    if (!graph.metadata().emplace(entry.key(), entry.value()).second)
      graphs::load_error(source.place(line), "metadata '{}' is given twice", entry.key());
  }
}

void parse(Source& source, file::Graph& message, graphs::Lines& lines) {
  if (graphs::check_form(source, lines) == graphs::Form::binary) {
    graphs::parse_container(source, message);
  } else {
    graphs::parse_text(source, message);
  }
}

Graph load(Source source, const LoadOptions& options) {
  google::protobuf::Arena arena;  // a million nodes are freed at once
  auto& message = *google::protobuf::Arena::CreateMessage<file::Graph>(&arena);
  graphs::Lines lines;
  source.sizes = options.sizes;
  source.ops = options.ops;
  parse(source, message, lines);
  const graphs::Program program = graphs::link(message, lines, source);
  Graph graph = graphs::expand(program, source, options.report);
  take_metadata(message, lines, source, graph);
  return graph;
}

// What would be refused when it is loaded again is refused before it is written.
std::string checked_size(const Graph& graph, std::string bytes) {
  const LoadLimits limits;
  const auto check = [](std::string_view what, std::size_t size, std::int64_t limit) {
    if (static_cast<std::int64_t>(size) > limit)
      graph_error("save", "the graph has {} {}, more than the limit of {}", size, what, limit);
  };
  check("nodes", graph.size(), limits.nodes);
  check("edges", graph.edge_count(), limits.edges);
  check("outputs", graph.outputs().size(), limits.outputs);
  check("bytes in a file", bytes.size(), limits.file_bytes);
  return bytes;
}

}  // namespace

Graph load_graph(const std::filesystem::path& path, const LoadOptions& options) {
  const LoadLimits limits = lowered(options.limits);
  std::filesystem::path directory = options.directory;
  if (directory.empty()) directory = path.has_parent_path() ? path.parent_path() : ".";
  return load({path.string(), directory, graphs::read_file(path, limits), limits}, options);
}

Graph parse_graph(std::string bytes, std::string_view origin, const LoadOptions& options) {
  return load({std::string(origin), options.directory, std::move(bytes), lowered(options.limits)},
              options);
}

DeclaredSizes declared_sizes(const std::filesystem::path& path, const LoadLimits& limits) {
  Source source{path.string(), {}, graphs::read_file(path, lowered(limits)), lowered(limits)};
  google::protobuf::Arena arena;
  auto& message = *google::protobuf::Arena::CreateMessage<file::Graph>(&arena);
  graphs::Lines lines;
  parse(source, message, lines);
  graphs::take_sizes(message, lines, source);
  DeclaredSizes result{source.sizes, {}};
  for (int i = 0; i < message.inputs_size(); ++i) {
    const file::Input& input = message.inputs(i);
    graphs::located(
        source.place(graphs::line_at(lines.main.inputs, static_cast<std::size_t>(i))),
        [&] { return fmt::format("input '{}'", input.name()); },
        [&] {
          const auto type = graphs::split_type(input.type(), source.limits);
          result.inputs[input.name()].assign(type.dimensions.begin(), type.dimensions.end());
        });
  }
  return result;
}

std::string to_pbtxt(const Graph& graph) {
  google::protobuf::Arena arena;
  auto& message = *google::protobuf::Arena::CreateMessage<file::Graph>(&arena);
  graphs::encode(graph, graphs::Style::readable, message);
  graphs::encode_metadata(graph, message);
  return checked_size(graph, graphs::print(message));
}

std::string to_binary(const Graph& graph) {
  google::protobuf::Arena arena;
  auto& message = *google::protobuf::Arena::CreateMessage<file::Graph>(&arena);
  graphs::encode(graph, graphs::Style::compact, message);
  graphs::encode_metadata(graph, message);
  return checked_size(graph, graphs::wrap(graphs::payload_of(message)));
}

void save_graph(const Graph& graph, const std::filesystem::path& path) {
  if (path.extension() == ".pb") {
    write_file("save", path.string(), to_binary(graph));
  } else if (path.extension() == ".pbtxt") {
    write_file("save", path.string(), to_pbtxt(graph));
  } else {
    fail(ErrorKind::usage, "save", "{}: the name of a graph file ends in .pbtxt or .pb",
         path.string());
  }
}

std::string canonical_hash(const Graph& graph) {
  google::protobuf::Arena arena;
  auto& message = *google::protobuf::Arena::CreateMessage<file::Graph>(&arena);
  graphs::encode(graph, graphs::Style::compact, message);
  return graphs::hash_of(message);
}

}  // namespace whorl
