#include "graphs/file/encode.hpp"

#include <bit>
#include <charconv>
#include <cmath>

#include "graphs/file/print.hpp"
#include "graphs/file/source.hpp"
#include "graphs/graph.pb.h"

namespace whorl::graphs {

namespace {

// The shortest decimal number that reads back as x, as a double: 0.1f is written 0.1, and not
// 0.10000000149011612. The check is for the rare decimal that rounds differently by way of double.
double shortest(float x) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, x).ptr;
  double wide = 0;
  std::from_chars(text, end, wide);
  return static_cast<float>(wide) == x ? wide : static_cast<double>(x);
}

// NaNs have bits that no decimal number shows.
bool is_readable(const Tensor& tensor) {
  if (!is_float(tensor.dtype())) return true;
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    if (std::isnan(tensor.at(i))) return false;
  return true;
}

void encode_tensor(const Tensor& tensor, Style style, file::Tensor& message) {
  message.set_type(to_string(tensor.type()));
  if (tensor.elements() == 0) return;
  if (style == Style::compact || !is_readable(tensor)) {
    message.set_raw(tensor.raw(), static_cast<std::size_t>(tensor.bytes()));
    return;
  }
  if (tensor.dtype() == DType::boolean) {
    for (bool b : tensor.values<bool>()) message.add_bools(b);
    return;
  }
  message.mutable_values()->Reserve(static_cast<int>(tensor.elements()));
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    message.add_values(tensor.dtype() == DType::f32 ? shortest(tensor.data<float>()[i])
                                                    : tensor.at(i));
}

void encode_value(const AttrValue& value, Style style, file::Attribute& message) {
  switch (kind_of(value)) {
    case AttrKind::integer:
      message.set_i(std::get<std::int64_t>(value));
      break;
    case AttrKind::number: {
      const double number = std::get<double>(value);
      if (std::isnan(number)) {
        message.set_bits(std::bit_cast<std::uint64_t>(number));
      } else {
        message.set_f(number);
      }
      break;
    }
    case AttrKind::boolean:
      message.set_b(std::get<bool>(value));
      break;
    case AttrKind::text:
      message.set_s(std::get<std::string>(value));
      break;
    case AttrKind::integers:
      for (std::int64_t i : std::get<std::vector<std::int64_t>>(value)) message.add_ints(i);
      break;
    case AttrKind::dtype:
      message.set_dtype(std::string(name(std::get<DType>(value))));
      break;
    case AttrKind::tensor:
      encode_tensor(std::get<Tensor>(value), style, *message.mutable_tensor());
      break;
  }
}

std::string file_name(const Graph& graph, NodeId id) {
  const std::string_view name = graph.name(id);
  if (name.empty()) return fmt::format("_{}", id);
  if (name[0] == '_')
    graph_error("save", "{}: names that begin with '_' are reserved for nodes without a name",
                graph.label(id));
  return std::string(name);
}

void encode_input(const Graph& graph, NodeId id, file::Input& message) {
  message.set_name(file_name(graph, id));
  message.set_type(to_string(graph.type(id)));
  for (const auto& [key, value] : graph.attributes(id).list())
    if (key == "role") message.set_role(std::get<std::string>(value));
}

void check_text(std::string_view what, std::string_view text) {
  if (!is_utf8(text)) graph_error("save", "{} is not UTF-8 text", what);
}

void encode_node(const Graph& graph, NodeId id, Style style, file::Node& message) {
  message.set_name(file_name(graph, id));
  message.set_op(std::string(graph.op(id).name));
  for (NodeId input : graph.inputs(id)) message.add_inputs(file_name(graph, input));
  for (const auto& [key, value] : graph.attributes(id).list()) {
    if (const auto* text = std::get_if<std::string>(&value))
      check_text(fmt::format("attribute '{}' of {}", key, graph.label(id)), *text);
    file::Attribute& attribute = *message.add_attr();
    attribute.set_name(key);
    encode_value(value, style, attribute);
  }
}

template <class List>
void print_list(const char* field, const List& list, std::string& text) {
  for (const auto& entry : list) text += fmt::format("{} {{ {} }}\n", field, one_line(entry));
}

}  // namespace

void encode(const Graph& graph, Style style, file::Graph& message) {
  message.set_format_version(graph_format_version);
  NodeId id = 0;
  for (; id < graph.size() && graph.op(id).name == "input"; ++id)
    encode_input(graph, id, *message.add_inputs());
  for (; id < graph.size(); ++id) encode_node(graph, id, style, *message.add_nodes());
  for (const Graph::Output& output : graph.outputs()) {
    file::Output& entry = *message.add_outputs();
    entry.set_name(output.name);
    entry.set_node(file_name(graph, output.node));
  }
}

void encode_metadata(const Graph& graph, file::Graph& message) {
  for (const auto& [key, value] : graph.metadata()) {
    check_text("a metadata key", key);
    check_text(fmt::format("metadata '{}'", key), value);
    if (key == "name") {
      message.set_name(value);
      continue;
    }
    file::Entry& entry = *message.add_metadata();
    entry.set_key(key);
    entry.set_value(value);
  }
}

std::string print(const file::Graph& message) {
  file::Graph header;
  header.set_format_version(message.format_version());
  if (message.has_name()) header.set_name(message.name());
  std::string text = many_lines(header);
  print_list("metadata", message.metadata(), text);
  print_list("inputs", message.inputs(), text);
  print_list("nodes", message.nodes(), text);
  print_list("outputs", message.outputs(), text);
  return text;
}

}  // namespace whorl::graphs
