#include "driver/report/line_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "driver/report/decimate.hpp"
#include "driver/report/frame.hpp"
#include "driver/report/labels.hpp"
#include "driver/report/numbers.hpp"

namespace whorl::driver::report {

namespace {

constexpr int colours = 8;
constexpr std::size_t tooltips = 24;  // of a curve
constexpr double mark_label_height = 14;
constexpr double level_room = 0.03;  // of the axis

bool is_finite(const Point& point) { return std::isfinite(point.x) && std::isfinite(point.y); }

struct Layout {
  Box plot;
  Axis x, y;
  Limits all_y;  // whatever the axis leaves out

  Point operator()(const Point& point) const { return {x.scale(point.x), y.scale(point.y)}; }
};

Limits x_limits(const LineChart& chart) {
  if (chart.x_limits) return *chart.x_limits;
  Limits limits;
  for (const Curve& curve : chart.curves)
    for (const Point& point : curve.points)
      if (is_finite(point)) limits.add(point.x);
  for (const Mark& mark : chart.marks) limits.add(mark.at.x);
  return limits;
}

std::vector<double> curve_values(const LineChart& chart) {
  std::vector<double> values;
  for (const Curve& curve : chart.curves)
    for (const Point& point : curve.points)
      if (is_finite(point) && (!chart.logarithmic_y || point.y > 0)) values.push_back(point.y);
  return values;
}

// A linear axis leaves wild values out; a logarithmic one has room for all.
Limits y_limits(const LineChart& chart) {
  if (chart.y_limits) return *chart.y_limits;
  Limits limits =
      chart.logarithmic_y ? limits_of(curve_values(chart)) : robust_limits(curve_values(chart));
  const auto add = [&](double y) {
    if (!chart.logarithmic_y || y > 0) limits.add(y);
  };
  for (const Mark& mark : chart.marks) {
    add(mark.at.y - mark.spread);
    add(mark.at.y + mark.spread);
  }
  for (const Level& level : chart.levels) {
    add(level.y);
    // Not on the edge, where it would not be seen.
    add(level.y - level_room * limits.span());
    add(level.y + level_room * limits.span());
  }
  for (const Band& band : chart.bands) {
    add(band.low);
    add(band.high);
  }
  if (chart.stems) add(0);
  return limits;
}

Layout layout_of(const LineChart& chart, const Legend& legend) {
  const auto kind = chart.logarithmic_y ? Scale::Kind::logarithmic : Scale::Kind::linear;
  const double top = 10 + legend.height();
  const double bottom = chart.height - (chart.x_label.empty() ? 24 : 42);
  const int rows = ticks_for_height(bottom - top);
  Axis y{chart.y_label,
         chart.y_limits ? Scale(kind, *chart.y_limits, bottom, top)
                        : Scale::rounded(kind, y_limits(chart), bottom, top, rows),
         {}};
  y.ticks = y.scale.ticks(rows);
  const double left = y.label_width() + (chart.y_label.empty() ? 12 : 30);
  const double right = chart.width - std::max(legend.width(), 14.0);
  Axis x{chart.x_label, Scale(Scale::Kind::linear, x_limits(chart), left, right), {}};
  x.ticks = x.scale.ticks(ticks_for_width(right - left));
  return {{left, top, right - left, bottom - top},
          std::move(x),
          std::move(y),
          limits_of(curve_values(chart))};
}

void draw_bands(Svg& svg, const LineChart& chart, const Layout& layout) {
  for (const Band& band : chart.bands) {
    const double top = layout.y.scale(band.high), bottom = layout.y.scale(band.low);
    svg.rect({layout.plot.left, top, layout.plot.width, bottom - top}, "band", band.tooltip);
  }
  for (const Level& level : chart.levels) {
    const double y = layout.y.scale(level.y);
    svg.line({layout.plot.left, y}, {layout.plot.right(), y}, "level", level.tooltip);
  }
}

void draw_curve(Svg& svg, const LineChart& chart, const Curve& curve, const Layout& layout) {
  const std::string colour = colour_class(curve.colour);
  std::vector<Point> places;
  for (const Point& point : decimate(curve.points)) places.push_back(layout(point));
  if (chart.stems) {
    const double zero = layout.y.scale(0);
    for (const Point& place : places) svg.line({place.x, zero}, place, "stem " + colour);
    return;
  }
  const char* classes = curve.stroke == Stroke::strong ? "line "
                        : curve.stroke == Stroke::thin ? "line thin-line "
                                                       : "line pale ";
  svg.polyline(places, classes + colour, curve.name);
  if (curve.stroke != Stroke::strong) return;
  const std::size_t every = std::max<std::size_t>(curve.points.size() / tooltips, 1);
  for (std::size_t i = curve.points.size(); i > 0; i -= std::min(i, every)) {
    const Point& point = curve.points[i - 1];
    if (!is_finite(point)) continue;
    svg.circle(layout(point), 5, "hover",
               fmt::format("{}{}{} at {}", curve.name, curve.name.empty() ? "" : ": ",
                           number_text(point.y), number_text(point.x, 7)));
  }
}

// Labels of marks stand on the side where there is more room.
void draw_marks(Svg& svg, const LineChart& chart, const Layout& layout) {
  std::vector<double> centres;
  for (const Mark& mark : chart.marks) {
    const double y = layout(mark.at).y;
    centres.push_back(std::isfinite(y) ? y : layout.plot.top);
  }
  const std::vector<double> places =
      spread_apart(centres, mark_label_height, layout.plot.top + 8, layout.plot.bottom() - 8);
  for (std::size_t i = 0; i < chart.marks.size(); ++i) {
    const Mark& mark = chart.marks[i];
    const Point at = layout(mark.at);
    if (!is_finite(at)) continue;
    if (mark.spread > 0) {
      const double low = layout.y.scale(mark.at.y - mark.spread);
      svg.line({at.x, layout.y.scale(mark.at.y + mark.spread)},
               {at.x, std::isfinite(low) ? low : layout.plot.bottom()}, "whisker");
    }
    const bool left = at.x > layout.plot.left + layout.plot.width / 2;
    const double label_x = at.x + (left ? -12 : 12);
    if (std::abs(places[i] - at.y) > 3)
      svg.line(at, {label_x + (left ? 3 : -3), places[i]}, "whisker thin");
    svg.circle(at, 4, "mark", mark.tooltip.empty() ? mark.label : mark.tooltip);
    svg.text({label_x, places[i] + 4}, mark.label, "note halo", left ? Anchor::end : Anchor::start);
  }
}

void draw_cut_note(Svg& svg, const LineChart& chart, const Layout& layout) {
  if (chart.y_limits || layout.all_y.empty()) return;
  const Limits& shown = layout.y.scale.limits();
  const double slack = 1e-9 * shown.span();
  if (layout.all_y.high > shown.high + slack)
    svg.text({layout.plot.right() - 5, layout.plot.top + 13},
             fmt::format("\u25b2 up to {}", number_text(layout.all_y.high, 3)), "note halo",
             Anchor::end);
  if (layout.all_y.low < shown.low - slack)
    svg.text({layout.plot.right() - 5, layout.plot.bottom() - 6},
             fmt::format("\u25bc down to {}", number_text(layout.all_y.low, 3)), "note halo",
             Anchor::end);
}

Point end_of(const Curve& curve, const Layout& layout) {
  for (auto point = curve.points.rbegin(); point != curve.points.rend(); ++point)
    if (is_finite(layout(*point))) return layout(*point);
  return {std::nan(""), std::nan("")};
}

}  // namespace

std::string colour_class(int colour) {
  const int turn = colour / colours;
  return fmt::format("c{}{}", colour % colours, turn == 0 ? "" : turn == 1 ? " dashed" : " dotted");
}

std::string draw(const LineChart& asked) {
  LineChart chart = asked;
  std::vector<CurveName> names;
  for (const Curve& curve : chart.curves)
    if (!curve.name.empty()) names.push_back({curve.name, colour_class(curve.colour)});
  // One curve alone has its name on the axis.
  if (names.size() < 2) names.clear();
  const Legend legend(std::move(names), chart.width, chart.height - 60);
  chart.height += legend.height();
  const Layout layout = layout_of(chart, legend);
  Svg svg(chart.width, chart.height, chart.title);
  draw_grid(svg, layout.plot, layout.x, layout.y);
  svg.clip(layout.plot);
  draw_bands(svg, chart, layout);
  for (const Curve& curve : chart.curves) draw_curve(svg, chart, curve, layout);
  svg.end();
  draw_axes(svg, layout.plot, layout.x, layout.y);
  draw_marks(svg, chart, layout);
  draw_cut_note(svg, chart, layout);
  if (legend.width() > 0 || legend.height() > 0) {
    std::vector<Point> ends;
    for (const Curve& curve : chart.curves)
      if (!curve.name.empty()) ends.push_back(end_of(curve, layout));
    legend.draw(svg, layout.plot, ends);
  }
  return svg.finish();
}

}  // namespace whorl::driver::report
