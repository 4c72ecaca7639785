#include "driver/run_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "engine/error.hpp"
#include "engine/file.hpp"
#include "graphs/experiment_file.hpp"

namespace whorl::driver {

namespace {

namespace fs = std::filesystem;

constexpr const char* lock_name = "run.lock";
// In the order in which they are removed. config.pbtxt goes last: as long as it is there, so is the
// run.
constexpr std::array run_files{"draws.nc",        "metrics.jsonl", "events.jsonl",
                               "report.html",     "scores.json",   "energy.pb",
                               sized_energy_name, "sampler.pbtxt", "config.pbtxt"};

[[noreturn]] void cannot_write(const fs::path& path, std::string_view why) {
  fail(ErrorKind::io, "run", "{}: cannot be written: {}", path.string(), why);
}

// A directory in which a run began, or was about to.
bool is_run(const fs::path& path) {
  std::error_code fault;
  if (!fs::exists(path / "config.pbtxt", fault)) return fs::exists(path / lock_name, fault);
  try {
    load_experiment(path / "config.pbtxt");
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Whether there is nothing in a directory but the lock of a run that never began.
bool is_unused(const fs::path& path) {
  std::error_code fault;
  const std::vector<std::string> names = names_in(path.string(), fault);
  if (std::any_of(names.begin(), names.end(), [](const auto& name) { return name != lock_name; }))
    return false;
  if (fault) fail(ErrorKind::io, "run", "--out {}: {}", path.string(), fault.message());
  return true;
}

void check_usable(const fs::path& path, RunDirectory::Use use) {
  if (is_unused(path)) return;
  std::error_code fault;
  const bool run = is_run(path);
  if (use == RunDirectory::Use::fresh)
    fail(ErrorKind::usage, "run",
         "--out {}: the directory is not empty; choose another, or give --overwrite{}",
         path.string(),
         run && fs::exists(path / "config.pbtxt", fault)
             ? "; 'whorl resume' goes on with the run in it"
             : "");
  if (!run)
    fail(ErrorKind::usage, "run",
         "--out {}: the directory is not that of an earlier run: it has no config.pbtxt that is "
         "an experiment; choose another",
         path.string());
}

// What an earlier run left; nothing else in a directory is ours to remove.
void remove_earlier_run(const fs::path& path, CheckpointFolder& checkpoints) {
  checkpoints.remove();
  for (const char* name : run_files) {
    std::error_code fault;
    fs::remove(path / name, fault);
    if (fault) cannot_write(path / name, fault.message());
  }
}

// What a process that was killed had not finished writing.
void remove_temporaries(const fs::path& path) {
  std::error_code fault;
  for (const std::string& name : names_in(path.string(), fault)) {
    const bool ours = std::any_of(run_files.begin(), run_files.end(), [&](std::string_view file) {
      return name.starts_with(fmt::format("{}.", file));
    });
    std::error_code ignored;
    if (ours && name.ends_with(".tmp")) fs::remove(path / name, ignored);
  }
}

// A lock for writing, on all of a file.
struct flock whole_file_lock() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// Whether a name still is that of an open file.
bool is_same_file(const fs::path& name, int file) {
  struct stat named = {}, opened = {};
  return ::stat(name.c_str(), &named) == 0 && ::fstat(file, &opened) == 0 &&
         named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

// Opens and locks a file; the lock ends with the process, however that ends.
int lock_directory(const fs::path& path) {
  const fs::path name = path / lock_name;
  const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file < 0) cannot_write(name, std::strerror(errno));
  // Where the file system has no locks, there is none.
  struct flock whole = whole_file_lock();
  const bool held = ::fcntl(file, F_OFD_SETLK, &whole) != 0 && (errno == EAGAIN || errno == EACCES);
  // A run that never began takes its lock with it, which is then worth nothing.
  if (held || !is_same_file(name, file)) {
    ::close(file);
    fail(ErrorKind::usage, "run", "{}: another run is writing to this directory", path.string());
  }
  return file;
}

void check_resumable(const fs::path& path) {
  std::error_code fault;
  if (fs::is_regular_file(path / "config.pbtxt", fault)) return;
  if (!fs::is_directory(path, fault))
    fail(ErrorKind::usage, "run", "{}: there is no such directory", path.string());
  fail(ErrorKind::usage, "run", "{}: there is no run in this directory: config.pbtxt is missing",
       path.string());
}

// Two runs that begin at the same time get one each, because only one of them makes it.
fs::path make_numbered(fs::path path) {
  const std::string name = path.filename();
  std::error_code fault;
  fs::create_directories(path.parent_path(), fault);
  for (int number = 2; !fault && !fs::create_directory(path, fault); ++number)
    path.replace_filename(fmt::format("{}-{}", name, number));
  if (fault) fail(ErrorKind::io, "run", "{}: {}", path.string(), fault.message());
  return path;
}

}  // namespace

RunDirectory::RunDirectory(fs::path path, Use use)
    : path_(use == Use::numbered ? make_numbered(std::move(path)) : std::move(path)),
      use_(use),
      made_(use == Use::numbered),
      checkpoints_(path_ / "checkpoint") {
  std::error_code fault;
  if (use == Use::resume) {
    check_resumable(path_);
  } else if (!made_) {
    if (path_.empty()) fail(ErrorKind::usage, "run", "--out: the name of the directory is empty");
    made_ = fs::create_directories(path_, fault);
    if (fault) fail(ErrorKind::io, "run", "--out {}: {}", path_.string(), fault.message());
    check_usable(path_, use);
  }
  lock_ = lock_directory(path_);
  try {
    // Another run may have come and gone between the first look and the lock.
    if (use != Use::resume) check_usable(path_, use);
  } catch (const Error&) {
    ::close(lock_);
    throw;
  }
}

RunDirectory::~RunDirectory() {
  std::error_code fault;
  if (made_ && !begun_) {
    fs::remove(path_ / lock_name, fault);
    fs::remove(path_, fault);
  }
  ::close(lock_);
}

void RunDirectory::begin() {
  begun_ = true;
  remove_temporaries(path_);
  // A run that begins again replaces its files one by one, so that it can be taken up at any time.
  if (use_ != Use::resume) remove_earlier_run(path_, checkpoints_);
  metrics_ = std::make_unique<LineFile>(file("metrics.jsonl"));
  events_ = std::make_unique<LineFile>(file("events.jsonl"));
}

void RunDirectory::go_on(std::int64_t metrics_bytes) {
  begun_ = true;
  remove_temporaries(path_);
  metrics_ = std::make_unique<LineFile>(file("metrics.jsonl"), metrics_bytes);
  // What a power cut left half is nothing to go on from.
  const std::int64_t whole = LineFile::whole_lines(file("events.jsonl"));
  events_ = whole > 0 ? std::make_unique<LineFile>(file("events.jsonl"), whole)
                      : std::make_unique<LineFile>(file("events.jsonl"));
}

void RunDirectory::check_ours() const {
  if (!is_same_file(path_ / lock_name, lock_))
    fail(ErrorKind::io, "run", "{}: the directory was removed, renamed or replaced during the run",
         path_.string());
}

void RunDirectory::write(const std::string& name, std::string_view text) {
  write_file("run", file(name), text);
}

void RunDirectory::check_space(std::int64_t bytes) const {
  std::error_code fault;
  const fs::space_info space = fs::space(path_, fault);
  if (fault || space.available >= static_cast<std::uintmax_t>(bytes)) return;
  fail(ErrorKind::io, "run",
       "{}: the run needs {} bytes on disk, there are {}; a larger --thin, or "
       "fewer parameters by --keep, need less",
       path_.string(), bytes, space.available);
}

bool is_locked(const fs::path& directory) {
  const int file = ::open((directory / lock_name).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  struct flock whole = whole_file_lock();
  // Only asked for, never taken: a reader must not stand in the way of a run that begins.
  const bool locked = ::fcntl(file, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
  ::close(file);
  return locked;
}

}  // namespace whorl::driver
