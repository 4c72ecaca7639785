#include "driver/report/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "driver/report/html.hpp"
#include "driver/report/numbers.hpp"
#include "driver/verdicts.hpp"

namespace whorl::driver::report {

namespace {

constexpr double clamped_limit = 0.5, acceptance_limit = 0.5;

// "done: 12,000 steps in 3 s", "stopped after 500 of 12,000 steps (signal 15)"
std::string state_text(const RunView& run) {
  const RunRecord& record = *run.record;
  const std::string state = record.state();
  const std::string time =
      record.seconds() > 0 ? fmt::format(" in {}", time_text(record.seconds())) : "";
  const std::string made = count_of(record.steps(), run.unit());
  if (state == "done") {
    const std::string reason = run.event_text("reason");
    const bool early = !reason.empty() && !reason.starts_with("all ");
    return fmt::format("done, {}{}{}", made, time, early ? fmt::format(" ({})", reason) : "");
  }
  if (state == "running") return fmt::format("still running, {} so far{}", made, time);
  const std::string reason = run.event_text("reason");
  return fmt::format("stopped after {}{}{}", made, time,
                     reason.empty() ? "" : fmt::format(" ({})", reason));
}

std::string rhat_part(const DrawsQuality& quality) {
  const JudgedNumber& worst = *quality.worst_rhat();
  if (std::isnan(worst.summary.rhat)) return fmt::format("{} never moved", worst.name);
  return fmt::format("worst R-hat {} ({})", rhat_text(worst.summary.rhat), worst.name);
}

std::string ess_part(const DrawsQuality& quality) {
  const JudgedNumber &bulk = *quality.least_bulk(), &tail = *quality.least_tail();
  return fmt::format("least ESS {} in the bulk ({}) and {} in the tails ({})",
                     number_text(bulk.summary.ess_bulk, 3), bulk.name,
                     number_text(tail.summary.ess_tail, 3), tail.name);
}

bool is_off(const std::optional<Temperature>& temperature) {
  return temperature && (temperature->verdict == TemperatureVerdict::too_hot ||
                         temperature->verdict == TemperatureVerdict::too_cold);
}

std::string temperature_part(const RunTemperatures& found) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, const std::optional<Temperature>& temperature) {
    if (!temperature) return;
    const std::string expected =
        is_off(temperature) ? fmt::format(", expected {}", number_text(temperature->expected)) : "";
    parts.push_back(fmt::format("{} {} ({}{})", name, fixed_text(temperature->estimate, 3),
                                to_string(temperature->verdict), expected));
  };
  add("kinetic", found.kinetic);
  add("configurational", found.configurational);
  return parts.empty() ? "" : fmt::format("temperature {}", fmt::join(parts, ", "));
}

std::string divergence_part(const DrawsQuality& quality) {
  if (quality.lost == 0) return "no chain diverged";
  return fmt::format("{} of {} chains diverged and are left out", quality.lost, quality.chains);
}

std::string join(const std::vector<std::string>& parts) {
  std::vector<std::string> some;
  for (const std::string& part : parts)
    if (!part.empty()) some.push_back(part);
  return fmt::format("{}.", fmt::join(some, "; "));
}

// A number that is not known is no good one.
bool has_converged(const DrawsQuality& quality) {
  const double rhat = quality.worst_rhat()->summary.rhat;
  const double bulk = quality.least_bulk()->summary.ess_bulk,
               tail = quality.least_tail()->summary.ess_tail;
  // The tail has none for discrete numbers, which says nothing against them.
  return rhat <= rhat_limit && bulk >= ess_limit && (tail >= ess_limit || std::isnan(tail));
}

// The momentum may be too hot, and the positions, which are what is drawn, as they should be.
void add_temperature_remarks(const RunTemperatures& found, Verdict& verdict) {
  const auto add = [&](const char* what, const std::optional<Temperature>& temperature) {
    if (!is_off(temperature)) return;
    verdict.remarks.push_back(fmt::format("{} {}: {}.", what, to_string(temperature->verdict),
                                          temperature_advice(temperature->verdict)));
  };
  add("The momentum is", found.kinetic);
  add("The draws are biased, the positions are", found.configurational);
}

