// The driver: everything of the program `whorl` but main().
//
// Thread safety: for one thread; SIGPIPE and SIGXFSZ are ignored from then on.
#pragma once

namespace whorl::driver {

// Runs one command line and returns the process's exit code: 0, or that of the Error's kind (see
// engine/error.hpp). An Error is one sentence on standard error.
int run_driver(int argc, char** argv);

}  // namespace whorl::driver
