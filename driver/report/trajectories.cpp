// The first draws of some chains on the contours of the target, for targets with two numbers, and
// for two coordinates of a Gaussian.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "driver/report/contour_chart.hpp"
#include "driver/report/energy_grid.hpp"
#include "driver/report/html.hpp"
#include "driver/report/numbers.hpp"
#include "driver/report/sections.hpp"

namespace whorl::driver::report {

namespace {

constexpr std::int64_t shown_draws = 200;
constexpr std::size_t shown_chains = 2;
constexpr double longest_path = 12;          // in widths of the drawing, or all is covered
constexpr double standard_deviations = 3.2;  // of a Gaussian that are drawn
constexpr double shares[] = {0.99, 0.9, 0.75, 0.5, 0.25};

// Two coordinates of the state, and where they are among the draws.
struct Plane {
  std::size_t a = 0, b = 1;
  JudgedNumber x, y;
};

std::optional<JudgedNumber> number_at(const DrawsLayout& layout, std::int64_t coordinate) {
  for (std::size_t p = 0; p < layout.parameters.size(); ++p) {
    const DrawsVariable& parameter = layout.parameters[p];
    const std::int64_t element = coordinate - parameter.offset;
    if (element < 0 || element >= parameter.shape.elements()) continue;
    const DrawnNumber number{p, element};
    return JudgedNumber{name_of(layout, number), number, {}};
  }
  return std::nullopt;
}

// The pair of coordinates with the strongest correlation: where samplers have it hardest.
std::pair<std::size_t, std::size_t> strongest_pair(const Gaussian& gaussian) {
  const auto d = static_cast<std::size_t>(gaussian.dimension());
  const auto covariance = gaussian.covariance();
  std::pair<std::size_t, std::size_t> pair{0, 1};
  double strongest = -1;
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = i + 1; j < d; ++j) {
      const double correlation = std::abs(covariance[i * d + j]) /
                                 std::sqrt(covariance[i * d + i] * covariance[j * d + j]);
      if (correlation > strongest) {
        strongest = correlation;
        pair = {i, j};
      }
    }
  return pair;
}

std::optional<Plane> plane_of(const RunView& run) {
  if (!run.record->draws || run.record->draws->draws() == 0 || run.record->is_training())
    return std::nullopt;
  const DrawsLayout& layout = run.record->draws->layout();
  std::int64_t kept = 0, end = 0;
  for (const DrawsVariable& parameter : layout.parameters) {
    kept += parameter.shape.elements();
    end = std::max(end, parameter.offset + parameter.shape.elements());
  }
  Plane plane;
  if (run.gaussian) {
    if (run.gaussian->dimension() < 2) return std::nullopt;
    std::tie(plane.a, plane.b) = strongest_pair(*run.gaussian);
  } else if (kept != 2 || end != 2) {
    return std::nullopt;
  }
  const auto x = number_at(layout, static_cast<std::int64_t>(plane.a)),
             y = number_at(layout, static_cast<std::int64_t>(plane.b));
  if (!x || !y) return std::nullopt;
  plane.x = *x;
  plane.y = *y;
  return plane;
}

struct Drawn {
  const RunView* run;
  Plane plane;
  std::vector<Path> paths;
  Limits x, y;
};

Limits padded(const Limits& limits) {
  const double room = 0.06 * limits.span();
  return {limits.low - room, limits.high + room};
}

Drawn drawn(const RunView& run, const Plane& plane) {
  Drawn result{&run, plane, {}, {}, {}};
  const DrawsReader& reader = *run.record->draws;
  const std::vector<std::int64_t> living = living_chains(reader);
  const ChainDraws x = read_draws(reader, living, plane.x), y = read_draws(reader, living, plane.y);
  const auto draws = static_cast<std::size_t>(std::min(x.draws, shown_draws));
  for (std::size_t k = 0; k < std::min(living.size(), shown_chains); ++k) {
    Path path{fmt::format("chain {}", living[k]), {}, static_cast<int>(k) + 1};
    for (std::size_t t = 0; t < draws; ++t) {
      path.points.push_back({x.of(k)[t], y.of(k)[t]});
      result.x.add(x.of(k)[t]);
      result.y.add(y.of(k)[t]);
    }
    result.paths.push_back(std::move(path));
  }
  if (run.gaussian) {
    const auto d = static_cast<std::size_t>(run.gaussian->dimension());
    for (double sign : {-1.0, 1.0}) {
      const auto edge = [&](std::size_t i) {
        return run.gaussian->mean()[i] +
               sign * standard_deviations * std::sqrt(run.gaussian->covariance()[i * (d + 1)]);
      };
      result.x.add(edge(plane.a));
      result.y.add(edge(plane.b));
    }
  } else {
    const Limits all_x = robust_limits(x.values), all_y = robust_limits(y.values);
    for (double end : {all_x.low, all_x.high}) result.x.add(end);
    for (double end : {all_y.low, all_y.high}) result.y.add(end);
  }
  return result;
}

Grid grid_of(const Drawn& one, const Limits& x, const Limits& y, int threads, std::int64_t memory) {
  if (one.run->gaussian) return gaussian_grid(*one.run->gaussian, one.plane.a, one.plane.b, x, y);
  DataSettings data = one.run->experiment().data;
  data.batch.reset();
  return energy_grid(load_target(one.run->experiment().targets[0], data, memory), x, y, threads);
}

// Samplers that leap from end to end need fewer draws to be understood.
void cut_path(Path& path, const Grid& grid) {
  double length = 0;
  for (std::size_t t = 1; t < path.points.size(); ++t) {
    const Point &a = path.points[t - 1], &b = path.points[t];
    length += std::hypot((b.x - a.x) / grid.x.span(), (b.y - a.y) / grid.y.span());
    if (!(length > longest_path)) continue;
    path.points.resize(t + 1);
    return;
  }
}

std::string chart(const Drawn& one, const Grid& grid, bool large) {
  ContourChart chart;
  if (large) {
    chart.width = 540;
    chart.height = 400;
  }
  chart.title = fmt::format("trajectory of {}", one.run->name);
  chart.x_label = one.plane.x.name;
  chart.y_label = one.plane.y.name;
  chart.bar_label = "probability inside";
  chart.grid = grid;
  for (double share : shares)
    chart.contours.push_back(
        {level_of_share(grid, share), fmt::format("{}%", std::lround(100 * share))});
  chart.paths = one.paths;
  for (Path& path : chart.paths) cut_path(path, grid);
  return draw(chart);
}

// Runs on one target share axes and contours.
std::string group_markup(const std::vector<Drawn>& group, int threads, std::int64_t memory) {
  Limits x, y;
  for (const Drawn& one : group)
    for (const auto& [to, from] : {std::pair(&x, one.x), std::pair(&y, one.y)}) {
      to->add(from.low);
      to->add(from.high);
    }
  x = Scale(Scale::Kind::linear, padded(x), 0, 1).limits();
  y = Scale(Scale::Kind::linear, padded(y), 0, 1).limits();
  Grid grid;
  try {
    grid = grid_of(group.front(), x, y, threads, memory);
  } catch (const Error& error) {
    return paragraph(fmt::format("The contours of the target are left out: {}.", bare_text(error)));
  }
  std::string markup;
  const bool large = group.size() < 3;
  for (const Drawn& one : group) markup += figure(one.run->name, chart(one, grid, large), "");
  return division(large ? "pair" : "triple", markup);
}

}  // namespace

std::string trajectories(const std::vector<RunView>& runs, int threads, std::int64_t memory) {
  std::vector<std::vector<Drawn>> groups;
  bool some_coordinates = false;
  for (const RunView& run : runs) {
    const std::optional<Plane> plane = plane_of(run);
    if (!plane) continue;
    some_coordinates |= run.gaussian && run.gaussian->dimension() > 2;
    const auto known = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return same_target(*group.front().run, run);
    });
    if (known == groups.end()) {
      groups.push_back({drawn(run, *plane)});
    } else {
      known->push_back(drawn(run, *plane));
    }
  }
  if (groups.empty()) return "";
  std::string markup = paragraph(
      fmt::format(
          "Up to {} draws of {} chains, the first ones, from the ring on, over the regions in "
          "which the target has so much of its probability.{}",
          shown_draws, shown_chains,
          some_coordinates ? " Of a Gaussian in more dimensions, the two coordinates with "
                             "the strongest correlation are shown, with their exact law."
                           : ""),
      "soft");
  for (const auto& group : groups) markup += group_markup(group, threads, memory);
  return section("trajectories", "Trajectories", markup);
}

}  // namespace whorl::driver::report
