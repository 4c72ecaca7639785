// What a learned sampler has learned: contours of its curl Q and its diffusion D, over the range
// that their inputs take.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "driver/report/contour_chart.hpp"
#include "driver/report/html.hpp"
#include "driver/report/learned_grid.hpp"
#include "driver/report/numbers.hpp"
#include "driver/report/sections.hpp"

namespace whorl::driver::report {

namespace {

std::string energy_axis(const LearnedSampler& sampler) {
  if (sampler.energy_input == EnergyInput::mean_log_joint) return "mean log joint u";
  return sampler.energy_input == EnergyInput::raw ? "energy U" : "energy, standardised";
}

std::string momentum_axis(const LearnedSampler& sampler) {
  return sampler.scale_momentum ? "momentum / its rms" : "momentum p";
}

std::string gradient_axis(const LearnedSampler& sampler) {
  return sampler.scale_gradient ? "gradient / its rms" : "gradient of U";
}

std::string panel(const Grid& grid, const std::string& title, const std::string& x_label,
                  const std::string& y_label, const std::string& symbol) {
  ContourChart chart;
  chart.title = title;
  chart.x_label = x_label;
  chart.y_label = y_label;
  chart.bar_label = symbol;
  chart.grid = grid;
  chart.contours = round_contours(grid);
  const Limits limits = limits_of(grid.values);
  return figure(title, draw(chart),
                chart.contours.empty() ? fmt::format("Constant: {}.", number_text(limits.low))
                                       : fmt::format("From {} to {}.", number_text(limits.low, 3),
                                                     number_text(limits.high, 3)));
}

std::string sampler_markup(const RunView& run) {
  const LearnedSampler& sampler = *run.record->sampler->learned;
  const LearnedGrid grids = learned_grid(run);
  std::string markup = paragraph(
      fmt::format("{}: {}",
                  run.record->sampler->name.empty() ? "The sampler" : run.record->sampler->name,
                  grids.ranges),
      "soft");
  const std::string energy = energy_axis(sampler), momentum = momentum_axis(sampler),
                    gradient = gradient_axis(sampler);
  return markup + division("triple", panel(grids.curl, "Curl Q(u, p)", energy, momentum, "Q") +
                                         panel(grids.diffusion, "Diffusion D(u, p) at gradient 0",
                                               energy, momentum, "D") +
                                         panel(grids.diffusion_by_gradient,
                                               "Diffusion D(p, g) at the median energy", momentum,
                                               gradient, "D"));
}

}  // namespace

std::string networks(const std::vector<RunView>& runs) {
  std::string markup;
  std::vector<std::string> seen;
  for (const RunView& run : runs) {
    if (!run.record->sampler || !run.record->sampler->learned) continue;
    const std::string hash = canonical_hash(*run.record->sampler);
    if (std::find(seen.begin(), seen.end(), hash) != seen.end()) continue;
    seen.push_back(hash);
    markup += sampler_markup(run);
  }
  if (markup.empty()) return "";
  return section("networks", "What was learned",
                 paragraph("Q says how strongly the force moves the momentum, and the momentum the "
                           "position: a step size that follows the state. D is friction and noise.",
                           "soft") +
                     markup);
}

}  // namespace whorl::driver::report
