// One setting of a message by its path, as a command line gives it: "training.adam.rate=0.001".
//
// A path names fields from the outside to the inside; one that is a list of messages stands for all
// its entries. A list of values is given with commas. Whoever reads the message afterwards checks
// the value's range as if it stood in the file.
// Thread safety: a message is changed by one thread at a time.
#pragma once

#include <google/protobuf/message.h>

#include <string_view>

namespace whorl::graphs {

// Throws a usage Error that names the part of the path that does not exist, with the nearest one
// offered, or the value that is not of the field's kind.
void change_setting(google::protobuf::Message& message, std::string_view setting);

}  // namespace whorl::graphs
