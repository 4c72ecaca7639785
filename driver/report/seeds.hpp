// Means over runs that differ in their seed, as `whorl table` gives them, on a page.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "driver/report/run_view.hpp"

namespace whorl::driver::report {

// "" where no runs differ in their seed alone.
std::string seeds_tables(const std::vector<RunView>& runs);

// "0.01823 \u00b1 0.00031"
std::string error_text(double mean, double error);

}  // namespace whorl::driver::report
