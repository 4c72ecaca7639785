#include "driver/report/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace whorl::driver::report {

namespace {

constexpr std::string_view replacement = "\ufffd";
constexpr const char* ellipsis = "\u2026";

// The length of the UTF-8 character that a text begins with; 0 where it is none.
std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  // Longer than needed, halves of UTF-16 pairs, and beyond the last character.
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
    return 0;
  // U+FFFE and U+FFFF are no characters.
  if (first == 0xef && second == 0xbf && static_cast<unsigned char>(text[2]) > 0xbd) return 0;
  return length;
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
}

// In ems, for a wide sans-serif font: it is not known which one a reader has.
double character_width(char c) {
  if (std::string_view("ijlI.,:;'|! ").find(c) != std::string_view::npos) return 0.32;
  if (std::string_view("frt()[]/-").find(c) != std::string_view::npos) return 0.4;
  if (std::string_view("mwMW@%").find(c) != std::string_view::npos) return 0.93;
  return c >= 'A' && c <= 'Z' ? 0.7 : 0.62;
}

// A tenth of a pixel is enough. Whoever draws leaves out what is not finite; this is the last
// resort, far outside of every drawing.
std::string coordinate(double x) {
  if (!std::isfinite(x)) x = -1e5;
  std::string text = fmt::format("{:.1f}", std::clamp(x, -1e5, 1e5));
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

bool is_finite(const Point& point) { return std::isfinite(point.x) && std::isfinite(point.y); }

std::string place(const Point& point) {
  return fmt::format("{} {}", coordinate(point.x), coordinate(point.y));
}

// "M1 2L3 4 5 6" for each part that is finite.
std::string path_of(std::span<const Point> points) {
  std::string path;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!is_finite(points[i])) continue;
    const bool begins = i == 0 || !is_finite(points[i - 1]);
    const bool alone = begins && (i + 1 == points.size() || !is_finite(points[i + 1]));
    if (begins) {
      path += 'M' + place(points[i]);
    } else {
      path += 'L' + place(points[i]);
    }
    if (alone) path += "h0";  // with round caps, a dot
  }
  return path;
}

const char* anchor_text(Anchor anchor) {
  if (anchor == Anchor::start) return "";
  return anchor == Anchor::middle ? " text-anchor=\"middle\"" : " text-anchor=\"end\"";
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const char c = text[0];
    if (length == 0 || (length == 1 && is_control(c))) {
      result += replacement;
    } else if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '"') {
      result += "&quot;";
    } else if (c == '\'') {
      result += "&#39;";
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

double text_width(std::string_view text, double font_size) {
  double width = 0;
  for (char c : text)
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) width += character_width(c);
  return width * font_size;
}

std::string shortened(std::string_view text, double width, double font_size) {
  if (text_width(text, font_size) <= width) return std::string(text);
  double used = font_size;  // of the ellipsis
  std::size_t end = 0;
  while (end < text.size()) {
    const std::size_t length = std::max<std::size_t>(character_length(text.substr(end)), 1);
    used += character_width(text[end]) * font_size;
    if (used > width) break;
    end += length;
  }
  return std::string(text.substr(0, end)) + ellipsis;
}

Svg::Svg(double width, double height, std::string_view title)
    : text_(fmt::format("<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
                        "aria-label=\"{2}\">\n",
                        coordinate(width), coordinate(height), escaped(title))) {}

void Svg::element(std::string_view tag, std::string_view attributes, std::string_view classes,
                  std::string_view tooltip) {
  text_ += fmt::format("<{} {}", tag, attributes);
  if (!classes.empty()) text_ += fmt::format(" class=\"{}\"", classes);
  text_ +=
      tooltip.empty() ? "/>\n" : fmt::format("><title>{}</title></{}>\n", escaped(tooltip), tag);
}

void Svg::line(Point from, Point to, std::string_view classes, std::string_view tooltip) {
  if (!is_finite(from) || !is_finite(to)) return;
  element("path", fmt::format("d=\"M{}L{}\"", place(from), place(to)), classes, tooltip);
}

void Svg::rect(const Box& box, std::string_view classes, std::string_view tooltip) {
  if (!is_finite({box.left, box.top}) || !(box.width >= 0) || !(box.height >= 0)) return;
  element("rect",
          fmt::format("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", coordinate(box.left),
                      coordinate(box.top), coordinate(box.width), coordinate(box.height)),
          classes, tooltip);
}

void Svg::circle(Point centre, double radius, std::string_view classes, std::string_view tooltip) {
  if (!is_finite(centre)) return;
  element("circle",
          fmt::format("cx=\"{}\" cy=\"{}\" r=\"{}\"", coordinate(centre.x), coordinate(centre.y),
                      coordinate(radius)),
          classes, tooltip);
}

void Svg::polyline(std::span<const Point> points, std::string_view classes,
                   std::string_view tooltip) {
  const std::string path = path_of(points);
  if (!path.empty()) element("path", fmt::format("d=\"{}\"", path), classes, tooltip);
}

void Svg::rings(std::span<const std::vector<Point>> rings, std::string_view classes,
                std::string_view tooltip) {
  std::string path;
  for (const std::vector<Point>& ring : rings)
    if (std::all_of(ring.begin(), ring.end(), is_finite) && ring.size() > 2)
      path += path_of(ring) + 'Z';
  if (!path.empty())
    element("path", fmt::format("d=\"{}\" fill-rule=\"evenodd\"", path), classes, tooltip);
}

void Svg::text(Point at, std::string_view text, std::string_view classes, Anchor anchor) {
  if (!is_finite(at)) return;
  text_ += fmt::format("<text x=\"{}\" y=\"{}\"{} class=\"{}\">{}</text>\n", coordinate(at.x),
                       coordinate(at.y), anchor_text(anchor), classes, escaped(text));
}

void Svg::upright_text(Point at, std::string_view text, std::string_view classes) {
  if (!is_finite(at)) return;
  text_ += fmt::format(
      "<text transform=\"translate({} {})rotate(-90)\" text-anchor=\"middle\" class=\"{}\">{}"
      "</text>\n",
      coordinate(at.x), coordinate(at.y), classes, escaped(text));
}

void Svg::clip(const Box& box) {
  // An inner drawing clips by itself, where a clip path would need a name that no other has.
  text_ += fmt::format(
      "<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} {3}\" "
      "overflow=\"hidden\">\n",
      coordinate(box.left), coordinate(box.top), coordinate(std::max(box.width, 1.0)),
      coordinate(std::max(box.height, 1.0)));
  ++open_;
}

void Svg::end() {
  text_ += "</svg>\n";
  --open_;
}

std::string Svg::finish() {
  while (open_ > 0) end();
  return std::move(text_) + "</svg>\n";
}

}  // namespace whorl::driver::report
