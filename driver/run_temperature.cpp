#include "driver/run_temperature.hpp"

#include <algorithm>

#include "driver/draws_summary.hpp"

namespace whorl::driver {

namespace {

// Momenta need not be N(0, T) in HMC, whose proposals may be refused, or with a kinetic energy of
// the sampler's own.
bool expects_kinetic(const RunRecord& run) {
  const std::string& name = run.experiment.sampler();
  if (name == "sghmc" || name == "sgnht") return true;
  if (!run.sampler) return false;
  if (run.sampler->learned) return true;
  const Graph dynamics = run.sampler->dynamics(1, DType::f64);
  return std::ranges::none_of(dynamics.outputs(),
                              [](const Graph::Output& output) { return output.name == "K"; });
}

std::vector<double> chain_means(const DrawnStatistic& statistic, std::size_t chains) {
  std::vector<double> means;
  const std::size_t known = static_cast<std::size_t>(statistic.known);
  for (std::size_t chain = 0; chain < chains && known > 0; ++chain) {
    double sum = 0;
    for (std::size_t t = 0; t < known; ++t) sum += statistic.values[chain * known + t];
    means.push_back(sum / static_cast<double>(known));
  }
  return means;
}

}  // namespace

bool is_optimiser(std::string_view sampler) {
  return sampler == "santa" || sampler == "adam" || sampler == "sgdm";
}
bool is_optimiser(const RunRecord& run) { return is_optimiser(run.experiment.sampler()); }

std::optional<double> expected_temperature(const RunRecord& run) {
  if (is_optimiser(run)) return std::nullopt;
  for (const auto& [name, value] : run.experiment.sampler_settings())
    if (name == "temperature") return value > 0 ? std::optional(value) : std::nullopt;
  return 1;
}

RunTemperatures run_temperatures(const RunRecord& run, const std::vector<std::int64_t>& living) {
  RunTemperatures result;
  const std::optional<double> expected = expected_temperature(run);
  if (!expected || !run.draws || living.empty()) return result;
  const std::vector<std::string>& names = run.draws->layout().statistics;
  const auto find = [&](std::string_view name) -> std::optional<Temperature> {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return std::nullopt;
    const DrawnStatistic statistic =
        read_statistic(*run.draws, static_cast<std::size_t>(found - names.begin()), living);
    if (statistic.known == 0) return std::nullopt;
    return temperature_of(chain_means(statistic, living.size()), *expected);
  };
  if (expects_kinetic(run)) result.kinetic = find("kinetic_temperature");
  result.configurational = find("configurational_temperature");
  return result;
}

}  // namespace whorl::driver
