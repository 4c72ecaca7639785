#include "driver/report/energy_grid.hpp"

#include <cmath>

#include "engine/compile.hpp"
#include "engine/executor.hpp"
#include "engine/ops.hpp"
#include "engine/passes.hpp"

namespace whorl::driver::report {

namespace {

constexpr std::int64_t side = 81;
// Points times rows of data: beyond, the grid is made coarser.
constexpr double most_work = 2e9;

std::int64_t side_for(std::int64_t rows) {
  const double wanted = std::sqrt(most_work / static_cast<double>(std::max<std::int64_t>(rows, 1)));
  return std::clamp(static_cast<std::int64_t>(wanted), std::int64_t{15}, side);
}

}  // namespace

Grid gaussian_grid(const Gaussian& gaussian, std::size_t a, std::size_t b, const Limits& x,
                   const Limits& y) {
  Grid grid{x, y, side, side, {}};
  const auto d = static_cast<std::size_t>(gaussian.dimension());
  const auto covariance = gaussian.covariance();
  const double aa = covariance[a * d + a], bb = covariance[b * d + b], ab = covariance[a * d + b];
  const double determinant = aa * bb - ab * ab;
  for (const Point& point : grid.points()) {
    const double u = point.x - gaussian.mean()[a], v = point.y - gaussian.mean()[b];
    grid.values.push_back(-(bb * u * u - 2 * ab * u * v + aa * v * v) / (2 * determinant));
  }
  return grid;
}

Grid energy_grid(const Target& target, const Limits& x, const Limits& y, int threads) {
  const std::int64_t points = side_for(target.rows);
  Grid grid{x, y, points, points, {}};
  Graph graph;
  const DType dtype = target.energy.dtype();
  const Value theta = input(graph, "theta", {dtype, {2}});
  graph.add_output("U", target.energy(theta).id);
  // A row of the grid at a time, so that memory does not depend on its size.
  Executor executor(compile(batch(graph, {"theta"}, points)), {.threads = threads});
  for (const auto& [name, tensor] : target.data) executor.bind(name, tensor);
  const std::vector<Point> places = grid.points();
  for (std::int64_t row = 0; row < points; ++row) {
    std::vector<double> states;
    for (std::int64_t i = 0; i < points; ++i) {
      const Point& place = places[static_cast<std::size_t>(row * points + i)];
      states.push_back(place.x);
      states.push_back(place.y);
    }
    const Tensor fed = Tensor::from({dtype, {points, 2}}, states);
    executor.bind("theta", fed);
    executor.run();
    for (std::int64_t i = 0; i < points; ++i) grid.values.push_back(-executor.output("U").at(i));
  }
  return grid;
}

}  // namespace whorl::driver::report
