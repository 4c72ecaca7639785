// Expanding: from a linked program to an engine graph. Calls are inlined and repeats unrolled; what
// stood inside the call 'step' is named 'step/...', inside iteration 3 of the repeat 'loop',
// 'loop/3/...'. Iterative, so calls may be nested as deep as names allow.
#pragma once

#include "graphs/file/link.hpp"

namespace whorl::graphs {

Graph expand(const Program& program, const Source& source, LoadReport* report);

}  // namespace whorl::graphs
