#include "driver/report/bar_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "driver/report/frame.hpp"
#include "driver/report/line_chart.hpp"
#include "driver/report/numbers.hpp"

namespace whorl::driver::report {

namespace {

void draw_bars(Svg& svg, const BarChart& chart, const Scale& x, const Scale& y) {
  const auto bins = static_cast<double>(chart.heights.size());
  const std::string classes = "bar " + colour_class(chart.colour);
  for (std::size_t i = 0; i < chart.heights.size(); ++i) {
    if (!(chart.heights[i] > 0)) continue;
    const double low = chart.x.low + chart.x.span() * static_cast<double>(i) / bins,
                 high = chart.x.low + chart.x.span() * static_cast<double>(i + 1) / bins;
    svg.rect({x(low), y(chart.heights[i]), x(high) - x(low), y(0) - y(chart.heights[i])}, classes,
             fmt::format("{} to {}: density {}", number_text(low), number_text(high),
                         number_text(chart.heights[i], 3)));
  }
}

void draw_moments(Svg& svg, const BarChart& chart, const Scale& x, const Box& plot) {
  if (!(chart.sd > 0)) return;
  const double at = plot.top + 9;
  svg.line({x(chart.mean - chart.sd), at}, {x(chart.mean + chart.sd), at}, "whisker",
           fmt::format("mean {} \u00b1 sd {}", number_text(chart.mean), number_text(chart.sd)));
  svg.circle({x(chart.mean), at}, 3, "mean", fmt::format("mean {}", number_text(chart.mean)));
}

}  // namespace

std::string draw(const BarChart& chart) {
  const Box plot{14, 8, chart.width - 28, chart.height - (chart.x_label.empty() ? 32 : 50)};
  double highest = 0;
  for (double h : chart.heights)
    if (std::isfinite(h)) highest = std::max(highest, h);
  for (const Point& point : chart.curve)
    if (std::isfinite(point.y)) highest = std::max(highest, point.y);
  // Room for the moments above the highest bar.
  Axis y{"", Scale(Scale::Kind::linear, {0, highest * 1.15}, plot.bottom(), plot.top), {}};
  Axis x{chart.x_label, Scale(Scale::Kind::linear, chart.x, plot.left, plot.right()), {}};
  x.ticks = x.scale.ticks(ticks_for_width(plot.width));
  Svg svg(chart.width, chart.height, chart.title);
  draw_grid(svg, plot, x, y);
  draw_bars(svg, chart, x.scale, y.scale);
  std::vector<Point> curve;
  for (const Point& point : chart.curve) curve.push_back({x.scale(point.x), y.scale(point.y)});
  svg.polyline(curve, "line exact", "the exact density");
  draw_moments(svg, chart, x.scale, plot);
  draw_axes(svg, plot, x, y);
  return svg.finish();
}

std::vector<double> density_of(std::span<const double> values, const Limits& limits, int bins) {
  std::vector<double> heights(static_cast<std::size_t>(bins), 0.0);
  const double width = limits.span() / bins;
  std::int64_t finite = 0;
  for (double x : values) {
    if (!std::isfinite(x)) continue;
    ++finite;
    const double place = (x - limits.low) / width;
    if (!(place >= 0) || place > bins) continue;
    heights[static_cast<std::size_t>(std::min(static_cast<int>(place), bins - 1))] += 1;
  }
  for (double& height : heights)
    height /= static_cast<double>(std::max<std::int64_t>(finite, 1)) * width;
  return heights;
}

std::string draw(const RankChart& chart) {
  Svg svg(chart.width, chart.height, chart.title);
  const double bottom = chart.height - (chart.x_label.empty() ? 10 : 26);
  const double room = (bottom - 4) / std::max(static_cast<double>(chart.rows.size()), 1.0);
  double highest = chart.band.high, widest = 0;
  for (const RankRow& row : chart.rows) {
    for (double count : row.counts) highest = std::max(highest, count);
    widest = std::max(widest, text_width(row.name, small_font_size));
  }
  const double left = widest + 12, right = chart.width - 12;
  for (std::size_t k = 0; k < chart.rows.size(); ++k) {
    const RankRow& row = chart.rows[k];
    const Box plot{left, 4 + static_cast<double>(k) * room, right - left, room - 5};
    const Scale y(Scale::Kind::linear, {0, highest}, plot.bottom(), plot.top);
    svg.rect(plot, "plot");
    svg.rect({left, y(chart.band.high), plot.width, y(chart.band.low) - y(chart.band.high)}, "band",
             fmt::format("even ranks: {} to {} in each bin", number_text(chart.band.low, 3),
                         number_text(chart.band.high, 3)));
    const double width = plot.width / std::max(static_cast<double>(row.counts.size()), 1.0);
    for (std::size_t i = 0; i < row.counts.size(); ++i)
      svg.rect({left + static_cast<double>(i) * width + 0.5, y(row.counts[i]), width - 1,
                plot.bottom() - y(row.counts[i])},
               "bar " + colour_class(row.colour),
               fmt::format("{}, bin {} of {}: {}", row.name, i + 1, row.counts.size(),
                           number_text(row.counts[i])));
    svg.line({left, y(chart.expected)}, {right, y(chart.expected)}, "level");
    svg.line({left, plot.bottom()}, {right, plot.bottom()}, "axis");
    svg.text({left - 5, plot.top + plot.height / 2 + 4}, row.name, "tick", Anchor::end);
  }
  if (!chart.x_label.empty())
    svg.text({(left + right) / 2, chart.height - 6}, chart.x_label, "name", Anchor::middle);
  return svg.finish();
}

}  // namespace whorl::driver::report
