// The sections of a report, one file each, in the order of the page. One that has nothing to show
// is
// "".
//
// Thread safety: a section reads draws, and so belongs to one thread.
#pragma once

#include <string>
#include <vector>

#include "driver/report/run_view.hpp"

namespace whorl::driver::report {

std::string overview(const std::vector<RunView>& runs);
std::string curves(const std::vector<RunView>& runs);
// How well predictions are calibrated, of runs that have scores.json.
std::string calibration(const std::vector<RunView>& runs);
std::string diagnostics(const std::vector<RunView>& runs);
// Energies are evaluated on a grid; `memory` is what that may take.
std::string trajectories(const std::vector<RunView>& runs, int threads, std::int64_t memory);
std::string networks(const std::vector<RunView>& runs);
std::string provenance(const std::vector<RunView>& runs);

}  // namespace whorl::driver::report
