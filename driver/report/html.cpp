#include "driver/report/html.hpp"

#include <fmt/format.h>

#include "driver/report/numbers.hpp"
#include "driver/report/svg.hpp"

namespace whorl::driver::report {

namespace {

std::string class_attribute(std::string_view classes) {
  return classes.empty() ? "" : fmt::format(" class=\"{}\"", classes);
}

}  // namespace

std::string paragraph(std::string_view text, std::string_view classes) {
  return fmt::format("<p{}>{}</p>\n", class_attribute(classes), escaped(text));
}

std::string heading(int level, std::string_view text) {
  return fmt::format("<h{0}>{1}</h{0}>\n", level, escaped(text));
}

std::string section(std::string_view id, std::string_view title, std::string_view markup) {
  return fmt::format("<section id=\"{}\">\n{}{}</section>\n", escaped(id), heading(2, title),
                     markup);
}

std::string division(std::string_view classes, std::string_view markup) {
  return fmt::format("<div{}>\n{}</div>\n", class_attribute(classes), markup);
}

std::string figure(std::string_view title, std::string_view drawing, std::string_view caption) {
  return fmt::format(
      "<figure class=\"chart\">\n{}{}{}</figure>\n", title.empty() ? "" : heading(4, title),
      drawing,
      caption.empty() ? "" : fmt::format("<figcaption>{}</figcaption>\n", escaped(caption)));
}

std::string details(std::string_view summary, std::string_view markup, bool open) {
  return fmt::format("<details{}>\n<summary>{}</summary>\n{}</details>\n",
                     open ? " open=\"open\"" : "", escaped(summary), markup);
}

std::string code_block(std::string_view text) {
  return fmt::format("<pre><code>{}</code></pre>\n", escaped(text));
}

std::string definitions(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string list;
  for (const auto& [term, meaning] : entries)
    list += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escaped(term), escaped(meaning));
  return fmt::format("<dl>\n{}</dl>\n", list);
}

std::string count_of(std::int64_t count, std::string_view noun) {
  return count == 1 ? fmt::format("one {}", noun) : fmt::format("{} {}s", grouped(count), noun);
}

}  // namespace whorl::driver::report
