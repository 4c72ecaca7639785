// From messages to the engine's types, tensors and attributes. All throw graph Errors without a
// place, which `located` adds.
#pragma once

#include <string_view>

#include "engine/op.hpp"
#include "graphs/file/source.hpp"

namespace whorl::file {
class Tensor;
class Node;
}  // namespace whorl::file

namespace whorl::graphs {

// "f32[20,784]" or "f32[rows,784]"; blanks are allowed around dimensions.
Type parse_type(std::string_view text, const Source& source);
DType parse_dtype(std::string_view text, const Source& source);

// Counts its bytes in source.constant_bytes and refuses to pass the limit.
Tensor decode_tensor(const file::Tensor& message, Source& source);
// The attributes of a node with this op.
Attributes decode_attributes(const file::Node& node, const OpDef& op, Source& source);

// The name rule of graphs, within the limits. Names that start with '_' are reserved: in a file,
// '_' and digits stand for a node without a name.
void check_file_name(std::string_view name, const LoadLimits& limits);
bool is_placeholder(std::string_view name);

}  // namespace whorl::graphs
