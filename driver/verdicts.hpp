// What is said in words of what draws show, by `sample` and by `summary`.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "diagnostics/summary.hpp"

namespace whorl::driver {

inline constexpr double rhat_limit = 1.01, ess_limit = 100;

// "-" where there is no number; the format is fmt's, as in "{:.5g}".
std::string or_dash(double value, const char* format);
// With digits enough that it is seen to be above the limit.
std::string rhat_text(double rhat);

// Whether a parameter is to be distrusted more than another: those that have no R-hat or one above
// the limit come first, the largest first; then the smallest of bulk and tail ESS.
bool is_worse(const ParameterSummary& a, const ParameterSummary& b);

// Adds a sentence on the largest R-hat and one on the smallest ESS where they are beyond the
// limits.
void add_convergence_warnings(const std::vector<std::string>& names,
                              const std::vector<ParameterSummary>& summaries,
                              std::vector<std::string>& warnings);

}  // namespace whorl::driver
