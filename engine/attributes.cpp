#include "engine/attributes.hpp"

#include <fmt/ranges.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "engine/error.hpp"

namespace whorl {

namespace {

std::size_t mix(std::size_t seed, std::size_t value) {
  return (seed ^ value) * 0x9E3779B97F4A7C15ull + (seed >> 29);
}

std::size_t hash_bytes(const void* data, std::size_t bytes) {
  return std::hash<std::string_view>{}({static_cast<const char*>(data), bytes});
}

std::size_t hash_value(const AttrValue& value) {
  return std::visit(
      [](const auto& v) -> std::size_t {
        using T = std::remove_cvref_t<decltype(v)>;
        if constexpr (std::is_same_v<T, Tensor>) {
          return hash_bytes(v.raw(), static_cast<std::size_t>(v.bytes()));
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          return hash_bytes(v.data(), v.size() * sizeof(std::int64_t));
        } else {
          return std::hash<T>{}(v);
        }
      },
      value);
}

void check_number(std::string_view where, const AttrSpec& spec, double number) {
  if (spec.rule.finite && !std::isfinite(number))
    graph_error(where, "attribute '{}' must be finite: {}", spec.name, number);
  if (std::isnan(number)) return;  // allowed here, and in no range
  if (!(number >= spec.rule.low && number <= spec.rule.high))
    graph_error(where, "attribute '{}' is out of range: {}; expected {} to {}", spec.name, number,
                spec.rule.low, spec.rule.high);
}

void check_value(std::string_view where, const AttrSpec& spec, const AttrValue& value) {
  if (kind_of(value) != spec.kind)
    graph_error(where, "attribute '{}' has the wrong kind: {}; expected {}", spec.name,
                name(kind_of(value)), name(spec.kind));
  if (const auto* i = std::get_if<std::int64_t>(&value))
    check_number(where, spec, static_cast<double>(*i));
  if (const auto* d = std::get_if<double>(&value)) check_number(where, spec, *d);
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value))
    for (std::int64_t i : *list) check_number(where, spec, static_cast<double>(i));
  if (const auto* text = std::get_if<std::string>(&value); text && spec.rule.choices) {
    const auto choices = spec.rule.choices();
    if (std::find(choices.begin(), choices.end(), *text) == choices.end())
      graph_error(where, "attribute '{}' is '{}'; expected one of: {}", spec.name, *text,
                  fmt::join(choices, ", "));
  }
}

}  // namespace

std::string_view name(AttrKind kind) {
  constexpr std::array<std::string_view, 7> names{
      "an integer", "a number", "a bool", "a text", "a list of integers", "a dtype", "a tensor"};
  return names[static_cast<std::size_t>(kind)];
}

bool equal(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& v) {
        using T = std::remove_cvref_t<decltype(v)>;
        const T& w = std::get<T>(b);
        if constexpr (std::is_same_v<T, Tensor>) {
          return v.same_bits(w);
        } else if constexpr (std::is_same_v<T, double>) {
          // By bits: 0.0 and -0.0 make different graphs, and a NaN equals itself.
          return std::memcmp(&v, &w, sizeof v) == 0;
        } else {
          return v == w;
        }
      },
      a);
}

std::string to_string(const AttrValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::remove_cvref_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return fmt::format("\"{}\"", v);
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          return fmt::format("[{}]", fmt::join(v, ","));
        } else if constexpr (std::is_same_v<T, DType>) {
          return std::string(name(v));
        } else if constexpr (std::is_same_v<T, Tensor>) {
          constexpr std::int64_t shown = 8;
          std::vector<double> first;
          for (std::int64_t i = 0; i < std::min(v.elements(), shown); ++i) first.push_back(v.at(i));
          return fmt::format("{}{{{}{}}}", to_string(v.type()), fmt::join(first, ","),
                             v.elements() > shown ? ",..." : "");
        } else {
          return fmt::format("{}", v);
        }
      },
      value);
}

AttrList Attributes::list() const {
  AttrList list;
  for (int i = 0; i < size(); ++i) list.emplace_back(spec(i).name, value(i));
  return list;
}

std::size_t Attributes::hash() const {
  std::size_t result = static_cast<std::size_t>(size());
  for (int i = 0; i < size(); ++i) result = mix(result, hash_value(value(i)));
  return result;
}

bool operator==(const Attributes& a, const Attributes& b) {
  if (a.object_ == b.object_) return true;
  // Of an op without fields, made by a builder or from an empty list.
  if (a.size() == 0 && b.size() == 0) return true;
  if (a.table_ != b.table_) return false;
  for (int i = 0; i < a.size(); ++i)
    if (!equal(a.value(i), b.value(i))) return false;
  return true;
}

Attributes make_attributes(std::string_view where, const AttrTable* table, const AttrList& list) {
  std::vector<std::string_view> names;
  for (const AttrSpec& spec : table->specs) names.push_back(spec.name);
  std::vector<const AttrValue*> values(names.size(), nullptr);
  for (const auto& [key, value] : list) {
    const auto found = std::find(names.begin(), names.end(), key);
    if (found == names.end())
      graph_error(where, "unknown attribute '{}'{}", key, did_you_mean(key, names));
    const auto i = static_cast<std::size_t>(found - names.begin());
    if (values[i] != nullptr) graph_error(where, "attribute '{}' is given twice", key);
    check_value(where, table->specs[i], value);
    values[i] = &value;
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    if (values[i] == nullptr && table->specs[i].rule.required)
      graph_error(where, "attribute '{}' is missing: expected {}", names[i],
                  name(table->specs[i].kind));
  try {
    return Attributes(table, table->make(values));
  } catch (const Error& error) {
    // A list of integers that is not a shape: the message must name the op as well.
    throw Error(error.kind(), where, bare_text(error));
  }
}

std::string nearest(std::string_view name, const std::vector<std::string_view>& candidates) {
  std::size_t best = name.size() / 3 + 2;  // farther than this is another word, not a typing error
  std::string result;
  std::vector<std::size_t> row;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  for (std::string_view candidate : candidates) {
    if (candidate.size() > name.size() + best || name.size() > candidate.size() + best) continue;
    row.resize(candidate.size() + 1);
    for (std::size_t j = 0; j <= candidate.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= name.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= candidate.size(); ++j) {
        const std::size_t substitute =
            diagonal + (lower(name[i - 1]) == lower(candidate[j - 1]) ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
      }
    }
    // Names without a letter in common are different, however short.
    if (row.back() < std::min(best, std::max(name.size(), candidate.size()))) {
      best = row.back();
      result = candidate;
    }
  }
  return result;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& candidates) {
  const std::string found = nearest(name, candidates);
  return found.empty() ? "" : fmt::format(", did you mean '{}'?", found);
}

}  // namespace whorl
