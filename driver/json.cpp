#include "driver/json.hpp"

#include <fmt/format.h>

#include <cmath>

namespace whorl::driver {

std::string json_text(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

void Json::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) return;
  // An array of numbers stays on one line, the fields of an object get a line each.
  const bool lines = levels_.back().close == '}';
  if (!levels_.back().empty) text_ += lines ? "," : ", ";
  if (lines) text_ += '\n' + std::string(2 * levels_.size(), ' ');
  levels_.back().empty = false;
}

Json& Json::open(char first, char close) {
  separate();
  text_ += first;
  levels_.push_back({close, true});
  return *this;
}

Json& Json::end() {
  const Level level = levels_.back();
  levels_.pop_back();
  if (level.close == '}' && !level.empty) text_ += '\n' + std::string(2 * levels_.size(), ' ');
  text_ += level.close;
  return *this;
}

Json& Json::key(std::string_view name) {
  separate();
  text_ += json_text(name) + ": ";
  after_key_ = true;
  return *this;
}

Json& Json::value(std::string_view text) { return raw(json_text(text)); }
Json& Json::value(double number) { return raw(json_number(number)); }
Json& Json::value(float number) { return raw(json_number(number)); }

Json& Json::raw(std::string_view text) {
  separate();
  text_ += text;
  return *this;
}

}  // namespace whorl::driver
