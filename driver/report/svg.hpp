// Svg: builds one inline drawing from left to right, as text.
//
// Invariants: the text is well-formed XML whatever names it is given, and holds finite numbers
// only. Colours and fonts are left to classes, which the page's style sheet resolves for light,
// dark and paper: `c0` to `c7` choose a colour, and the others say what is drawn. Thread safety:
// for one thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace whorl::driver::report {

// For the text of an element and for an attribute in quotes. Bytes that are not UTF-8 and control
// characters, which XML has no place for, become U+FFFD.
std::string escaped(std::string_view text);
// How wide a text is about, in a font of this size.
double text_width(std::string_view text, double font_size);
// `text` cut to about that width, with an ellipsis where something is missing.
std::string shortened(std::string_view text, double width, double font_size);

struct Point {
  double x = 0, y = 0;
};

struct Box {
  double left = 0, top = 0, width = 0, height = 0;

  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

enum class Anchor { start, middle, end };

class Svg {
 public:
  // `title` is what a screen reader says.
  Svg(double width, double height, std::string_view title);

  // A tooltip that is empty is none.
  void line(Point from, Point to, std::string_view classes, std::string_view tooltip = {});
  void rect(const Box& box, std::string_view classes, std::string_view tooltip = {});
  void circle(Point centre, double radius, std::string_view classes, std::string_view tooltip = {});
  // A line through points; it breaks where one is not finite, and one that is alone is a dot.
  void polyline(std::span<const Point> points, std::string_view classes,
                std::string_view tooltip = {});
  // Closed rings, of which those inside others are holes.
  void rings(std::span<const std::vector<Point>> rings, std::string_view classes,
             std::string_view tooltip = {});
  void text(Point at, std::string_view text, std::string_view classes,
            Anchor anchor = Anchor::start);
  // Turned by a quarter, to be read from below.
  void upright_text(Point at, std::string_view text, std::string_view classes);

  // What follows, until end(), is seen inside the box only.
  void clip(const Box& box);
  void end();

  std::string finish();

 private:
  void element(std::string_view tag, std::string_view attributes, std::string_view classes,
               std::string_view tooltip);

  std::string text_;
  int open_ = 0;
};

}  // namespace whorl::driver::report
