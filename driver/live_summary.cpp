#include "driver/live_summary.hpp"

#include <algorithm>
#include <cmath>

#include "driver/draws_summary.hpp"

namespace whorl::driver {

namespace {

constexpr std::int64_t first_judgement = 100;  // draws a chain
constexpr std::int64_t shown_numbers = 16;
constexpr double look_seconds = 2, look_share = 0.02;

// NaN, of a number that never moves, is as bad as it gets.
LiveSummary::Worst worst_of(const DrawsSummary& found) {
  LiveSummary::Worst worst{1, HUGE_VAL};
  for (const ParameterSummary& s : found.summaries) {
    worst.rhat = std::isnan(s.rhat) ? HUGE_VAL : std::max(worst.rhat, s.rhat);
    const double ess = std::fmin(s.ess_bulk, s.ess_tail);
    worst.ess = std::isnan(ess) ? 0 : std::min(worst.ess, ess);
  }
  return worst;
}

}  // namespace

bool LiveSummary::wanted(std::int64_t draws) const {
  if (!stop_.ess && !stop_.rhat) return false;
  std::int64_t next = first_judgement;
  while (next <= judged_) next += next / 2;
  return draws >= next;
}

bool LiveSummary::good_enough(DrawsWriter& writer, const std::string& path, std::int64_t draws) {
  writer.flush();
  const DrawsReader reader(path, draws);
  judged_ = draws;
  const DrawsSummary found = summarise_draws(reader, all_numbers(reader.layout()), threads_);
  if (found.summaries.empty()) return false;
  worst_ = worst_of(found);
  return worst_->rhat <= stop_.rhat.value_or(HUGE_VAL) && worst_->ess >= stop_.ess.value_or(0);
}

void LiveSummary::look(DrawsWriter& writer, const std::string& path, std::int64_t draws) {
  const Clock::time_point begin = Clock::now();
  const double passed = std::chrono::duration<double>(begin - last_look_).count();
  if (draws < first_judgement || passed < std::max(look_seconds, cost_ / look_share)) return;
  last_look_ = begin;
  writer.flush();
  const DrawsReader reader(path, draws);
  const DrawsSummary found =
      summarise_draws(reader, some_numbers(reader.layout(), shown_numbers), threads_);
  if (!found.summaries.empty()) worst_ = worst_of(found);
  cost_ = std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace whorl::driver
