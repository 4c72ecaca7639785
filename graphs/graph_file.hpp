// Graph files: reading and writing graphs as protobuf, in text (.pbtxt) and in binary (.pb).
//
// Loading trusts nothing. The bytes pass the limits, then the schema, then the rules of names and
// edges; calls are inlined and repeats unrolled; then every node is appended to an engine graph,
// which checks types. What is wrong is a graph Error that names the file, the line and the node:
//   [load] my.pbtxt:41: node 'layer1/logits': unknown op 'matmull', did you mean 'matmul'?
// Memory and time are bounded by the limits, never by a number that a file declares.
//
// load_graph(save_graph(g)) is g: the same ids, ops, inputs, attribute bits, names, outputs and
// metadata. Nodes without a name are called "_<id>" in a file; that form is reserved.
//
// Thread safety: free functions without shared state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph.hpp"

namespace whorl {

// The format version that is written, and the newest that is read.
inline constexpr int graph_format_version = 1;

// What a file may ask for. Only smaller values have an effect: the defaults are the most.
struct LoadLimits {
  std::int64_t file_bytes = std::int64_t{64} << 20;
  std::int64_t nodes = 1'000'000;  // in the file, and again after expansion
  std::int64_t edges = 8'000'000;
  std::int64_t outputs = 10'000;
  std::int64_t rank = Shape::max_rank;
  std::int64_t name_bytes = 512;
  std::int64_t list = 1'000'000;                        // the numbers of one attribute
  std::int64_t nesting = 64;                            // of braces in a text
  std::int64_t value_bytes = std::int64_t{64} << 30;    // one value of the graph
  std::int64_t constant_bytes = std::int64_t{1} << 30;  // all constants, after expansion
};

// What is legal but perhaps not meant, one sentence each:
//   W-BROADCAST  an [N] and an [N,1] met and became [N,N]
//   W-UNUSED     nodes that no output needs (compiling removes them)
//   W-OUTPUTS    there are no outputs, so a run would compute nothing
struct LoadReport {
  std::vector<std::string> warnings;
};

struct LoadOptions {
  LoadLimits limits = {};
  LoadReport* report = nullptr;
  // Where external tensors may lie. load_graph takes the file's own directory when it is empty;
  // parse_graph then refuses external tensors.
  std::filesystem::path directory = {};
  // Values of the file's named sizes, instead of its own. An unknown name is a graph Error.
  std::map<std::string, std::int64_t> sizes = {};
  // Ops for the file's own names of ops, likewise.
  std::map<std::string, std::string> ops = {};
};

// Text or binary is decided by the content. A file that cannot be read is an io Error.
Graph load_graph(const std::filesystem::path& path, const LoadOptions& options = {});
// `origin` stands for the file in messages.
Graph parse_graph(std::string bytes, std::string_view origin, const LoadOptions& options = {});

// The named sizes of a file: their values, and the dimensions of its inputs as they are written,
// such as {"rows", "3"}. Of a file that is not a graph, a graph Error.
struct DeclaredSizes {
  std::map<std::string, std::int64_t> values;
  std::map<std::string, std::vector<std::string>> inputs;
};
DeclaredSizes declared_sizes(const std::filesystem::path& path, const LoadLimits& limits = {});

// Text for .pbtxt, binary for .pb; another extension is a usage Error. The file appears whole or
// not at all. A graph that load_graph would refuse for its size or its names is refused here.
void save_graph(const Graph& graph, const std::filesystem::path& path);
std::string to_pbtxt(const Graph& graph);
std::string to_binary(const Graph& graph);

// 128 bits in hexadecimal that depend on what the graph is, names included, and not on its metadata
// nor on the form of the file it came from.
std::string canonical_hash(const Graph& graph);

}  // namespace whorl
