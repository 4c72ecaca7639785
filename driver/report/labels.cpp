#include "driver/report/labels.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "driver/report/frame.hpp"

namespace whorl::driver::report {

namespace {

constexpr double line_height = 15, key_width = 18, gap = 16, leader = 14;
constexpr double longest_name = 220;
constexpr double bold = 1.1;  // how much wider names are beside the curves

}  // namespace

std::vector<double> spread_apart(const std::vector<double>& centres, double distance, double low,
                                 double high) {
  std::vector<std::size_t> order(centres.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return centres[a] < centres[b]; });
  // Groups that touch move as one, so that their middle stays where it was.
  struct Group {
    double middle;
    std::size_t count;
  };
  std::vector<Group> groups;
  const auto half = [&](const Group& group) {
    return distance * static_cast<double>(group.count - 1) / 2;
  };
  const auto inside = [&](Group group) {
    group.middle = std::max(std::min(group.middle, high - half(group)), low + half(group));
    return group;
  };
  for (std::size_t i : order) {
    groups.push_back(inside({centres[i], 1}));
    while (groups.size() > 1) {
      const Group last = groups.back(), before = groups[groups.size() - 2];
      if (last.middle - half(last) >= before.middle + half(before) + distance) break;
      const std::size_t count = last.count + before.count;
      const double middle = (last.middle * static_cast<double>(last.count) +
                             before.middle * static_cast<double>(before.count)) /
                            static_cast<double>(count);
      groups.pop_back();
      groups.back() = inside({middle, count});
    }
  }
  std::vector<double> moved(centres.size());
  std::size_t next = 0;
  for (const Group& group : groups)
    for (std::size_t k = 0; k < group.count; ++k)
      moved[order[next++]] = group.middle - half(group) + distance * static_cast<double>(k);
  return moved;
}

Legend::Legend(std::vector<CurveName> names, double width, double height)
    : names_(std::move(names)) {
  if (names_.empty()) return;
  double widest = 0;
  for (CurveName& name : names_) {
    name.name = shortened(name.name, longest_name, font_size);
    widest = std::max(widest, text_width(name.name, font_size));
  }
  width_ = bold * widest + leader + 4;
  beside_ = width_ <= width / 3 && static_cast<double>(names_.size()) * line_height <= height;
  if (beside_) return;
  // The plot begins some way from the left, and so do the names.
  const double room = width - 70;
  const double column = key_width + 6 + widest + gap;
  const auto columns = static_cast<std::size_t>(std::max((room + gap) / column, 1.0));
  for (std::size_t i = 0; i < names_.size(); ++i)
    places_.push_back({column * static_cast<double>(i % columns),
                       (line_height + 1) * static_cast<double>(i / columns)});
  height_ = places_.back().y + line_height + 8;
}

void Legend::draw(Svg& svg, const Box& plot, const std::vector<Point>& ends) const {
  if (beside_) {
    draw_beside(svg, plot, ends);
  } else {
    draw_above(svg, plot);
  }
}

void Legend::draw_beside(Svg& svg, const Box& plot, const std::vector<Point>& ends) const {
  std::vector<double> centres;
  for (const Point& end : ends)
    centres.push_back(std::isfinite(end.y) ? std::clamp(end.y, plot.top, plot.bottom())
                                           : plot.bottom());
  const std::vector<double> places =
      spread_apart(centres, line_height, plot.top + 4, std::max(plot.bottom() - 4, plot.top + 4));
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const Point end{std::isfinite(ends[i].x) ? std::min(ends[i].x, plot.right()) : plot.right(),
                    centres[i]};
    svg.line({end.x + 2, end.y}, {plot.right() + leader - 3, places[i]},
             "leader " + names_[i].classes);
    svg.text({plot.right() + leader, places[i] + 4}, names_[i].name, "label " + names_[i].classes);
  }
}

void Legend::draw_above(Svg& svg, const Box& plot) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const Point at{plot.left + places_[i].x, plot.top - height_ + places_[i].y + 6};
    svg.line({at.x, at.y}, {at.x + key_width, at.y}, "line " + names_[i].classes);
    svg.text({at.x + key_width + 6, at.y + 4}, names_[i].name, "text");
  }
}

}  // namespace whorl::driver::report
