// decimate: fewer points of a curve that look the same.
//
// The curve is cut into stretches of as many points each, and of every stretch the first, the last,
// the lowest and the highest point are kept, in their order. So the extremes of the whole are kept,
// too, and a spike is never lost. A gap (a point that is not finite) stays a gap.
// Thread safety: a pure function.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "driver/report/svg.hpp"

namespace whorl::driver::report {

inline constexpr std::size_t curve_points = 600;

// At most `most` points, and a gap for each that there is.
std::vector<Point> decimate(std::span<const Point> points, std::size_t most = curve_points);

}  // namespace whorl::driver::report
