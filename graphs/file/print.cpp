#include "graphs/file/print.hpp"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <vector>

#include "engine/text.hpp"

namespace whorl::graphs {

namespace pb = google::protobuf;

namespace {

std::string quoted(const std::string& value) {
  const bool readable = is_utf8(value);
  std::string text = "\"";
  for (char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (byte < 0x20 || byte == 0x7f || (byte > 0x7f && !readable)) {
      text += fmt::format("\\{:03o}", byte);
    } else {
      text += c;
    }
  }
  return text + '"';
}

// Element i of a list, or the value of a single field when i is negative.
std::string value_text(const pb::Message& message, const pb::FieldDescriptor* field, int i) {
  const pb::Reflection& from = *message.GetReflection();
  const bool single = i < 0;
  using Kind = pb::FieldDescriptor;
  switch (field->cpp_type()) {
    case Kind::CPPTYPE_INT32:
      return fmt::to_string(single ? from.GetInt32(message, field)
                                   : from.GetRepeatedInt32(message, field, i));
    case Kind::CPPTYPE_INT64:
      return fmt::to_string(single ? from.GetInt64(message, field)
                                   : from.GetRepeatedInt64(message, field, i));
    case Kind::CPPTYPE_UINT64:
      return fmt::to_string(single ? from.GetUInt64(message, field)
                                   : from.GetRepeatedUInt64(message, field, i));
    case Kind::CPPTYPE_DOUBLE:
      return fmt::to_string(single ? from.GetDouble(message, field)
                                   : from.GetRepeatedDouble(message, field, i));
    case Kind::CPPTYPE_BOOL:
      return fmt::to_string(single ? from.GetBool(message, field)
                                   : from.GetRepeatedBool(message, field, i));
    default:
      return quoted(single ? from.GetString(message, field)
                           : from.GetRepeatedString(message, field, i));
  }
}

// `name: value` or `name { ... }`: what one line holds, if it fits.
struct Entry {
  const pb::FieldDescriptor* field;
  const pb::Message* message = nullptr;  // when it is one
  std::string text;
};

std::vector<Entry> entries_of(const pb::Message& message) {
  const pb::Reflection& from = *message.GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  from.ListFields(message, &fields);
  std::vector<Entry> entries;
  for (const pb::FieldDescriptor* field : fields) {
    const int size = field->is_repeated() ? from.FieldSize(message, field) : 1;
    if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE) {
      for (int i = 0; i < size; ++i) {
        const pb::Message& part = field->is_repeated() ? from.GetRepeatedMessage(message, field, i)
                                                       : from.GetMessage(message, field);
        const std::string inside = one_line(part);
        entries.push_back(
            {field, &part,
             fmt::format("{} {{ {}{}}}", field->name(), inside, inside.empty() ? "" : " ")});
      }
      continue;
    }
    const bool text = field->cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING;
    const bool list = field->is_repeated() && !(text && size == 1);
    std::string line = field->name() + ": ";
    if (list) line += '[';
    for (int i = 0; i < size; ++i) {
      if (i > 0) line += ", ";
      line += value_text(message, field, field->is_repeated() ? i : -1);
    }
    if (list) line += ']';
    entries.push_back({field, nullptr, std::move(line)});
  }
  return entries;
}

// A list whose line is too wide.
void wrap_list(const pb::Message& message, const pb::FieldDescriptor* field, std::size_t indent,
               std::size_t width, std::string& text) {
  const std::string margin(indent, ' '), inner(indent + 2, ' ');
  const int size = message.GetReflection()->FieldSize(message, field);
  text += fmt::format("{}{}: [\n", margin, field->name());
  std::string line = inner;
  for (int i = 0; i < size; ++i) {
    const std::string value = value_text(message, field, i) + (i + 1 < size ? "," : "");
    if (line.size() > inner.size() && line.size() + 1 + value.size() > width) {
      text += line + '\n';
      line = inner;
    }
    if (line.size() > inner.size()) line += ' ';
    line += value;
  }
  text += fmt::format("{}\n{}]\n", line, margin);
}

void print(const pb::Message& message, std::size_t indent, std::size_t width, std::string& text) {
  const std::string margin(indent, ' ');
  for (const Entry& entry : entries_of(message)) {
    if (indent + entry.text.size() <= width || (!entry.message && !entry.field->is_repeated())) {
      text += margin + entry.text + '\n';
    } else if (entry.message != nullptr) {
      text += fmt::format("{}{} {{\n", margin, entry.field->name());
      print(*entry.message, indent + 2, width, text);
      text += margin + "}\n";
    } else {
      wrap_list(message, entry.field, indent, width, text);
    }
  }
}

}  // namespace

std::string one_line(const pb::Message& message) {
  std::string line;
  for (const Entry& entry : entries_of(message)) {
    if (!line.empty()) line += ' ';
    line += entry.text;
  }
  return line;
}

std::string many_lines(const pb::Message& message, std::size_t width) {
  std::string text;
  print(message, 0, width, text);
  return text;
}

}  // namespace whorl::graphs