void add_remarks(const RunView& run, Verdict& verdict) {
  const DrawsQuality& quality = *run.quality;
  const RunSettings& settings = run.experiment().run;
  if (std::ssize(quality.judged) < quality.numbers)
    verdict.remarks.push_back(
        fmt::format("Judged by {} of {} numbers, evenly spread over all parameters.",
                    grouped(std::ssize(quality.judged)), grouped(quality.numbers)));
  if (settings.burn_in.value_or(0) == 0)
    verdict.remarks.push_back(
        "There is no burn-in: the draws begin at the starting points, and R-hat and ESS count "
        "the way from there.");
  if (quality.still > 0)
    verdict.remarks.push_back(
        fmt::format("{} of {} chains never moved.", quality.still, quality.chains));
  if (quality.chains - quality.lost < 2)
    verdict.remarks.push_back(
        "One chain alone cannot show that chains agree: R-hat compares its halves.");
  if (quality.acceptance && *quality.acceptance < acceptance_limit)
    verdict.remarks.push_back(
        fmt::format("Only {}% of the proposals were accepted: a smaller step size may help.",
                    fixed_text(100 * *quality.acceptance, 1)));
  if (run.experiment().sampler() == "psgld")
    verdict.remarks.push_back(
        "The moving average of PSGLD makes its draws biased, however small the step size.");
  if (quality.vector_ess_capped)
    verdict.remarks.push_back(
        "The vector ESS is too large: chains are correlated beyond the lags that it sums.");
  add_temperature_remarks(quality.temperatures, verdict);
}

Verdict judge_sampling(const RunView& run) {
  Verdict verdict;
  if (!run.quality || run.quality->judged.empty()) {
    verdict.head = "nothing to judge yet";
    const std::int64_t draws = run.quality ? run.quality->draws : 0;
    verdict.sentence =
        join({draws >= 4          ? "the draws of one number need more memory than there is"
              : run.record->draws ? fmt::format("{} a chain, R-hat needs at least 4",
                                                draws == 0 ? "no draws" : count_of(draws, "draw"))
                                  : "the run has no file of draws",
              state_text(run)});
    return verdict;
  }
  const DrawsQuality& quality = *run.quality;
  if (is_optimiser(*run.record)) {
    verdict.mood = Verdict::Mood::caution;
    verdict.head = "an optimiser: the spread of the draws is not a posterior's";
    verdict.sentence = join({"R-hat and ESS mean little here", state_text(run)});
    return verdict;
  }
  const bool converged = has_converged(quality);
  const bool off =
      is_off(quality.temperatures.kinetic) || is_off(quality.temperatures.configurational);
  verdict.mood = !converged                ? Verdict::Mood::bad
                 : off || quality.lost > 0 ? Verdict::Mood::caution
                                           : Verdict::Mood::good;
  verdict.head = !converged         ? "not converged"
                 : off              ? "converged, but at a wrong temperature"
                 : quality.lost > 0 ? "converged, without the chains that diverged"
                                    : "converged";
  verdict.sentence =
      join({rhat_part(quality), ess_part(quality), temperature_part(quality.temperatures),
            divergence_part(quality), state_text(run)});
  add_remarks(run, verdict);
  return verdict;
}

Verdict judge_training(const RunView& run) {
  Verdict verdict;
  const double clamped = run.final_value("clamped");
  const bool done = run.record->state() == "done";
  verdict.mood = clamped > clamped_limit ? Verdict::Mood::caution
                 : done                  ? Verdict::Mood::good
                                         : Verdict::Mood::open;
  verdict.head = done ? "trained" : fmt::format("training {}", run.record->state());
  const double curl = run.final_value("curl"), diffusion = run.final_value("diffusion");
  verdict.sentence =
      join({state_text(run),
            std::isfinite(curl) ? fmt::format("mean Q {}, mean D {}", number_text(curl, 3),
                                              number_text(diffusion, 3))
                                : "",
            std::isfinite(clamped)
                ? fmt::format("{}% of the coordinates are at a clamp", fixed_text(100 * clamped, 1))
                : ""});
  if (clamped > clamped_limit)
    verdict.remarks.push_back(
        "Most coordinates are at a clamp: the sampler has learned little more than constants.");
  return verdict;
}

}  // namespace

Verdict judge(const RunView& run) {
  return run.record->is_training() ? judge_training(run) : judge_sampling(run);
}

}  // namespace whorl::driver::report
