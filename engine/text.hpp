// Text that comes from files: UTF-8, and how it is shown in messages.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace whorl {

// The length of the UTF-8 sequence that starts at `at`, or 0 where there is none. Overlong forms,
// surrogates and numbers above 0x10ffff are none.
std::size_t utf8_length(std::string_view text, std::size_t at);
bool is_utf8(std::string_view text);

// A text from a file may hold anything: control characters and bytes that are not UTF-8 are shown
// as \xNN, so that a message is always one line that a terminal can print.
std::string printable(std::string_view text);

}  // namespace whorl
