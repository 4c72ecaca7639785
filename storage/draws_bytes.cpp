#include "storage/draws_bytes.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "engine/error.hpp"

namespace whorl {

namespace {

[[noreturn]] void io_error(const std::string& path, std::string_view action, int code) {
  fail(ErrorKind::io, "draws", "{}: cannot {}: {}", path, action,
       std::generic_category().message(code));
}

// Linux moves at most 2 GiB at once.
constexpr std::size_t most_at_once = std::size_t{1} << 30;

}  // namespace

DrawsBytes::DrawsBytes(const std::string& path, Access access, const std::string& shown)
    : shown_(shown) {
  // Without O_NONBLOCK, opening a pipe would wait for its other end.
  descriptor_ =
      ::open(path.c_str(), (access == Access::read ? O_RDONLY : O_RDWR) | O_NONBLOCK | O_CLOEXEC);
  if (descriptor_ < 0) io_error(shown_, "open", errno);
  struct stat status = {};
  const int code = ::fstat(descriptor_, &status) == 0 ? 0 : errno;
  size_ = status.st_size;
  if (code == 0 && S_ISREG(status.st_mode)) return;
  ::close(descriptor_);
  if (code != 0) io_error(shown_, "open", code);
  if (S_ISDIR(status.st_mode)) io_error(shown_, "read", EISDIR);
  fail(ErrorKind::io, "draws", "{}: cannot read: not a regular file", shown_);
}

DrawsBytes::~DrawsBytes() { ::close(descriptor_); }

void DrawsBytes::read(std::int64_t position, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got =
        ::pread(descriptor_, bytes.data(), std::min(bytes.size(), most_at_once), position);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) io_error(shown_, "read", errno);
    if (got == 0)
      fail(ErrorKind::io, "draws",
           "{}: the file ended at byte {} while it was read: {} more wanted", shown_, position,
           bytes.size());
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    position += got;
  }
}

void DrawsBytes::write(std::int64_t position, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(descriptor_, bytes.data(), std::min(bytes.size(), most_at_once), position);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) io_error(shown_, "write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    position += written;
  }
}

void DrawsBytes::reserve(std::int64_t bytes) const {
  int code = 0;
  do {
    code = ::fallocate(descriptor_, 0, 0, bytes) == 0 ? 0 : errno;
  } while (code == EINTR);
  // Where nothing can be promised, a full disk shows when the bytes are written.
  if (code != 0 && code != EOPNOTSUPP && code != ENOSYS) io_error(shown_, "write", code);
}

void DrawsBytes::sync() const {
  if (::fdatasync(descriptor_) != 0) io_error(shown_, "write", errno);
}

}  // namespace whorl
