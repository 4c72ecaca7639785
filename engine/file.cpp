#include "engine/file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include "engine/error.hpp"

namespace whorl {

namespace {

[[noreturn]] void io_error(std::string_view where, const std::string& path, std::string_view action,
                           int code) {
  fail(ErrorKind::io, where, "{}: cannot {}: {}", path, action,
       std::generic_category().message(code));
}

// Where `path` leads when it is a symbolic link: the link stays, its target is written.
std::string resolved(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return path;
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real ? std::string(real.get()) : path;
}

// Whether `path` is, or links to, a name in /proc, as /dev/stdout does: that is not a place for a
// file but another name for one that somebody has open, and a rename would pull it from under them.
bool leads_through_proc(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int most_links = 40;  // where Linux gives up, too
  std::error_code error;
  fs::path place = fs::absolute(path, error);
  for (int links = 0; links < most_links && !error; ++links) {
    const fs::path folder = fs::canonical(place.parent_path(), error);
    struct statfs status = {};
    if (error || ::statfs(folder.c_str(), &status) != 0) return false;
    if (status.f_type == PROC_SUPER_MAGIC) return true;
    place = folder / place.filename();
    if (!fs::is_symlink(place, error)) return false;
    place = folder / fs::read_symlink(place, error);
  }
  return false;
}

}  // namespace

InputFile::InputFile(std::string_view where, const std::string& path) : where_(where), path_(path) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor_ < 0) io_error(where_, path_, "open", errno);
  const auto refuse = [&](std::string_view action, int code) {
    ::close(descriptor_);
    io_error(where_, path_, action, code);
  };
  if (::fstat(descriptor_, &status_) != 0) refuse("open", errno);
  if (S_ISDIR(status_.st_mode)) refuse("read", EISDIR);
  if (!S_ISREG(status_.st_mode)) {
    ::close(descriptor_);
    fail(ErrorKind::io, where_, "{}: cannot read: not a regular file", path_);
  }
}

InputFile::~InputFile() { ::close(descriptor_); }

void InputFile::read(void* memory, std::int64_t n) {
  auto* place = static_cast<char*>(memory);
  while (n > 0) {
    // Linux reads at most 2 GiB at once.
    const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(n, 1 << 30));
    const ssize_t got = ::read(descriptor_, place, wanted);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) io_error(where_, path_, "read", errno);
    if (got == 0)
      fail(ErrorKind::io, where_, "{}: the file ended at byte {} while it was read: {} more wanted",
           path_, position_, n);
    place += got;
    n -= got;
    position_ += got;
  }
}

void InputFile::check_unchanged() const {
  struct stat now = {};
  if (::fstat(descriptor_, &now) != 0) io_error(where_, path_, "read", errno);
  const bool same_time = now.st_mtim.tv_sec == status_.st_mtim.tv_sec &&
                         now.st_mtim.tv_nsec == status_.st_mtim.tv_nsec;
  if (!same_time || now.st_size != status_.st_size)
    fail(ErrorKind::io, where_, "{}: the file was changed while it was read", path_);
}

std::string whole_file(std::string_view where, const std::string& path) {
  InputFile file(where, path);
  std::string bytes(static_cast<std::size_t>(file.size()), '\0');
  file.read(bytes.data(), file.size());
  return bytes;
}

NewFile::NewFile(std::string_view where, const std::string& path) : where_(where) {
  if (path.empty()) fail(ErrorKind::io, where, "cannot write: the file name is empty");
  path_ = resolved(path);
  struct stat status = {};
  if (::stat(path_.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) io_error(where, path, "write", EISDIR);
    // A rename would replace the device or pipe itself.
    if (!S_ISREG(status.st_mode) || leads_through_proc(path))
      fail(ErrorKind::io, where, "{}: cannot write: not a regular file", path);
  }
  static std::atomic<unsigned> counter{0};
  name_ = fmt::format("{}.{}-{}.tmp", path_, ::getpid(), counter++);
  descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) io_error(where_, path_, "write", errno);
}

NewFile::~NewFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!committed_) ::unlink(name_.c_str());
}

void NewFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) io_error(where_, path_, "write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void NewFile::commit() {
  if (::fsync(descriptor_) != 0) io_error(where_, path_, "write", errno);
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) io_error(where_, path_, "write", errno);
  if (::rename(name_.c_str(), path_.c_str()) != 0) io_error(where_, path_, "write", errno);
  committed_ = true;
  // The new name lasts once the folder is on disk. Not all file systems can do that, and the file
  // itself is complete: a failure here is none of the caller's.
  const std::size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  ::fsync(directory);
  ::close(directory);
}

void write_file(std::string_view where, const std::string& path,
                std::span<const std::span<const std::byte>> parts) {
  NewFile file(where, path);
  for (const auto& part : parts) file.write(part);
  file.commit();
}

std::vector<std::string> names_in(const std::string& folder, std::error_code& fault) {
  fault.clear();
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), &::closedir);
  errno = open ? 0 : errno;
  while (const dirent* entry = open ? ::readdir(open.get()) : nullptr) {
    if (const std::string_view name = entry->d_name; name != "." && name != "..")
      names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) fault.assign(errno, std::generic_category());
  std::sort(names.begin(), names.end());
  return names;
}

void write_file(std::string_view where, const std::string& path, std::string_view text) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text.data(), text.size()));
  write_file(where, path, std::span(&bytes, 1));
}

}  // namespace whorl
