#include "driver/verdicts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace whorl::driver {

std::string or_dash(double value, const char* format) {
  return std::isfinite(value) ? fmt::format(fmt::runtime(format), value) : "-";
}

std::string rhat_text(double rhat) {
  if (std::isnan(rhat)) return "-";
  for (int digits = 3; digits < 17; ++digits) {
    const std::string text = fmt::format("{:.{}f}", rhat, digits);
    if (!(rhat > rhat_limit) || !std::isfinite(rhat) || std::stod(text) > rhat_limit) return text;
  }
  return fmt::format("{}", rhat);
}

bool is_worse(const ParameterSummary& a, const ParameterSummary& b) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto disagreement = [](const ParameterSummary& s) {
    return std::isnan(s.rhat) ? infinity : s.rhat > rhat_limit ? s.rhat : 0;
  };
  const auto size = [](const ParameterSummary& s) {
    const double ess = std::fmin(s.ess_bulk, s.ess_tail);
    return std::isnan(ess) ? 0 : ess;
  };
  if (disagreement(a) != disagreement(b)) return disagreement(a) > disagreement(b);
  return size(a) < size(b);
}

void add_convergence_warnings(const std::vector<std::string>& names,
                              const std::vector<ParameterSummary>& summaries,
                              std::vector<std::string>& warnings) {
  const auto higher = [](const ParameterSummary& a, const ParameterSummary& b) {
    return std::isnan(a.rhat) ? !std::isnan(b.rhat) : a.rhat < b.rhat;
  };
  const auto lower = [](const ParameterSummary& a, const ParameterSummary& b) {
    return std::isnan(b.ess_bulk) ? !std::isnan(a.ess_bulk) : a.ess_bulk < b.ess_bulk;
  };
  const auto name_of = [&](auto found) {
    return names[static_cast<std::size_t>(found - summaries.begin())];
  };
  const auto rhat = std::max_element(summaries.begin(), summaries.end(), higher);
  if (rhat != summaries.end() && rhat->rhat > rhat_limit)
    warnings.push_back(fmt::format(
        "R-hat is {} for {}, more than {}: the chains do not agree yet; more steps or more "
        "burn-in may help",
        rhat_text(rhat->rhat), name_of(rhat), rhat_limit));
  const auto ess = std::min_element(summaries.begin(), summaries.end(), lower);
  if (ess != summaries.end() && ess->ess_bulk < ess_limit)
    warnings.push_back(
        fmt::format("ESS is {:.0f} for {}, less than {}: means are known to about {:.2g} sd only",
                    ess->ess_bulk, name_of(ess), ess_limit, 1 / std::sqrt(ess->ess_bulk)));
}

}  // namespace whorl::driver
