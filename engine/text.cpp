#include "engine/text.hpp"

#include <fmt/format.h>

namespace whorl {

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned b = byte(0);
  if (b < 0x80) return 1;
  if (b >= 0xc2 && b <= 0xdf) return tail(1) ? 2 : 0;
  if (b >= 0xe0 && b <= 0xef) {
    if ((b == 0xe0 && byte(1) < 0xa0) || (b == 0xed && byte(1) > 0x9f)) return 0;
    return tail(1) && tail(2) ? 3 : 0;
  }
  if (b >= 0xf0 && b <= 0xf4) {
    if ((b == 0xf0 && byte(1) < 0x90) || (b == 0xf4 && byte(1) > 0x8f)) return 0;
    return tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    const auto c = static_cast<unsigned char>(text[at]);
    if (length == 0 || c < 0x20 || c == 0x7f) {
      result += fmt::format("\\x{:02x}", c);
      ++at;
    } else {
      result += text.substr(at, length);
      at += length;
    }
  }
  return result;
}

}  // namespace whorl
