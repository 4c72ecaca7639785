// BarChart: a histogram, with the exact density as a curve where it is known; and RankChart: one
// small histogram for each chain, with the band that even ones stay in.
//
// Thread safety: plain values; draw() is a pure function.
#pragma once

#include <string>
#include <vector>

#include "driver/report/scale.hpp"
#include "driver/report/svg.hpp"

namespace whorl::driver::report {

struct BarChart {
  std::string title;  // for those who cannot see it
  std::string x_label;
  Limits x;                     // the bars share it evenly
  std::vector<double> heights;  // in the units of the curve
  std::vector<Point> curve;
  double mean = 0, sd = 0;  // drawn as a line with whiskers where sd > 0
  int colour = 0;
  double width = 270, height = 190;
};

std::string draw(const BarChart& chart);

// So many bins over [low, high], as a density: the areas sum to one, less what lies outside.
std::vector<double> density_of(std::span<const double> values, const Limits& limits, int bins);

struct RankRow {
  std::string name;
  std::vector<double> counts;
  int colour = 0;
};

struct RankChart {
  std::string title;
  std::string x_label;
  std::vector<RankRow> rows;
  double expected = 0;  // count of each bin when all chains agree
  Limits band;          // where a count then lies almost always
  double width = 270, height = 190;
};

std::string draw(const RankChart& chart);

}  // namespace whorl::driver::report
