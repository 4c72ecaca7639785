#include <algorithm>
#include <charconv>

#include "engine/error.hpp"
#include "engine/file.hpp"
#include "storage/checkpoint.hpp"

namespace whorl {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "step-", suffix = ".checkpoint";

// The step of a checkpoint's file, or empty for other files. Order is by that number: clocks may
// have been set back.
std::optional<std::int64_t> step_of(const fs::path& file) {
  const std::string name = file.filename();
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
  std::int64_t step = 0;
  const char* const end = name.data() + name.size() - suffix.size();
  const auto [at, fault] = std::from_chars(name.data() + prefix.size(), end, step);
  if (fault != std::errc() || at != end || step < 0) return std::nullopt;
  return step;
}

// Left behind by a process that died while it wrote.
bool is_temporary(const fs::path& file) {
  const std::string name = file.filename();
  return name.starts_with(prefix) && name.ends_with(".tmp");
}

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code fault;
  for (const std::string& name : names_in(folder.string(), fault)) files.push_back(folder / name);
  return files;
}

}  // namespace

fs::path CheckpointFolder::file(std::int64_t step) const {
  return path_ / fmt::format("{}{:012}{}", prefix, step, suffix);
}

void CheckpointFolder::save(const Checkpoint& checkpoint) {
  std::error_code fault;
  fs::create_directory(path_, fault);
  if (fault)
    fail(ErrorKind::io, "checkpoint", "{}: cannot be made: {}", path_.string(), fault.message());
  save_checkpoint(file(checkpoint.step), checkpoint);
  // The one before stays until the next: a disk may lose what it said it had written.
  for (const fs::path& old : files_of(path_)) {
    const auto step = step_of(old);
    const bool superseded = step && *step != checkpoint.step && step != last_;
    if (superseded || is_temporary(old)) fs::remove(old, fault);
  }
  last_ = checkpoint.step;
}

std::optional<Checkpoint> CheckpointFolder::newest(std::vector<std::string>& notes) {
  std::vector<std::int64_t> steps;
  for (const fs::path& found : files_of(path_))
    if (const auto step = step_of(found)) steps.push_back(*step);
  std::sort(steps.rbegin(), steps.rend());
  std::string first_fault;
  for (std::int64_t step : steps) {
    try {
      Checkpoint checkpoint = load_checkpoint(file(step));
      last_ = step;
      return checkpoint;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::memory) throw;
      if (first_fault.empty()) first_fault = bare_text(error);
      notes.push_back(fmt::format("passed over: {}", bare_text(error)));
    }
  }
  if (steps.empty()) return std::nullopt;
  fail(ErrorKind::checkpoint, "checkpoint", "none of {} checkpoint{} in {} can be used: {}",
       steps.size(), steps.size() == 1 ? "" : "s", path_.string(), first_fault);
}

void CheckpointFolder::keep_only(std::int64_t step) {
  std::error_code fault;
  for (const fs::path& old : files_of(path_)) {
    const auto found = step_of(old);
    if ((found && *found != step) || is_temporary(old)) fs::remove(old, fault);
  }
  last_ = step;
}

void CheckpointFolder::remove() {
  std::error_code fault;
  keep_only(-1);
  // One that stays would be taken for a checkpoint of the next run.
  for (const fs::path& left : files_of(path_))
    if (step_of(left)) fail(ErrorKind::io, "checkpoint", "{}: cannot be removed", left.string());
  if (fs::is_empty(path_, fault) && !fault) fs::remove(path_, fault);
  last_.reset();
}

}  // namespace whorl
