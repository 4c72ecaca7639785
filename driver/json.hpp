// Json: writes one JSON value from left to right, indented by two blanks a level.
//
//   Json json;
//   json.object().key("name").value("u").key("shape").array().value(2).value(3).end().end();
//
// Numbers that JSON cannot write (NaN and infinities) become null.
// Thread safety: for one thread.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace whorl::driver {

// The shortest digits that read back to the same number; null where JSON has none.
template <class T>
std::string json_number(T number) {
  return std::isfinite(number) ? fmt::format("{}", number) : "null";
}

// In quotes, with what JSON wants escaped.
std::string json_text(std::string_view text);

class Json {
 public:
  Json& object() { return open('{', '}'); }
  Json& array() { return open('[', ']'); }
  Json& end();
  Json& key(std::string_view name);
  Json& value(std::string_view text);
  Json& value(const char* text) { return value(std::string_view(text)); }
  Json& value(const std::string& text) { return value(std::string_view(text)); }
  Json& value(bool truth) { return raw(truth ? "true" : "false"); }
  Json& value(double number);
  Json& value(float number);
  Json& value(std::int64_t number) { return raw(std::to_string(number)); }
  Json& value(std::uint64_t number) { return raw(std::to_string(number)); }
  Json& value(int number) { return raw(std::to_string(number)); }
  template <class T>
  Json& field(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  // With a newline at the end.
  std::string text() const { return text_ + '\n'; }

 private:
  struct Level {
    char close;
    bool empty;
  };

  Json& open(char first, char close);
  Json& raw(std::string_view text);
  void separate();

  std::string text_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

// A JSON object on one line, for files and streams of lines.
class JsonLine {
 public:
  template <class T>
  JsonLine& field(std::string_view name, const T& content) {
    if constexpr (std::is_floating_point_v<T>) {
      return raw(name, json_number(content));
    } else if constexpr (std::is_integral_v<T>) {
      return raw(name, fmt::format("{}", content));
    } else {
      return raw(name, json_text(content));
    }
  }
  // With a newline at the end.
  std::string text() const { return text_ + "}\n"; }

 private:
  JsonLine& raw(std::string_view name, std::string_view content) {
    text_ += fmt::format("{}{}: {}", text_.size() > 1 ? ", " : "", json_text(name), content);
    return *this;
  }

  std::string text_ = "{";
};

}  // namespace whorl::driver
