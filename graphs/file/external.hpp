// External tensors: elements in a file beside the graph.
#pragma once

#include <string>

#include "graphs/file/source.hpp"

namespace whorl::file {
class External;
}

namespace whorl::graphs {

// Reads `wanted` bytes. The file must be a regular one with a single name, in source.directory or
// below, reached without symbolic links: a graph file from a stranger must not read other files.
std::string read_external(const file::External& message, std::int64_t wanted, const Source& source);

}  // namespace whorl::graphs
