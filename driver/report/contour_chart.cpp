#include "driver/report/contour_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "driver/report/frame.hpp"
#include "driver/report/labels.hpp"
#include "driver/report/line_chart.hpp"
#include "driver/report/numbers.hpp"

namespace whorl::driver::report {

namespace {

constexpr int shades = 10;
constexpr double bar_width = 12;
constexpr double flat = 1e-6;  // a span of that part of the size is none

// The k-th band's, from the palest shade to the strongest; under paths, to a middling one.
std::string shade_class(const ContourChart& chart, std::size_t band) {
  const int strongest = chart.paths.empty() ? shades - 1 : shades / 2;
  const auto last = static_cast<double>(std::max<std::size_t>(chart.contours.size(), 1));
  const double place = static_cast<double>(band) / last * strongest;
  return fmt::format("s{}", static_cast<int>(std::lround(place)));
}

void draw_bands(Svg& svg, const ContourChart& chart, const Box& plot, const Axis& x,
                const Axis& y) {
  svg.rect(plot, shade_class(chart, 0));
  for (std::size_t k = 0; k < chart.contours.size(); ++k) {
    std::vector<std::vector<Point>> rings = rings_at(chart.grid, chart.contours[k].level);
    for (std::vector<Point>& ring : rings)
      for (Point& point : ring) point = {x.scale(point.x), y.scale(point.y)};
    svg.rings(rings, "contour " + shade_class(chart, k + 1), chart.contours[k].label);
  }
}

// The colours in equal steps, with the labels of the levels between them.
void draw_bar(Svg& svg, const ContourChart& chart, const Box& plot) {
  const std::size_t bands = chart.contours.size() + 1;
  const double left = plot.right() + 12, step = plot.height / static_cast<double>(bands);
  for (std::size_t k = 0; k < bands; ++k)
    svg.rect({left, plot.bottom() - static_cast<double>(k + 1) * step, bar_width, step},
             shade_class(chart, k));
  for (std::size_t k = 0; k < chart.contours.size(); ++k) {
    const double at = plot.bottom() - static_cast<double>(k + 1) * step;
    svg.line({left, at}, {left + bar_width + 3, at}, "axis");
    svg.text({left + bar_width + 6, at + 3.5}, chart.contours[k].label, "tick");
  }
}

double bar_room(const ContourChart& chart) {
  double widest = 0;
  for (const Contour& contour : chart.contours)
    widest = std::max(widest, text_width(contour.label, small_font_size));
  return chart.contours.empty() ? 14 : 12 + bar_width + 6 + widest + 4;
}

void draw_path(Svg& svg, const Path& path, const Axis& x, const Axis& y) {
  std::vector<Point> places;
  for (const Point& point : path.points) places.push_back({x.scale(point.x), y.scale(point.y)});
  const std::string colour = colour_class(path.colour);
  svg.polyline(places, "path-halo");
  svg.polyline(places, "path " + colour, path.name);
  for (const Point& place : places) svg.circle(place, 1.2, "dot " + colour);
  if (!places.empty()) svg.circle(places.front(), 4, "begin " + colour, path.name + ": first draw");
}

}  // namespace

std::vector<Contour> round_contours(const Grid& grid, int about) {
  const Limits limits = limits_of(grid.values);
  if (limits.empty() ||
      limits.span() <= flat * std::max(std::abs(limits.low), std::abs(limits.high)))
    return {};
  std::vector<Contour> contours;
  for (const Tick& tick : Scale(Scale::Kind::linear, limits, 0, 1).ticks(about))
    if (tick.value > limits.low && tick.value < limits.high)
      contours.push_back({tick.value, tick.label});
  return contours;
}

std::string draw(const ContourChart& chart) {
  const double top = chart.bar_label.empty() ? 10 : 26, bottom = chart.height - 42;
  Axis y{chart.y_label, Scale(Scale::Kind::linear, chart.grid.y, bottom, top), {}};
  y.ticks = y.scale.ticks(ticks_for_height(bottom - top));
  const double left = y.label_width() + 30, right = chart.width - bar_room(chart);
  Axis x{chart.x_label, Scale(Scale::Kind::linear, chart.grid.x, left, right), {}};
  x.ticks = x.scale.ticks(ticks_for_width(right - left));
  const Box plot{left, top, right - left, bottom - top};

  Svg svg(chart.width, chart.height, chart.title);
  svg.clip(plot);
  draw_bands(svg, chart, plot, x, y);
  for (const Path& path : chart.paths) draw_path(svg, path, x, y);
  svg.end();
  draw_axes(svg, plot, x, y);
  if (!chart.contours.empty()) draw_bar(svg, chart, plot);
  if (!chart.bar_label.empty())
    svg.text({chart.width - 4, top - 11}, chart.bar_label, "name", Anchor::end);
  return svg.finish();
}

}  // namespace whorl::driver::report
