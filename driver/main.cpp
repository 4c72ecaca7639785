// The program `whorl`. This file alone is compiled for any x86-64, because it must be able to say
// that the machine is too old for the rest.
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "driver/driver.hpp"

namespace {

// Runs before every other initialiser: those of the libraries may already use AVX2.
__attribute__((constructor(101))) void check_processor() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return;
  constexpr std::string_view text =
      "[whorl] this processor is not supported: it lacks AVX2 or FMA\n";
  // Where standard error is closed too, there is nobody left to tell.
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) ::_exit(EXIT_FAILURE);
  ::_exit(EXIT_FAILURE);
}

}  // namespace

int main(int argc, char** argv) { return whorl::driver::run_driver(argc, argv); }
