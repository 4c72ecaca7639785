#include "driver/output.hpp"

#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "engine/error.hpp"

namespace whorl::driver {

namespace {

// 0, or the errno of the write that failed.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

void Output::note(std::string_view text) const {
  if (!quiet) write_all(STDERR_FILENO, fmt::format("note: {}\n", text));
}

void Output::flush() {
  const int code = write_all(STDOUT_FILENO, text_);
  text_.clear();
  if (code == 0 || code == EPIPE || code == EBADF) return;
  fail(ErrorKind::io, "whorl", "cannot write to standard output: {}",
       std::generic_category().message(code));
}

}  // namespace whorl::driver
