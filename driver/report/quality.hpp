// DrawsQuality: what the draws of a run are worth, number by number and as a whole.
//
// Of a model with many parameters, so many numbers are judged that it takes seconds, evenly spread
// over all of them; `judged` and `numbers` tell. Chains that were given up are left out.
// Thread safety: plain values; a DrawsReader belongs to one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/draws_summary.hpp"
#include "driver/run_record.hpp"
#include "driver/run_temperature.hpp"

namespace whorl::driver::report {

// One number of a draw, or its log joint density.
struct JudgedNumber {
  std::string name;
  std::optional<DrawnNumber> number;  // empty for the log joint density
  ParameterSummary summary;
};

// Draws [chains, draws] of the chains that were not given up.
struct ChainDraws {
  std::vector<std::int64_t> chains;  // their numbers
  std::int64_t draws = 0;
  std::vector<double> values;

  std::span<const double> of(std::size_t chain) const {
    return std::span(values).subspan(chain * static_cast<std::size_t>(draws),
                                     static_cast<std::size_t>(draws));
  }
};

struct DrawsQuality {
  std::int64_t chains = 0, lost = 0, still = 0, draws = 0;
  std::int64_t numbers = 0;  // of a draw
  std::vector<JudgedNumber> judged;
  std::optional<JudgedNumber> log_joint;
  RunTemperatures temperatures;
  std::optional<double> vector_ess;  // of a chain, mean over chains; where all numbers were judged
  bool vector_ess_capped = false;
  std::optional<double> acceptance;  // of HMC

  // Of those that were judged, and the log joint density; null where nothing was. A number that has
  // none, because it never moves, is the worst.
  const JudgedNumber* worst_rhat() const;
  const JudgedNumber* least_bulk() const;
  const JudgedNumber* least_tail() const;
  // What to look at: the worst ones, at most `most`, and the log joint density.
  std::vector<const JudgedNumber*> to_show(std::size_t most) const;
};

// Empty when the run has no draws. `memory` is what the draws of one number may take.
std::optional<DrawsQuality> judge_draws(const RunRecord& run, int threads, std::int64_t memory);

ChainDraws read_draws(const DrawsReader& reader, const std::vector<std::int64_t>& living,
                      const JudgedNumber& number);
// Of sample_stats, up to the last draw that all chains have; empty when there is none of that name.
ChainDraws read_statistic(const DrawsReader& reader, const std::vector<std::int64_t>& living,
                          std::string_view name);

}  // namespace whorl::driver::report
