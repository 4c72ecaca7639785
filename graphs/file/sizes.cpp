#include "graphs/file/sizes.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "engine/attributes.hpp"
#include "graphs/graph.pb.h"

namespace whorl::graphs {

namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// A letter first, so that a size is never taken for a number.
bool is_size_name(std::string_view name, const LoadLimits& limits) {
  const auto allowed = [](unsigned char c) { return c < 0x80 && (std::isalnum(c) || c == '_'); };
  return !name.empty() && static_cast<std::int64_t>(name.size()) <= limits.name_bytes &&
         std::isalpha(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), allowed);
}

std::string nearest_size(std::string_view name, const Source& source) {
  if (name.size() > 64) return "";
  std::vector<std::string_view> known;
  for (const auto& entry : source.sizes) known.push_back(entry.first);
  return did_you_mean(name, known);
}

}  // namespace

std::string shown(std::string_view text) {
  return text.size() <= 60 ? std::string(text) : fmt::format("{}...", text.substr(0, 60));
}

void take_sizes(const file::Graph& message, const Lines& lines, Source& source) {
  const auto wanted = std::exchange(source.sizes, {});
  for (int i = 0; i < message.sizes_size(); ++i) {
    const file::Size& size = message.sizes(i);
    const Place place = source.place(line_at(lines.sizes, static_cast<std::size_t>(i)));
    if (!is_size_name(size.name(), source.limits))
      load_error(place, "size '{}': a name is made of letters, digits and '_', a letter first",
                 shown(size.name()));
    if (!size.has_value()) load_error(place, "size '{}' has no value", size.name());
    const auto chosen = wanted.find(size.name());
    const std::int64_t value = chosen == wanted.end() ? size.value() : chosen->second;
    if (value < 0)
      load_error(place, "size '{}' is {}; it must not be negative", size.name(), value);
    if (!source.sizes.emplace(size.name(), value).second)
      load_error(place, "size '{}' is given twice", size.name());
  }
  for (const auto& [name, value] : wanted)
    if (!source.sizes.contains(name))
      load_error(source.place(), "there is no size '{}' to set to {}{}", name, value,
                 nearest_size(name, source));
}

void take_ops(const file::Graph& message, const Lines& lines, Source& source) {
  const auto wanted = std::exchange(source.ops, {});
  std::vector<std::string_view> declared;
  for (int i = 0; i < message.ops_size(); ++i) {
    const file::OpName& entry = message.ops(i);
    const Place place = source.place(line_at(lines.ops, static_cast<std::size_t>(i)));
    if (!is_size_name(entry.name(), source.limits))
      load_error(place, "op name '{}': it is made of letters, digits and '_', a letter first",
                 shown(entry.name()));
    if (find_op(entry.name()) != nullptr)
      load_error(place, "op name '{}' is that of an op; give it another", entry.name());
    const auto chosen = wanted.find(entry.name());
    const std::string& op = chosen == wanted.end() ? entry.op() : chosen->second;
    if (find_op(op) == nullptr) {
      std::vector<std::string_view> known;
      for (const OpDef* each : all_ops()) known.push_back(each->name);
      load_error(place, "op name '{}' stands for '{}', which is no op{}", entry.name(), shown(op),
                 op.size() > 64 ? "" : did_you_mean(op, known));
    }
    if (!source.ops.emplace(entry.name(), op).second)
      load_error(place, "op name '{}' is given twice", entry.name());
    declared.push_back(entry.name());
  }
  for (const auto& [name, op] : wanted)
    if (!source.ops.contains(name))
      load_error(source.place(), "there is no op name '{}' to stand for '{}'{}", name, op,
                 did_you_mean(name, declared));
}

std::int64_t parse_size(std::string_view whole, std::string_view text, const Source& source) {
  if (const auto size = source.sizes.find(std::string(text)); size != source.sizes.end())
    return size->second;
  std::int64_t dim = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), dim);
  if (fault == std::errc::result_out_of_range)
    graph_error("type", "{}: dimension {} does not fit 64 bits", whole, shown(text));
  if (fault != std::errc{} || end != text.data() + text.size())
    graph_error("type", "{}: '{}' is not a dimension{}", whole, shown(text),
                nearest_size(text, source));
  return dim;
}

TypeText split_type(std::string_view text, const LoadLimits& limits) {
  const auto open = text.find('[');
  if (open == std::string_view::npos || !text.ends_with(']'))
    graph_error("type", "type '{}' is not of the form f32[20,784]", shown(text));
  TypeText type{trimmed(text.substr(0, open)), {}};
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  while (!trimmed(rest).empty()) {
    const auto comma = rest.find(',');
    type.dimensions.push_back(trimmed(rest.substr(0, comma)));
    if (static_cast<std::int64_t>(type.dimensions.size()) > limits.rank)
      graph_error("type", "type '{}': the rank is more than the limit of {}", shown(text),
                  limits.rank);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
    if (trimmed(rest).empty()) graph_error("type", "type '{}': '' is not a dimension", shown(text));
  }
  return type;
}

}  // namespace whorl::graphs
