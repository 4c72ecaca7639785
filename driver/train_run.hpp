// A run of `whorl train`, from its first update or from a checkpoint to its end.
//
// Thread safety: for one thread.
#pragma once

#include <optional>
#include <string>

#include "driver/run_keeper.hpp"

namespace whorl::driver {

struct TrainRequest {
  ExperimentFile experiment;  // with all its settings
  Session session;
  std::string graph_file;  // where one update goes as a graph; "" for nowhere
};

// As sample_into() of driver/sample_run.hpp.
void train_into(RunDirectory& directory, TrainRequest request, std::optional<Checkpoint> checkpoint,
                Output& output);

}  // namespace whorl::driver
