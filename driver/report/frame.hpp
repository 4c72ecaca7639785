// Frame: the axes of a drawing, with grid, ticks and names.
//
// Thread safety: plain values; drawing changes the Svg alone.
#pragma once

#include <string>

#include "driver/report/scale.hpp"
#include "driver/report/svg.hpp"

namespace whorl::driver::report {

inline constexpr double font_size = 12, small_font_size = 10.5;

struct Axis {
  std::string label;  // with its unit, as in "time (s)"; "" for none
  Scale scale;
  std::vector<Tick> ticks;

  // The width that the labels of the ticks take.
  double label_width() const;
};

// About one label for so many pixels.
int ticks_for_width(double pixels);
int ticks_for_height(double pixels);

// The grid behind what is drawn, and then what stands around it.
void draw_grid(Svg& svg, const Box& plot, const Axis& x, const Axis& y);
void draw_axes(Svg& svg, const Box& plot, const Axis& x, const Axis& y);

}  // namespace whorl::driver::report
