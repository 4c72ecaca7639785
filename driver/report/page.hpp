// A report as one page of HTML that needs nothing else: no scripts, no network, no other files.
//
// Thread safety: free functions.
#pragma once

#include <string>
#include <vector>

#include "driver/run_record.hpp"

namespace whorl::driver::report {

struct PageOptions {
  int threads = 1;
  std::int64_t memory_budget = 0;  // bytes
};

// Of one run or more.
std::string make_page(const std::vector<RunRecord>& runs, const PageOptions& options);

}  // namespace whorl::driver::report
