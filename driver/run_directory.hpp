// RunDirectory: what a run leaves behind.
//
//   config.pbtxt    the experiment with all its settings, to be run again
//   energy.pb       the energy, when the target is a graph
//   sampler.pbtxt   the sampler: that a run of `sample` took from a file, or that `train` learned
//   metrics.jsonl   one JSON object a line: step and what is measured there
//   draws.nc        the draws of `sample`
//   scores.json     how well it predicts data that it has not seen, when it has ended
//   events.jsonl    one JSON object a line: all that depends on the clock and the machine
//   checkpoint/     what a run that was stopped goes on from
//   run.lock        locked while a process is at work here
//
// All of them but events.jsonl are the same bits when the same run is made again, and when it was
// stopped or killed in between. Files that are written once appear complete or not at all;
// config.pbtxt is the last of them, so where it is, a run can be taken up.
// Thread safety: for one thread.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "storage/checkpoint.hpp"
#include "storage/line_file.hpp"

namespace whorl::driver {

// The graph of an energy as it was given, where a run needs it for several sizes.
inline constexpr const char* sized_energy_name = "energy.pbtxt";

class RunDirectory {
 public:
  enum class Use {
    fresh,      // it must be empty or not there
    numbered,   // where there is something, the first of PATH-2, PATH-3, ... that is not there
    overwrite,  // an earlier run in it is replaced
    resume      // the run in it goes on
  };

  // Makes the directory where it is missing, and the ones above it, and locks it as long as the
  // object lives. One where another process is at work is refused, and so is one with files that
  // are not a run's. Throws a usage or io Error.
  RunDirectory(std::filesystem::path path, Use use);
  // A directory that was made for a run that never began is removed.
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string file(std::string_view name) const { return (path_ / name).string(); }

  // Before anything is written: removes the files of an earlier run, unless this is that run, which
  // begins again. What can fail before a run begins has failed by then, so the earlier run is not
  // lost for nothing.
  void begin();
  // Instead of that, for a run that goes on: metrics.jsonl is cut back to so many bytes.
  void go_on(std::int64_t metrics_bytes);

  void write(const std::string& name, std::string_view text);
  LineFile& metrics() { return *metrics_; }
  LineFile& events() { return *events_; }
  CheckpointFolder& checkpoints() { return checkpoints_; }

  // Throws an io Error when the name no longer leads to the directory that was locked: another run
  // may be at work there.
  void check_ours() const;
  // Throws an io Error when the disk has less.
  void check_space(std::int64_t bytes) const;

 private:
  std::filesystem::path path_;
  Use use_;
  bool made_ = false, begun_ = false;
  int lock_ = -1;
  std::unique_ptr<LineFile> metrics_, events_;
  CheckpointFolder checkpoints_;
};

// Whether a process is at work in a run's directory.
bool is_locked(const std::filesystem::path& directory);

}  // namespace whorl::driver
