// Contours of a function on a grid, as closed rings.
//
// By marching squares with straight interpolation. What lies outside of the grid, and a value that
// is not a number, counts as lower than every level, so that rings close along the edge.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "driver/report/scale.hpp"
#include "driver/report/svg.hpp"

namespace whorl::driver::report {

// Values at nx by ny points, evenly spread over the limits and their ends; row by row, from low y.
struct Grid {
  Limits x, y;
  std::int64_t nx = 0, ny = 0;
  std::vector<double> values;

  double x_at(std::int64_t i) const;
  double y_at(std::int64_t j) const;
  std::vector<Point> points() const;  // in the order of the values
};

// The edges of { f >= level }, in the units of the limits.
std::vector<std::vector<Point>> rings_at(const Grid& grid, double level);

// The level above which a share of the whole lies when exp(f) is a density: what is inside is the
// smallest region that holds so much.
double level_of_share(const Grid& log_density, double share);

}  // namespace whorl::driver::report
