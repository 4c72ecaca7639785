// A library for LD_PRELOAD that makes one system call of a program fail, or the last one it makes.
//
//   WHORL_FAULT_IN       only calls on files below this directory count
//   WHORL_FAULT_CALL     the number of the call that is treated, from 1 on
//   WHORL_FAULT_ACTION   what happens to it: EIO, ENOSPC, EINTR, short (half of a write is made),
//                        kill, or power-cut: the process dies, and with it all that was written but
//                        not brought to disk by fsync() or fdatasync()
//   WHORL_FAULT_COUNT    a file that gets the number of calls at the end
//
// Counted are those that change files: open for writing, write, pwrite, ftruncate, fsync,
// fdatasync, rename, unlink, mkdir. Thread safety: calls are counted and made one at a time.
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace {

template <class F>
F* real(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// What a write replaced.
struct Undo {
  int file;  // a descriptor of our own
  off_t offset, size;
  std::string old;
};

class Faults {
 public:
  static Faults& instance() {
    static Faults* const faults = new Faults;  // outlives everything that may still write
    return *faults;
  }

  // Whether a path or an open file lies in the directory that counts.
  bool counts(const char* path) const {
    if (directory_.empty() || path == nullptr) return false;
    char folder[PATH_MAX];
    const std::string name(path);
    const std::size_t slash = name.rfind('/');
    const std::string above = slash == std::string::npos ? "." : name.substr(0, slash + 1);
    return ::realpath(above.c_str(), folder) != nullptr && below(folder);
  }
  bool counts(int file) const {
    if (directory_.empty()) return false;
    char path[PATH_MAX];
    const std::string link = "/proc/self/fd/" + std::to_string(file);
    const ssize_t size = ::readlink(link.c_str(), path, sizeof path);
    return size > 0 && below(std::string_view(path, static_cast<std::size_t>(size)));
  }

  // Counts a call. True when it is to fail with errno, which is set; `bytes` becomes smaller when
  // only a part of a write is to be made.
  bool fails(std::size_t* bytes = nullptr) {
    if (++calls_ != chosen_) return false;
    if (action_ == "kill") die();
    if (action_ == "power-cut") lose_what_is_not_on_disk();
    if (action_ == "short") {
      if (bytes != nullptr) *bytes /= 2;
      return false;
    }
    errno = action_ == "EIO" ? EIO : action_ == "ENOSPC" ? ENOSPC : EINTR;
    return true;
  }

  // Remembers what is about to be overwritten.
  void before_write(int file, off_t offset, std::size_t bytes) {
    if (action_ != "power-cut") return;
    struct stat status = {};
    if (::fstat(file, &status) != 0) return;
    const int own = own_descriptor(file, status.st_ino);
    if (own < 0) return;
    Undo undo{own, offset, status.st_size, std::string(bytes, '\0')};
    const ssize_t there = ::pread(own, undo.old.data(), bytes, offset);
    undo.old.resize(there > 0 ? static_cast<std::size_t>(there) : 0);
    undos_.push_back(std::move(undo));
  }
  void synced(int file) {
    struct stat status = {};
    if (action_ != "power-cut" || ::fstat(file, &status) != 0) return;
    const auto own = descriptors_.find(status.st_ino);
    if (own == descriptors_.end()) return;
    std::erase_if(undos_, [&](const Undo& undo) { return undo.file == own->second; });
  }

  std::recursive_mutex mutex;

 private:
  Faults()
      : directory_(environment("WHORL_FAULT_IN")),
        action_(environment("WHORL_FAULT_ACTION")),
        count_file_(environment("WHORL_FAULT_COUNT")),
        chosen_(std::atol(environment("WHORL_FAULT_CALL").c_str())) {
    std::atexit([] { instance().write_count(); });
  }

  bool below(std::string_view path) const {
    return path.starts_with(directory_) &&
           (path.size() == directory_.size() || path[directory_.size()] == '/');
  }

  void write_count() const {
    if (count_file_.empty()) return;
    if (std::FILE* file = std::fopen(count_file_.c_str(), "w")) {
      std::fprintf(file, "%ld\n", calls_);
      std::fclose(file);
    }
  }

  int own_descriptor(int file, ino_t inode) {
    const auto found = descriptors_.find(inode);
    if (found != descriptors_.end()) return found->second;
    const std::string link = "/proc/self/fd/" + std::to_string(file);
    const int own = real<int(const char*, int, ...)>("open")(link.c_str(), O_RDWR | O_CLOEXEC);
    return descriptors_[inode] = own;
  }

  [[noreturn]] void lose_what_is_not_on_disk() {
    const auto write = real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
    const auto truncate = real<int(int, off_t)>("ftruncate");
    for (auto undo = undos_.rbegin(); undo != undos_.rend(); ++undo) {
      if (write(undo->file, undo->old.data(), undo->old.size(), undo->offset) < 0) break;
      if (truncate(undo->file, undo->size) != 0) break;
    }
    die();
  }

  [[noreturn]] static void die() {
    ::kill(::getpid(), SIGKILL);
    for (;;) ::pause();
  }

  std::string directory_, action_, count_file_;
  long chosen_, calls_ = 0;
  std::vector<Undo> undos_;
  std::map<ino_t, int> descriptors_;
};

using Lock = std::lock_guard<std::recursive_mutex>;

template <class Call>
int changed_path(const char* path, Call&& call) {
  Faults& faults = Faults::instance();
  const Lock lock(faults.mutex);
  if (faults.counts(path) && faults.fails()) return -1;
  return call();
}

int opened(const char* name, const char* path, int flags, mode_t mode) {
  const auto call = [&] { return real<int(const char*, int, ...)>(name)(path, flags, mode); };
  return (flags & (O_WRONLY | O_RDWR)) != 0 ? changed_path(path, call) : call();
}

int synced(const char* name, int file) {
  Faults& faults = Faults::instance();
  const Lock lock(faults.mutex);
  if (faults.counts(file) && faults.fails()) return -1;
  const int result = real<int(int)>(name)(file);
  if (result == 0) faults.synced(file);
  return result;
}

ssize_t written(const char* name, int file, const void* bytes, size_t size, off_t offset) {
  Faults& faults = Faults::instance();
  const Lock lock(faults.mutex);
  if (faults.counts(file)) {
    if (faults.fails(&size)) return -1;
    faults.before_write(file, offset, size);
  }
  return real<ssize_t(int, const void*, size_t, off_t)>(name)(file, bytes, size, offset);
}

int cut(const char* name, int file, off_t size) {
  Faults& faults = Faults::instance();
  const Lock lock(faults.mutex);
  if (faults.counts(file)) {
    if (faults.fails()) return -1;
    struct stat status = {};
    const bool shorter = ::fstat(file, &status) == 0 && status.st_size > size;
    faults.before_write(file, size, shorter ? static_cast<size_t>(status.st_size - size) : 0);
  }
  return real<int(int, off_t)>(name)(file, size);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return opened("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return opened("open64", path, flags, mode);
}

ssize_t write(int file, const void* bytes, size_t size) {
  Faults& faults = Faults::instance();
  const Lock lock(faults.mutex);
  if (faults.counts(file)) {
    if (faults.fails(&size)) return -1;
    faults.before_write(file, ::lseek(file, 0, SEEK_CUR), size);
  }
  return real<ssize_t(int, const void*, size_t)>("write")(file, bytes, size);
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  return written("pwrite", file, bytes, size, offset);
}
ssize_t pwrite64(int file, const void* bytes, size_t size, off_t offset) {
  return written("pwrite64", file, bytes, size, offset);
}

int ftruncate(int file, off_t size) noexcept { return cut("ftruncate", file, size); }
int ftruncate64(int file, off_t size) noexcept { return cut("ftruncate64", file, size); }

int fsync(int file) { return synced("fsync", file); }
int fdatasync(int file) { return synced("fdatasync", file); }

int rename(const char* from, const char* to) noexcept {
  return changed_path(to, [&] { return real<int(const char*, const char*)>("rename")(from, to); });
}
int unlink(const char* path) noexcept {
  return changed_path(path, [&] { return real<int(const char*)>("unlink")(path); });
}
int remove(const char* path) noexcept {
  return changed_path(path, [&] { return real<int(const char*)>("remove")(path); });
}
int mkdir(const char* path, mode_t mode) noexcept {
  return changed_path(path, [&] { return real<int(const char*, mode_t)>("mkdir")(path, mode); });
}

}  // extern "C"
