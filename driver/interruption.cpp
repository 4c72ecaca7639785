#include "driver/interruption.hpp"

#include <signal.h>

#include <atomic>

namespace whorl::driver {

namespace {

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free);

void remember(int number) { received = number; }

}  // namespace

Interruption::Interruption() {
  received = 0;
  struct sigaction action = {};
  action.sa_handler = &remember;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

Interruption::~Interruption() {
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
}

int Interruption::signal() { return received; }

}  // namespace whorl::driver
