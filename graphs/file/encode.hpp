// From an engine graph to the message that stands for it in a file.
#pragma once

#include "engine/graph.hpp"

namespace whorl::file {
class Graph;
}

namespace whorl::graphs {

// How constants are written: as numbers that can be read, or as bytes.
enum class Style { readable, compact };

// Leading inputs become `inputs`, everything else `nodes`, in the order of ids. Throws a graph
// Error when a name is reserved or a text is not UTF-8, since no file could hold it.
void encode(const Graph& graph, Style style, file::Graph& message);
// Without this, the message has no name and no metadata.
void encode_metadata(const Graph& graph, file::Graph& message);

// One line an entry, so that a file reads, and compares, line by line.
std::string print(const file::Graph& message);

}  // namespace whorl::graphs
