// Structs as messages, in both directions, by one list of fields:
//
//   template <class Io>
//   void describe(Io& io, Pilot& pilot) {
//     io.value("step_size", pilot.step_size, positive);
//   }
//
// With a FieldReader, the fields that a message has are checked and go into the struct, and others
// keep their values. With a FieldWriter, the message gets what is in the struct. What is wrong is a
// graph Error that names the line and the field, as in
//   [load] e.pbtxt:12: run.chains is 0, expected at least 1
// Thread safety: used by one thread.
#pragma once

#include <google/protobuf/message.h>

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "graphs/file/text.hpp"

namespace whorl::graphs {

// Which numbers a field takes. Infinity and NaN are never among them.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool above = false, below = false;  // without low, without high
};
inline constexpr Range positive{.low = 0, .above = true};
inline constexpr Range not_negative{.low = 0};
inline constexpr Range count{.low = 1};

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class E>
using Names = std::vector<std::pair<std::string_view, E>>;

class FieldReader {
 public:
  static constexpr bool reading = true;

  FieldReader(const Source& source, const google::protobuf::Message& message, const Places* places)
      : FieldReader(source, message, places, "", 0) {}

  bool has(std::string_view field) const { return size(field) > 0; }

  template <class T>
  void value(std::string_view field, T& value, const Range& range = {}) const {
    if (!has(field)) return;
    if constexpr (is_list<T>) {
      value.clear();
      for (int i = 0; i < size(field); ++i)
        value.push_back(element<typename T::value_type>(field, i, range));
    } else if constexpr (is_optional<T>) {
      value = element<typename T::value_type>(field, 0, range);
    } else {
      value = element<T>(field, 0, range);
    }
  }

  // One of some names.
  template <class E>
  void choice(std::string_view field, E& value, const Names<E>& names) const {
    if (!has(field)) return;
    const auto text = element<std::string>(field, 0, {});
    for (const auto& [name, meaning] : names)
      if (name == text) {
        value = meaning;
        return;
      }
    std::vector<std::string_view> known;
    for (const auto& entry : names) known.push_back(entry.first);
    refuse_name(field, text, known);
  }

  // A message, by describe(io, value, args...).
  template <class S, class... Args>
  void part(std::string_view field, S& value, const Args&... args) const {
    if constexpr (is_list<S>) {
      for (int i = 0; i < size(field); ++i) describe_entry(field, i, value.emplace_back(), args...);
    } else if constexpr (is_optional<S>) {
      if (has(field)) describe_entry(field, 0, value.emplace(), args...);
    } else {
      if (has(field)) describe_entry(field, 0, value, args...);
    }
  }

  FieldReader entry(std::string_view field, int i = 0) const;
  void required(std::string_view field) const;
  void exactly_one(const std::vector<std::string_view>& fields) const;
  int line(std::string_view field, int i = 0) const;
  Place place(std::string_view field = {}, int i = 0) const {
    return source_.place(line(field, i));
  }

  // "run.chains" and what is wrong with it.
  template <class... Args>
  [[noreturn]] void refuse(std::string_view field, fmt::format_string<Args...> format,
                           Args&&... args) const {
    load_error(place(field), "{} {}", label(field),
               fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  FieldReader(const Source& source, const google::protobuf::Message& message, const Places* places,
              std::string path, int line)
      : source_(source), message_(message), places_(places), path_(std::move(path)), line_(line) {}

  const google::protobuf::FieldDescriptor* descriptor(std::string_view field) const;
  int size(std::string_view field) const;
  std::string label(std::string_view field) const;
  [[noreturn]] void refuse_name(std::string_view field, std::string_view name,
                                const std::vector<std::string_view>& known) const;
  // T is double, int64, uint64, bool or string.
  template <class T>
  T element(std::string_view field, int i, const Range& range) const;

  template <class S, class... Args>
  void describe_entry(std::string_view field, int i, S& value, const Args&... args) const {
    const FieldReader io = entry(field, i);
    describe(io, value, args...);
  }

  const Source& source_;
  const google::protobuf::Message& message_;
  const Places* places_;  // null when they are not known
  std::string path_;
  int line_;
};

class FieldWriter {
 public:
  static constexpr bool reading = false;

  explicit FieldWriter(google::protobuf::Message& message) : message_(message) {}

  template <class T>
  void value(std::string_view field, const T& value, const Range& = {}) const {
    if constexpr (is_list<T>) {
      for (const auto& element : value) put(field, element);
    } else if constexpr (is_optional<T>) {
      if (value) put(field, *value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!value.empty()) put(field, value);
    } else {
      put(field, value);
    }
  }

  template <class E>
  void choice(std::string_view field, const E& value, const Names<E>& names) const {
    for (const auto& [name, meaning] : names)
      if (meaning == value) put(field, std::string(name));
  }

  // A message that would be empty is left out, unless it is optional: then it says something.
  template <class S, class... Args>
  void part(std::string_view field, S& value, const Args&... args) const {
    if constexpr (is_list<S>) {
      for (auto& element : value) describe_entry(field, element, args...);
    } else if constexpr (is_optional<S>) {
      if (value) describe_entry(field, *value, args...);
    } else if (describe_entry(field, value, args...)) {
      drop(field);
    }
  }

  void required(std::string_view) const {}
  void exactly_one(const std::vector<std::string_view>&) const {}

 private:
  template <class S, class... Args>
  bool describe_entry(std::string_view field, S& value, const Args&... args) const {
    google::protobuf::Message& entry = add(field);
    const FieldWriter io(entry);
    describe(io, value, args...);
    return entry.ByteSizeLong() == 0;
  }

  template <class T>
  void put(std::string_view field, const T& value) const;
  google::protobuf::Message& add(std::string_view field) const;
  void drop(std::string_view field) const;

  google::protobuf::Message& message_;
};

}  // namespace whorl::graphs
