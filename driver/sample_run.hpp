// A run of `whorl sample`, from its first step or from a checkpoint to its end.
//
// Thread safety: for one thread.
#pragma once

#include <optional>
#include <string>

#include "driver/run_keeper.hpp"
#include "driver/sample_settings.hpp"

namespace whorl::driver {

struct SampleRequest {
  std::string name;        // of the target, as it was given
  SampleExperiment asked;  // with all its settings
  Session session;
};

// Runs in a directory that is locked and, unless `checkpoint` is given, about to be filled. Stops
// early where the experiment allows it, and where a signal wants it: that is a cancelled Error,
// after everything that is needed to go on has been saved.
void sample_into(RunDirectory& directory, SampleRequest request,
                 std::optional<Checkpoint> checkpoint, Output& output);

}  // namespace whorl::driver
