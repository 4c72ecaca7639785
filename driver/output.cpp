#include "driver/output.hpp"

#include <unistd.h>

#include <algorithm>
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

std::string printable(std::string_view text) {
  std::string line(text);
  const auto control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  std::replace_if(line.begin(), line.end(), control, ' ');
  return line;
}

void Output::note(std::string_view text) const {
  if (!quiet) write_all(STDERR_FILENO, fmt::format("note: {}\n", printable(text)));
}

void Output::flush() {
  const int code = write_all(STDOUT_FILENO, text_);
  text_.clear();
  if (code == 0 || code == EPIPE) return;
  fail(ErrorKind::io, "whorl", "cannot write to standard output: {}",
       std::generic_category().message(code));
}

}  // namespace whorl::driver
