// Reading a message from text.
#pragma once

#include "graphs/file/source.hpp"

namespace whorl::file {
class Graph;
}

namespace whorl::graphs {

// The source must have passed check_form. Syntax errors, unknown fields and fields that are given
// twice are graph Errors with line and column.
void parse_text(const Source& source, file::Graph& message);

}  // namespace whorl::graphs
