// LiveSummary: how good the draws are while a run goes on.
//
// Two questions are answered. Whether the run may end, by all numbers that are kept: asked at
// numbers of draws that grow by half from one to the next, which depend on nothing else, so a run
// ends at the same step however often it was interrupted. And what to show in the line of progress,
// by a few numbers, as often as it costs next to nothing.
// Thread safety: for one thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "graphs/experiment_file.hpp"
#include "storage/draws_file.hpp"

namespace whorl::driver {

class LiveSummary {
 public:
  struct Worst {
    double rhat = 0, ess = 0;  // the smaller one of bulk and tail
  };

  LiveSummary(const StopSettings& stop, int threads) : stop_(stop), threads_(threads) {}

  // With so many draws, a run that goes on has been judged already.
  void skip_to(std::int64_t draws) { judged_ = draws; }
  // Whether it is time to judge a run that may end early.
  bool wanted(std::int64_t draws) const;
  bool good_enough(DrawsWriter& writer, const std::string& path, std::int64_t draws);

  // For the eye: a look at the draws when the last one is long enough ago.
  void look(DrawsWriter& writer, const std::string& path, std::int64_t draws);
  std::optional<Worst> worst() const { return worst_; }

 private:
  using Clock = std::chrono::steady_clock;

  StopSettings stop_;
  int threads_;
  std::int64_t judged_ = 0;
  std::optional<Worst> worst_;
  Clock::time_point last_look_ = Clock::now();
  double cost_ = 0;  // of the last look, in seconds
};

}  // namespace whorl::driver
