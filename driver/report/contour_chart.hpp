// ContourChart: a function of two numbers as coloured bands between contour lines, and paths on it.
//
// Thread safety: plain values; draw() is a pure function.
#pragma once

#include <string>
#include <vector>

#include "driver/report/contours.hpp"

namespace whorl::driver::report {

struct Contour {
  double level = 0;
  std::string label;  // at the colour bar
};

// The states that a chain goes through.
struct Path {
  std::string name;
  std::vector<Point> points;
  int colour = 0;
};

struct ContourChart {
  std::string title;  // for those who cannot see it
  std::string x_label, y_label;
  std::string bar_label;  // what the colours mean
  Grid grid;
  std::vector<Contour> contours;  // from low to high
  std::vector<Path> paths;
  double width = 380, height = 320;
};

// Round levels, about so many, over the values of a grid; empty where it is as good as constant.
std::vector<Contour> round_contours(const Grid& grid, int about = 9);

std::string draw(const ContourChart& chart);

}  // namespace whorl::driver::report
