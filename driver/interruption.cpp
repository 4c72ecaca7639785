#include "driver/interruption.hpp"

#include <signal.h>

#include <array>
#include <atomic>

namespace whorl::driver {

namespace {

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free);

constexpr std::array numbers{SIGINT, SIGTERM, SIGHUP};

void remember(int number) { received = number; }

}  // namespace

Interruption::Interruption() {
  received = 0;
  for (int number : numbers) {
    struct sigaction action = {};
    if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = &remember;
    action.sa_flags = static_cast<int>(number == SIGHUP ? SA_RESTART : SA_RESETHAND | SA_RESTART);
    ::sigaction(number, &action, nullptr);
  }
}

Interruption::~Interruption() {
  for (int number : numbers) {
    struct sigaction action = {};
    if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler == &remember)
      ::signal(number, SIG_DFL);
  }
}

int Interruption::signal() { return received; }

}  // namespace whorl::driver
