// Interruption: SIGINT, SIGTERM and SIGHUP as a wish to stop, for commands that run long.
//
// While an object lives, the first of these signals is remembered and the command ends by itself,
// after writing what it has; a second SIGINT or SIGTERM ends the program at once. SIGHUP does not:
// a terminal that goes away often sends it twice. What is ignored when the program starts, as
// SIGHUP is under nohup, stays ignored.
// Thread safety: one object at a time.
#pragma once

namespace whorl::driver {

class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // The number of the signal that came, or 0.
  static int signal();
};

}  // namespace whorl::driver
