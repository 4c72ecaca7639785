// Goes on with a run of `sample` or `train` from its newest checkpoint.
#pragma once

#include <filesystem>

#include "driver/output.hpp"
#include "driver/run_keeper.hpp"

namespace whorl::driver {

// A run that was killed before its first checkpoint begins again; one that is done is ended once
// more, with the same result. Throws what a run throws, and a checkpoint Error.
void resume_run(const std::filesystem::path& path, const Session& session, Output& output);

}  // namespace whorl::driver
