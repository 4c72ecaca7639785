// LineChart: curves on common axes, with marks, bands and levels to compare them with.
//
// Numbers that are not finite leave gaps. Long curves are decimated. Where a few wild values would
// flatten all others, the axis leaves them out and says so.
// Thread safety: plain values; draw() is a pure function.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/report/scale.hpp"
#include "driver/report/svg.hpp"

namespace whorl::driver::report {

// How much a curve shall be seen: one that matters, one of many, or what lies behind another.
enum class Stroke { strong, thin, pale };

struct Curve {
  std::string name;  // "" for one that the legend leaves out
  std::vector<Point> points;
  int colour = 0;  // from 0; colours repeat, with dashes
  Stroke stroke = Stroke::strong;
};

// A single value to compare with, such as a published one.
struct Mark {
  Point at;
  std::string label;
  double spread = 0;  // an error bar of that length up and down; 0: none
  std::string tooltip;
};

// A horizontal line, such as what a temperature should be.
struct Level {
  double y = 0;
  std::string tooltip;
};

// What is expected, as a horizontal stripe.
struct Band {
  double low = 0, high = 0;
  std::string tooltip;
};

struct LineChart {
  std::string title;  // for those who cannot see it
  std::string x_label, y_label;
  std::vector<Curve> curves;
  std::vector<Mark> marks;
  std::vector<Level> levels;
  std::vector<Band> bands;
  bool logarithmic_y = false;
  std::optional<Limits> x_limits, y_limits;
  bool stems = false;                // a line from zero to each point, instead of one through all
  double width = 560, height = 300;  // names above the drawing come on top
};

// The classes of a colour: "c3", and with dashes from the ninth on "c0 dashed".
std::string colour_class(int colour);

std::string draw(const LineChart& chart);

}  // namespace whorl::driver::report
