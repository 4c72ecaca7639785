// RunRecord: what a run's directory tells, read back for `summary` and `report`.
//
// A run that is still going, was stopped or was killed can be read, too: a last line that is not
// whole is left out. Any other line that is damaged is an Error that names file and line.
// Thread safety: plain values; a DrawsReader belongs to one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver/scores_file.hpp"
#include "graphs/experiment_file.hpp"
#include "graphs/sampler_file.hpp"
#include "storage/draws_file.hpp"

namespace whorl::driver {

// One line of metrics.jsonl: numbers by name. Numbers that JSON has not, written as null, are NaN.
// A line has a "step" or, in a training, an "update".
using MetricsRow = std::map<std::string, double, std::less<>>;

// One line of events.jsonl: all that depends on the clock and the machine. Its "event" is one of
// begin, progress, resume, stop, end; the others are texts and numbers by name.
struct RunEvent {
  std::string kind;
  std::map<std::string, std::string, std::less<>> texts;
  MetricsRow numbers;
};

struct RunRecord {
  std::filesystem::path directory;
  std::string config;         // config.pbtxt, as it stands there
  ExperimentFile experiment;  // the same, read
  std::vector<MetricsRow> metrics;
  std::vector<RunEvent> events;
  std::optional<SamplerFile> sampler;  // sampler.pbtxt: used by `sample`, made by `train`
  std::optional<DrawsReader> draws;    // of `sample`
  std::optional<RunScores> scores;     // of predictions, at the end
  bool locked = false;                 // whether a program was at work on it when it was read

  bool is_training() const { return experiment.training.has_value(); }
  // "running", "stopped" (by a signal, or killed) or "done".
  std::string state() const;
  double seconds() const;      // that the run took so far, all its parts together
  std::int64_t steps() const;  // that were made as far as the files tell; updates of a training
};

// Files that are not there leave their part empty. Throws a usage Error for a directory that has no
// run, an Error of the file's own kind for one that is damaged.
RunRecord load_run(const std::filesystem::path& directory);

}  // namespace whorl::driver
