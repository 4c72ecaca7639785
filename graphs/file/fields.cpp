#include "graphs/file/fields.hpp"

#include <fmt/ranges.h>
#include <google/protobuf/descriptor.h>

#include <cassert>
#include <cmath>

#include "engine/attributes.hpp"
#include "graphs/file/sizes.hpp"

namespace whorl::graphs {

namespace pb = google::protobuf;

namespace {

const pb::FieldDescriptor* field_named(const pb::Message& message, std::string_view name) {
  const pb::FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(std::string(name));
  assert(field != nullptr);
  return field;
}

bool is_inside(double x, const Range& range) {
  return std::isfinite(x) && (range.above ? x > range.low : x >= range.low) &&
         (range.below ? x < range.high : x <= range.high);
}

std::string words_of(const Range& range) {
  std::string words;
  if (std::isfinite(range.low))
    words = fmt::format("{} {}", range.above ? "above" : "at least", range.low);
  if (std::isfinite(range.high))
    words += fmt::format("{}{} {}", words.empty() ? "" : " and ", range.below ? "below" : "at most",
                         range.high);
  return words.empty() ? "a finite number" : words;
}

}  // namespace

const pb::FieldDescriptor* FieldReader::descriptor(std::string_view field) const {
  return field_named(message_, field);
}

int FieldReader::size(std::string_view name) const {
  const pb::FieldDescriptor* field = descriptor(name);
  const pb::Reflection& from = *message_.GetReflection();
  return field->is_repeated() ? from.FieldSize(message_, field)
                              : int{from.HasField(message_, field)};
}

std::string FieldReader::label(std::string_view field) const {
  return path_.empty() ? std::string(field) : fmt::format("{}.{}", path_, field);
}

// Of a list, protobuf keeps the place where it begins.
int FieldReader::line(std::string_view name, int i) const {
  if (name.empty() || places_ == nullptr) return line_;
  const pb::FieldDescriptor* field = descriptor(name);
  int line = places_->GetLocation(field, field->is_repeated() ? i : -1).line;
  if (line < 0 && i > 0) line = places_->GetLocation(field, 0).line;
  return line < 0 ? line_ : line + 1;
}

FieldReader FieldReader::entry(std::string_view name, int i) const {
  const pb::FieldDescriptor* field = descriptor(name);
  const pb::Reflection& from = *message_.GetReflection();
  const pb::Message& entry = field->is_repeated() ? from.GetRepeatedMessage(message_, field, i)
                                                  : from.GetMessage(message_, field);
  const Places* places = places_ == nullptr
                             ? nullptr
                             : places_->GetTreeForNested(field, field->is_repeated() ? i : -1);
  return {source_, entry, places, label(name), line(name, i)};
}

void FieldReader::required(std::string_view field) const {
  if (!has(field)) load_error(place(), "{} is missing", label(field));
}

void FieldReader::exactly_one(const std::vector<std::string_view>& fields) const {
  std::vector<std::string_view> given;
  for (std::string_view field : fields)
    if (has(field)) given.push_back(field);
  if (given.size() == 1) return;
  const std::string names = fmt::format("{}", fmt::join(fields, ", "));
  const std::string subject = path_.empty() ? "" : path_ + ": ";
  if (given.empty()) load_error(place(), "{}one of {} is missing", subject, names);
  load_error(place(given[1]), "{}only one of {} can be given, not both {} and {}", subject, names,
             given[0], given[1]);
}

void FieldReader::refuse_name(std::string_view field, std::string_view name,
                              const std::vector<std::string_view>& known) const {
  const std::string near = name.size() > 64 ? "" : did_you_mean(name, known);
  refuse(field, "is '{}', {}", shown(name),
         near.empty() ? fmt::format("expected one of {}", fmt::join(known, ", ")) : near.substr(2));
}

template <class T>
T FieldReader::element(std::string_view name, int i, const Range& range) const {
  const pb::FieldDescriptor* field = descriptor(name);
  const pb::Reflection& from = *message_.GetReflection();
  const bool list = field->is_repeated();
  if constexpr (std::is_same_v<T, bool>) {
    return from.GetBool(message_, field);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return from.GetUInt64(message_, field);
  } else if constexpr (std::is_same_v<T, std::string>) {
    std::string text =
        list ? from.GetRepeatedString(message_, field, i) : from.GetString(message_, field);
    if (!is_utf8(text)) refuse(name, "is not UTF-8 text");
    return text;
  } else {
    T x;
    if constexpr (std::is_same_v<T, double>) {
      x = list ? from.GetRepeatedDouble(message_, field, i) : from.GetDouble(message_, field);
    } else {
      x = list ? from.GetRepeatedInt64(message_, field, i) : from.GetInt64(message_, field);
    }
    if (!is_inside(static_cast<double>(x), range)) {
      if (list) refuse(name, "has {} as number {}, expected {}", x, i + 1, words_of(range));
      refuse(name, "is {}, expected {}", x, words_of(range));
    }
    return x;
  }
}

template double FieldReader::element(std::string_view, int, const Range&) const;
template std::int64_t FieldReader::element(std::string_view, int, const Range&) const;
template std::uint64_t FieldReader::element(std::string_view, int, const Range&) const;
template bool FieldReader::element(std::string_view, int, const Range&) const;
template std::string FieldReader::element(std::string_view, int, const Range&) const;

template <class T>
void FieldWriter::put(std::string_view name, const T& value) const {
  const pb::FieldDescriptor* field = field_named(message_, name);
  const pb::Reflection& into = *message_.GetReflection();
  const bool list = field->is_repeated();
  if constexpr (std::is_same_v<T, bool>) {
    into.SetBool(&message_, field, value);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    into.SetUInt64(&message_, field, value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!is_utf8(value)) graph_error("save", "{} is not UTF-8 text", name);
    list ? into.AddString(&message_, field, value) : into.SetString(&message_, field, value);
  } else if constexpr (std::is_same_v<T, double>) {
    if (!std::isfinite(value))
      graph_error("save", "{} is {}, expected a finite number", name, value);
    list ? into.AddDouble(&message_, field, value) : into.SetDouble(&message_, field, value);
  } else {
    list ? into.AddInt64(&message_, field, value) : into.SetInt64(&message_, field, value);
  }
}

template void FieldWriter::put(std::string_view, const double&) const;
template void FieldWriter::put(std::string_view, const std::int64_t&) const;
template void FieldWriter::put(std::string_view, const std::uint64_t&) const;
template void FieldWriter::put(std::string_view, const bool&) const;
template void FieldWriter::put(std::string_view, const std::string&) const;

pb::Message& FieldWriter::add(std::string_view name) const {
  const pb::FieldDescriptor* field = field_named(message_, name);
  const pb::Reflection& into = *message_.GetReflection();
  return field->is_repeated() ? *into.AddMessage(&message_, field)
                              : *into.MutableMessage(&message_, field);
}

void FieldWriter::drop(std::string_view name) const {
  message_.GetReflection()->ClearField(&message_, field_named(message_, name));
}

}  // namespace whorl::graphs
