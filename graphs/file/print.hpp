// Messages as text that people like to read. Numbers are the shortest that read back to the same
// bits; texts that are UTF-8 stand as they are, other bytes as octal numbers.
#pragma once

#include <string>

namespace google::protobuf {
class Message;
}

namespace whorl::graphs {

// All fields on one line.
std::string one_line(const google::protobuf::Message& message);

// One line an entry. An entry that is wider than `width` is broken up: a message into its own
// entries, a list into lines.
std::string many_lines(const google::protobuf::Message& message, std::size_t width = 100);

}  // namespace whorl::graphs
