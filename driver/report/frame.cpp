#include "driver/report/frame.hpp"

#include <algorithm>

namespace whorl::driver::report {

double Axis::label_width() const {
  double width = 0;
  for (const Tick& tick : ticks) width = std::max(width, text_width(tick.label, small_font_size));
  return width;
}

int ticks_for_width(double pixels) { return std::clamp(static_cast<int>(pixels / 70), 3, 10); }
int ticks_for_height(double pixels) { return std::clamp(static_cast<int>(pixels / 38), 2, 8); }

void draw_grid(Svg& svg, const Box& plot, const Axis& x, const Axis& y) {
  svg.rect(plot, "plot");
  for (const Tick& tick : x.ticks)
    if (!tick.label.empty())
      svg.line({x.scale(tick.value), plot.top}, {x.scale(tick.value), plot.bottom()}, "grid");
  for (const Tick& tick : y.ticks)
    if (!tick.label.empty())
      svg.line({plot.left, y.scale(tick.value)}, {plot.right(), y.scale(tick.value)}, "grid");
}

void draw_axes(Svg& svg, const Box& plot, const Axis& x, const Axis& y) {
  svg.line({plot.left, plot.bottom()}, {plot.right(), plot.bottom()}, "axis");
  svg.line({plot.left, plot.top}, {plot.left, plot.bottom()}, "axis");
  double last_end = -1e9;
  for (const Tick& tick : x.ticks) {
    const double at = x.scale(tick.value), half = text_width(tick.label, small_font_size) / 2;
    svg.line({at, plot.bottom()}, {at, plot.bottom() + (tick.label.empty() ? 2.5 : 4.0)}, "axis");
    // Labels that are wider than expected make room by leaving every other one out.
    if (tick.label.empty() || at - half < last_end + 4) continue;
    svg.text({at, plot.bottom() + 16}, tick.label, "tick", Anchor::middle);
    last_end = at + half;
  }
  for (const Tick& tick : y.ticks) {
    const double at = y.scale(tick.value);
    svg.line({plot.left - (tick.label.empty() ? 2.5 : 4.0), at}, {plot.left, at}, "axis");
    if (!tick.label.empty()) svg.text({plot.left - 7, at + 3.5}, tick.label, "tick", Anchor::end);
  }
  if (!x.label.empty())
    svg.text({plot.left + plot.width / 2, plot.bottom() + 33}, x.label, "name", Anchor::middle);
  if (!y.label.empty())
    svg.upright_text({plot.left - y.label_width() - 16, plot.top + plot.height / 2}, y.label,
                     "name");
}

}  // namespace whorl::driver::report
