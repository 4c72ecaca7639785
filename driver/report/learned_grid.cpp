#include "driver/report/learned_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "driver/report/numbers.hpp"
#include "engine/evaluate.hpp"
#include "engine/ops.hpp"

namespace whorl::driver::report {

namespace {

constexpr std::int64_t side = 61;
constexpr double deviations = 3;       // of momentum and gradient
constexpr double outer_share = 0.005;  // of energies that are left out at either end

// U = |theta|^2 / 2: a step has to have some energy, though nothing of it reaches Q and D.
Energy any_energy(std::int64_t n) {
  Graph graph;
  const Value theta = input(graph, "theta", {DType::f64, {n}}, "parameter");
  graph.add_output("U", (0.5 * sum(square(theta))).id);
  return Energy(std::move(graph));
}

struct Inputs {
  std::vector<double> energy, momentum, gradient;
};
struct Outputs {
  std::vector<double> curl, diffusion;
};

// One coordinate for every point, so that a single step computes them all.
Outputs evaluate_sampler(LearnedSampler sampler, const Inputs& inputs, double step_size) {
  const std::int64_t n = std::ssize(inputs.energy);
  const Energy energy = any_energy(n);
  StepBuilder step(energy, {});
  const Type vector = step.vector();
  const auto fed = [&](const char* name) { return input(step.graph(), name, vector); };
  whorl::Point point;
  point.variables["momentum"] = fed("at/momentum");
  point.energy = fed("at/energy");
  point.gradient = fed("at/gradient");
  // Inputs come at the scale of the task already. The mean log joint is minus the energy per row.
  if (sampler.energy_input == EnergyInput::mean_log_joint) point.energy = -point.energy;
  sampler.trained_size = 0;
  const Matrices found =
      learned_dynamics(sampler, TaskStatistics{.rows = 1}, step_size).matrices(step, point);
  step.statistic("at/curl", found.curl.front().value);
  step.statistic("at/diffusion", found.diffusion.front().value);
  step.update("position", step.position());
  const Step made = step.finish();
  Feeds feeds{{"at/energy", Tensor::from(vector, inputs.energy)},
              {"at/momentum", Tensor::from(vector, inputs.momentum)},
              {"at/gradient", Tensor::from(vector, inputs.gradient)},
              {"step_size", Tensor::scalar(step_size)}};
  for (const StepParameter& parameter : made.parameters)
    feeds.emplace(parameter.name, parameter.value);
  std::vector<NodeId> wanted;
  for (const Graph::Output& output : made.graph.outputs())
    if (output.name == "at/curl" || output.name == "at/diffusion") wanted.push_back(output.node);
  const std::vector<Tensor> values = evaluate(made.graph, feeds, wanted);
  const auto numbers = [](const Tensor& tensor) {
    const auto all = tensor.values<double>();
    return std::vector<double>(all.begin(), all.end());
  };
  return {numbers(values[0]), numbers(values[1])};
}

struct EnergyRange {
  Limits limits;
  double middle = 0;
  std::string words;
};

// Energies of the draws, at the scale that the networks see before their squashing: that of the
// second half of the draws stands for the pilot run, which measured it.
std::optional<EnergyRange> range_of_draws(const RunView& run, const LearnedSampler& sampler) {
  if (!run.record->draws) return std::nullopt;
  const std::vector<std::int64_t> living = living_chains(*run.record->draws);
  const ChainDraws log_joint = read_statistic(*run.record->draws, living, "lp");
  if (log_joint.draws < 20) return std::nullopt;
  std::vector<double> energies, settled;
  for (std::size_t k = 0; k < log_joint.chains.size(); ++k)
    for (std::size_t t = 0; t < log_joint.of(k).size(); ++t) {
      energies.push_back(-log_joint.of(k)[t]);
      if (2 * t >= log_joint.of(k).size()) settled.push_back(energies.back());
    }
  double mean = 0, variance = 0;
  for (double u : settled) mean += u / static_cast<double>(settled.size());
  for (double u : settled)
    variance += (u - mean) * (u - mean) / static_cast<double>(settled.size());
  const double sd = std::sqrt(variance);
  if (!std::isfinite(sd) || !(sd > 0)) return std::nullopt;
  const bool raw = sampler.energy_input == EnergyInput::raw;
  if (!raw)
    for (double& u : energies) u = (u - mean) / sd;
  std::sort(energies.begin(), energies.end());
  const auto at = [&](double share) {
    return energies[static_cast<std::size_t>(share * static_cast<double>(energies.size() - 1))];
  };
  return EnergyRange{
      {at(outer_share), at(1 - outer_share)},
      at(0.5),
      fmt::format(
          "energies are those of 99% of the run's draws{}",
          raw ? "" : ", less the mean and in standard deviations of the second half of them")};
}

EnergyRange energy_range(const RunView& run, const LearnedSampler& sampler) {
  if (sampler.energy_input == EnergyInput::mean_log_joint)
    return {{-2.6, 0}, -0.4, "the mean log joint is from about that of guesses among ten to none"};
  if (const auto found = range_of_draws(run, sampler)) return *found;
  if (sampler.energy_input != EnergyInput::raw)
    return {{-deviations, deviations}, 0, "energies are within 3 standard deviations of a task's"};
  std::vector<double> values = run.sequence("energy").values;
  const Limits limits = robust_limits(values);
  std::erase_if(values, [](double u) { return !std::isfinite(u); });
  if (values.empty() || !(limits.span() > 0)) return {{0, 1}, 0.5, "energies are from 0 to 1"};
  std::sort(values.begin(), values.end());
  return {limits, values[values.size() / 2], "energies are the means that were seen on the way"};
}

double step_size_of(const RunView& run, const LearnedSampler& sampler) {
  if (run.record->is_training()) {
    const double own = sampler.step_size(sampler.statistics);
    return own > 0 ? own : run.experiment().training->step_size;
  }
  const auto& schedule = run.experiment().run.step_size;
  if (schedule && schedule->constant) return *schedule->constant;
  if (schedule && !schedule->phases.empty()) return schedule->phases.front().value;
  return 0.01;
}

}  // namespace

LearnedGrid learned_grid(const RunView& run) {
  const LearnedSampler& sampler = *run.record->sampler->learned;
  const EnergyRange energy = energy_range(run, sampler);
  const double gradient_size = sampler.mean_gradient
                                   ? 1 / std::abs(sampler.diffusion.inputs[2].scale)
                               : sampler.scale_gradient ? 1
                                                        : sampler.statistics.gradient_rms;
  const Limits momentum{-deviations, deviations};
  const Limits gradient{-deviations * gradient_size, deviations * gradient_size};

  LearnedGrid result;
  result.curl = result.diffusion = Grid{energy.limits, momentum, side, side, {}};
  result.diffusion_by_gradient = Grid{momentum, gradient, side, side, {}};
  Inputs inputs;
  for (const Point& at : result.curl.points()) {
    inputs.energy.push_back(at.x);
    inputs.momentum.push_back(at.y);
    inputs.gradient.push_back(0);
  }
  for (const Point& at : result.diffusion_by_gradient.points()) {
    inputs.energy.push_back(energy.middle);
    inputs.momentum.push_back(at.x);
    inputs.gradient.push_back(at.y);
  }
  const Outputs found = evaluate_sampler(sampler, inputs, step_size_of(run, sampler));
  const auto half = found.curl.begin() + side * side;
  result.curl.values.assign(found.curl.begin(), half);
  result.diffusion.values.assign(found.diffusion.begin(), found.diffusion.begin() + side * side);
  result.diffusion_by_gradient.values.assign(found.diffusion.begin() + side * side,
                                             found.diffusion.end());
  result.ranges = fmt::format(
      "{}; momenta are within 3 standard deviations of their law, gradients within 3 times their "
      "root mean square.",
      energy.words);
  return result;
}

}  // namespace whorl::driver::report
