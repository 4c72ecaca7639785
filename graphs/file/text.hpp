// Reading a message from text.
#pragma once

#include <google/protobuf/text_format.h>

#include "graphs/file/source.hpp"

namespace whorl::graphs {

using Places = google::protobuf::TextFormat::ParseInfoTree;

// The source must have passed check_form. Syntax errors, unknown fields and fields that are given
// twice are graph Errors with line and column. `places` gets the place of every field; it takes
// more time and memory than the parsing, so graphs have their Lines instead.
void parse_text(const Source& source, google::protobuf::Message& message, Places* places = nullptr);

// Checks the form of a file that can only be text, and parses it.
void read_text(Source& source, google::protobuf::Message& message, Places& places);

}  // namespace whorl::graphs
