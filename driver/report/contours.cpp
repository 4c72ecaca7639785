#include "driver/report/contours.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

namespace whorl::driver::report {

namespace {

constexpr double lowest = -std::numeric_limits<double>::infinity();

// The sides of a square, and the way that an edge takes through it with the higher side at its
// left.
enum Side { below, right, above, left };
struct Way {
  Side from, to;
};

// By the corners that are high: 1 lower left, 2 lower right, 4 upper right, 8 upper left. Of the
// two squares where high corners face each other across, the middle decides.
std::vector<Way> ways_through(int corners, bool high_middle) {
  switch (corners) {
    case 1:
      return {{below, left}};
    case 2:
      return {{right, below}};
    case 3:
      return {{right, left}};
    case 4:
      return {{above, right}};
    case 5:
      return high_middle ? std::vector<Way>{{above, left}, {below, right}}
                         : std::vector<Way>{{below, left}, {above, right}};
    case 6:
      return {{above, below}};
    case 7:
      return {{above, left}};
    case 8:
      return {{left, above}};
    case 9:
      return {{below, above}};
    case 10:
      return high_middle ? std::vector<Way>{{left, below}, {right, above}}
                         : std::vector<Way>{{right, below}, {left, above}};
    case 11:
      return {{right, above}};
    case 12:
      return {{left, right}};
    case 13:
      return {{below, right}};
    case 14:
      return {{left, below}};
    default:
      return {};
  }
}

// The grid with a border of -infinity. Points (i, j) run from -1 to nx and ny.
class Tracer {
 public:
  Tracer(const Grid& grid, double level)
      : grid_(grid),
        level_(level),
        width_(grid.nx + 2),
        next_(edge(grid.nx, grid.ny, left) + 4, -1) {
    for (std::int64_t j = -1; j < grid.ny; ++j)
      for (std::int64_t i = -1; i < grid.nx; ++i) link(i, j);
  }

  std::vector<std::vector<Point>> rings() {
    std::vector<std::vector<Point>> rings;
    for (std::size_t begin = 0; begin < next_.size(); ++begin) {
      std::vector<Point> ring;
      for (std::int64_t at = static_cast<std::int64_t>(begin); next_[index(at)] >= 0;) {
        ring.push_back(crossing(at));
        at = std::exchange(next_[index(at)], -1);
      }
      if (!ring.empty()) rings.push_back(std::move(ring));
    }
    return rings;
  }

 private:
  static std::size_t index(std::int64_t at) { return static_cast<std::size_t>(at); }

  double value(std::int64_t i, std::int64_t j) const {
    if (i < 0 || j < 0 || i >= grid_.nx || j >= grid_.ny) return lowest;
    const double found = grid_.values[index(j * grid_.nx + i)];
    return std::isnan(found) ? lowest : found;
  }

  // Edges are numbered by the point at their lower or left end: even ones lead to the right.
  std::size_t edge(std::int64_t i, std::int64_t j, Side side) const {
    if (side == right) ++i;
    if (side == above) ++j;
    const bool upwards = side == left || side == right;
    return index(2 * ((j + 1) * width_ + i + 1) + (upwards ? 1 : 0));
  }

  void link(std::int64_t i, std::int64_t j) {
    const double corner[] = {value(i, j), value(i + 1, j), value(i + 1, j + 1), value(i, j + 1)};
    int high = 0;
    for (int k = 0; k < 4; ++k) high |= corner[k] >= level_ ? 1 << k : 0;
    const double middle = (corner[0] + corner[1] + corner[2] + corner[3]) / 4;
    for (const Way& way : ways_through(high, middle >= level_))
      next_[edge(i, j, way.from)] = static_cast<std::int64_t>(edge(i, j, way.to));
  }

  // Where the level is crossed on an edge; beside the border, at the grid's own end of it.
  Point crossing(std::int64_t at) const {
    const std::int64_t point = at / 2, i = point % width_ - 1, j = point / width_ - 1;
    const std::int64_t i2 = i + (at % 2 == 0 ? 1 : 0), j2 = j + (at % 2);
    const double a = value(i, j), b = value(i2, j2);
    double t = (level_ - a) / (b - a);
    if (!std::isfinite(a)) t = 1;
    if (!std::isfinite(b)) t = 0;
    const double x = grid_.x_at(i), y = grid_.y_at(j);
    return {x + t * (grid_.x_at(i2) - x), y + t * (grid_.y_at(j2) - y)};
  }

  const Grid& grid_;
  double level_;
  std::int64_t width_;
  std::vector<std::int64_t> next_;
};

}  // namespace

double Grid::x_at(std::int64_t i) const {
  return x.low + x.span() * static_cast<double>(i) / static_cast<double>(nx - 1);
}

double Grid::y_at(std::int64_t j) const {
  return y.low + y.span() * static_cast<double>(j) / static_cast<double>(ny - 1);
}

std::vector<Point> Grid::points() const {
  std::vector<Point> all;
  for (std::int64_t j = 0; j < ny; ++j)
    for (std::int64_t i = 0; i < nx; ++i) all.push_back({x_at(i), y_at(j)});
  return all;
}

std::vector<std::vector<Point>> rings_at(const Grid& grid, double level) {
  return std::isfinite(level) ? Tracer(grid, level).rings() : std::vector<std::vector<Point>>{};
}

double level_of_share(const Grid& log_density, double share) {
  std::vector<double> levels;
  for (double f : log_density.values)
    if (std::isfinite(f)) levels.push_back(f);
  if (levels.empty()) return lowest;
  std::sort(levels.begin(), levels.end(), std::greater<>());
  double sum = 0, all = 0;
  for (double f : levels) all += std::exp(f - levels[0]);
  for (double f : levels) {
    sum += std::exp(f - levels[0]);
    if (sum >= share * all) return f;
  }
  return levels.back();
}

}  // namespace whorl::driver::report
