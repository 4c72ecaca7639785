// RunKeeper: what `sample` and `train` share on the way: the clock, signals, checkpoints, events.
//
// Nothing here has a say in what is computed. A checkpoint that cannot be written leaves the one
// before in place and the run goes on; the third in a row ends it.
// Thread safety: for one thread.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/command_line.hpp"
#include "driver/interruption.hpp"
#include "driver/json.hpp"
#include "driver/output.hpp"
#include "driver/run_directory.hpp"
#include "graphs/experiment_file.hpp"

namespace whorl::driver {

// What a call decides, and results do not depend on.
struct Session {
  int threads = 1;
  std::int64_t memory_budget = 0;
  bool json = false;
  bool strict = false;  // refuse to go on where the same bits are not certain
  // In place of the experiment's.
  std::optional<double> max_seconds = {}, checkpoint_seconds = {};

  static Session of(const Arguments& arguments);
};

// What a call that begins a run says about its directory.
RunDirectory::Use use_for(const Arguments& arguments);

// With the limits of a call that begins a run, which become the run's own.
ExperimentFile with_limits(ExperimentFile experiment, const Session& session);

// "line 3 is '...', and was '...'": where a text is not what it was.
std::string first_difference(std::string_view was, std::string_view is);

// What a checkpoint must agree in with the run that takes it up, texts by name.
using Identity = std::vector<std::pair<std::string, std::string>>;
// Version and arithmetic of this program; `kind` is "sample" or "train".
Identity program_identity(std::string_view kind);
// Throws a checkpoint Error that tells the first difference. Another processor is a note, or an
// Error when strict.
void check_identity(const Identity& found, const Identity& expected, bool strict,
                    const Output& output);

// Throws a checkpoint Error when a checkpoint has other tensors than one that this run would save.
void check_names(const Checkpoint& found, const Checkpoint& own);
// How long metrics.jsonl was.
std::int64_t metrics_bytes(const Checkpoint& checkpoint);

class RunKeeper {
 public:
  RunKeeper(RunDirectory& directory, const ExperimentFile& experiment, const Session& session,
            Identity identity, const Output& output);

  // For a run that is taken up: the seconds of its earlier parts count.
  void go_on();
  double seconds() const;  // of the whole run so far
  bool time_is_up() const;
  // The number of the signal that came, or 0.
  static int signal() { return Interruption::signal(); }

  bool checkpoint_due() const;
  // `prepare` brings everything else to disk that the checkpoint relies on.
  void save(Checkpoint& checkpoint, const std::function<void()>& prepare);
  // The same where there is no later chance: a failure is thrown.
  void save_last(Checkpoint& checkpoint, const std::function<void()>& prepare);

  // "begin", "resume", ... with the step and the seconds so far.
  JsonLine event(std::string_view kind, std::int64_t step) const;
  void add_event(const JsonLine& line);
  // An event "progress", not more often than curves need.
  void note_progress(std::int64_t step);

 private:
  using Clock = std::chrono::steady_clock;

  RunDirectory& directory_;
  Identity identity_;
  const Output& output_;
  Interruption interruption_;
  std::optional<double> every_, most_;
  double earlier_ = 0, last_cost_ = 0;
  int failures_ = 0;
  Clock::time_point begin_ = Clock::now(), last_checkpoint_ = begin_;
  double last_progress_ = -1;
};

// Now, or the time that the variable SOURCE_DATE_EPOCH of the environment says, as in
// 2026-01-31T12:00:00Z: with it, files can be compared from run to run.
std::string time_text();

}  // namespace whorl::driver
