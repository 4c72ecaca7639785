// Labels: names of curves that do not overlap.
//
// Beside the ends of the curves where all of them find room there, else in rows above the drawing.
// Thread safety: plain values; drawing changes the Svg alone.
#pragma once

#include <string>
#include <vector>

#include "driver/report/svg.hpp"

namespace whorl::driver::report {

// Moves centres that lie closer than `distance` apart, as little as will do, within [low, high].
// The order stays. They overlap only where there is no room for all.
std::vector<double> spread_apart(const std::vector<double>& centres, double distance, double low,
                                 double high);

struct CurveName {
  std::string name;
  std::string classes;  // of its line, as in "line c2"
};

class Legend {
 public:
  // `height` is that of the plot; the names may take a third of the whole width beside it.
  Legend(std::vector<CurveName> names, double width, double height);

  double width() const { return beside_ ? width_ : 0; }    // that it takes at the right
  double height() const { return beside_ ? 0 : height_; }  // or above
  // `ends` are where the curves end. Names that are beside are joined with them.
  void draw(Svg& svg, const Box& plot, const std::vector<Point>& ends) const;

 private:
  void draw_beside(Svg& svg, const Box& plot, const std::vector<Point>& ends) const;
  void draw_above(Svg& svg, const Box& plot) const;

  std::vector<CurveName> names_;
  std::vector<Point> places_;  // of names above, from the left end of the plot
  bool beside_ = true;
  double width_ = 0, height_ = 0;
};

}  // namespace whorl::driver::report
