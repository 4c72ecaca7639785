// Where runs are found, and which of them differ in nothing but their seed.
//
// Thread safety: free functions; a group refers to records that must outlive it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "driver/run_record.hpp"

namespace whorl::driver {

// The run in a directory, or else those in directories within it, some levels down, by their names;
// where there is none, the directory itself, for load_run() to say what is wrong.
std::vector<std::filesystem::path> runs_within(const std::filesystem::path& directory);

struct RunGroup {
  std::string sampler;  // with a number behind where settings differ: "sghmc", "sghmc (2)"
  std::vector<const RunRecord*> runs;  // by their seeds, of which each is there once
};

// What runs are grouped by: the experiment's name, or what it is about; and the name of the
// sampler, or the one that its file gives.
std::string experiment_of(const RunRecord& run);
std::string sampler_of(const RunRecord& run);

// Adds those published values that are not among them yet.
void add_new(std::vector<PublishedValue>& all, const std::vector<PublishedValue>& more);

// Groups of runs of one experiment, in the order of their first ones. Notes are added on settings
// that differ, on runs that are left out because another has their seed, and on step sizes that a
// sampler's own rule made.
std::vector<RunGroup> group_runs(const std::vector<const RunRecord*>& runs,
                                 std::vector<std::string>& notes);

}  // namespace whorl::driver
