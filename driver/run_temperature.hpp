// Is a run as warm as it should be, by what its draws come with?
//
// Thread safety: free functions; a DrawsReader belongs to one thread.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "diagnostics/temperature.hpp"
#include "driver/run_record.hpp"

namespace whorl::driver {

// Whether a built-in sampler, or that of a run, makes no draws from a law at all.
bool is_optimiser(std::string_view sampler);
bool is_optimiser(const RunRecord& run);

// What the temperature of the draws should be; none for an optimiser, or at temperature 0.
std::optional<double> expected_temperature(const RunRecord& run);

// Empty where nothing is expected, or nothing is known.
struct RunTemperatures {
  std::optional<Temperature> kinetic, configurational;
};
// Over the chains that were not given up.
RunTemperatures run_temperatures(const RunRecord& run, const std::vector<std::int64_t>& living);

}  // namespace whorl::driver
