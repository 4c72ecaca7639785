#include "storage/line_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "engine/error.hpp"
#include "engine/file.hpp"

namespace whorl {

namespace {

[[noreturn]] void cannot_write(const std::string& path, int code) {
  fail(ErrorKind::io, "run", "{}: cannot be written: {}", path,
       std::generic_category().message(code));
}

int open_file(const std::string& path, int flags) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0666);
  if (descriptor < 0) cannot_write(path, errno);
  return descriptor;
}

}  // namespace

LineFile::LineFile(std::string path)
    : path_(std::move(path)), descriptor_(open_file(path_, O_CREAT | O_TRUNC)) {}

LineFile::LineFile(std::string path, std::int64_t keep)
    : path_(std::move(path)), descriptor_(open_file(path_, 0)), size_(keep) {
  struct stat status = {};
  int code = ::fstat(descriptor_, &status) == 0 ? 0 : errno;
  if (code == 0 && status.st_size >= keep && ::ftruncate(descriptor_, keep) != 0) code = errno;
  if (code == 0 && status.st_size >= keep) return;
  ::close(descriptor_);
  if (code != 0) cannot_write(path_, code);
  fail(ErrorKind::checkpoint, "run", "{}: the file has {} bytes, the checkpoint knows of {}", path_,
       status.st_size, keep);
}

LineFile::~LineFile() { ::close(descriptor_); }

void LineFile::add(std::string_view line) {
  std::int64_t at = size_;
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::pwrite(descriptor_, rest.data(), rest.size(), at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int code = errno;
      // Nothing more can be done where this fails, too.
      if (::ftruncate(descriptor_, size_) != 0) cannot_write(path_, code);
      cannot_write(path_, code);
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
    at += written;
  }
  size_ = at;
}

std::int64_t LineFile::whole_lines(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return 0;
  std::string text = whole_file("run", path);
  // After a power cut, some file systems have zeros where nothing was written yet.
  text.resize(std::min(text.size(), text.find('\0')));
  const std::size_t end = text.rfind('\n');
  return end == std::string::npos ? 0 : static_cast<std::int64_t>(end) + 1;
}

void LineFile::sync() {
  if (::fdatasync(descriptor_) != 0) cannot_write(path_, errno);
}

}  // namespace whorl
