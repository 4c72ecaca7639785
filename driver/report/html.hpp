// The pieces that a page is put together from, as text.
//
// What is called `text` is escaped here; what is called `markup` is taken as it stands. The whole
// is also well-formed XML, so that tests can parse it. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace whorl::driver::report {

std::string paragraph(std::string_view text, std::string_view classes = {});
std::string heading(int level, std::string_view text);
// With an id, so that it can be jumped to.
std::string section(std::string_view id, std::string_view title, std::string_view markup);
std::string division(std::string_view classes, std::string_view markup);
// A drawing with a title above and an explanation below.
std::string figure(std::string_view title, std::string_view drawing, std::string_view caption);
std::string details(std::string_view summary, std::string_view markup, bool open);
std::string code_block(std::string_view text);
std::string definitions(const std::vector<std::pair<std::string, std::string>>& entries);

// "one step", "2 steps", "12,000 steps"
std::string count_of(std::int64_t count, std::string_view noun);

}  // namespace whorl::driver::report
