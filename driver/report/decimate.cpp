#include "driver/report/decimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace whorl::driver::report {

namespace {

bool is_finite(const Point& point) { return std::isfinite(point.x) && std::isfinite(point.y); }

// Its extremes and its ends, in their order; where it has a gap, that comes last.
void keep(std::span<const Point> stretch, std::vector<Point>& kept) {
  std::array<std::size_t, 4> places{};
  std::size_t found = 0;
  bool gap = false;
  for (std::size_t i = 0; i < stretch.size(); ++i) {
    if (!is_finite(stretch[i])) {
      gap = true;
      continue;
    }
    if (found++ == 0) places.fill(i);
    if (stretch[i].y < stretch[places[1]].y) places[1] = i;
    if (stretch[i].y > stretch[places[2]].y) places[2] = i;
    places[3] = i;
  }
  if (found > 0) {
    std::sort(places.begin(), places.end());
    const auto end = std::unique(places.begin(), places.end());
    for (auto place = places.begin(); place != end; ++place) kept.push_back(stretch[*place]);
  }
  if (gap) kept.push_back({std::nan(""), std::nan("")});
}

}  // namespace

std::vector<Point> decimate(std::span<const Point> points, std::size_t most) {
  if (points.size() <= most) return {points.begin(), points.end()};
  const std::size_t stretches = std::max<std::size_t>(most / 4, 1);
  std::vector<Point> kept;
  for (std::size_t i = 0; i < stretches; ++i) {
    const std::size_t first = i * points.size() / stretches,
                      last = (i + 1) * points.size() / stretches;
    keep(points.subspan(first, last - first), kept);
  }
  return kept;
}

}  // namespace whorl::driver::report
