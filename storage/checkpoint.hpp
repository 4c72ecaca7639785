// Checkpoint: everything that a run's future depends on, in one file with checksums.
//
//   magic, version, length of the file, step,
//   identity:  what run it belongs to, texts by name (configuration, hashes of graph and data, ...)
//   tensors:   name, type, checksum of each
//   checksum of all above, the tensors' bytes, end mark
//
// Numbers are little endian and keep all their bits. A file is judged before anything in it is
// used: whatever is damaged, cut off or absurd is a checkpoint Error that names what and where.
// Thread safety: free functions; values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/tensor.hpp"

namespace whorl {

inline constexpr std::uint64_t checkpoint_format_version = 1;

struct Checkpoint {
  std::int64_t step = 0;  // steps or updates made; the order of a run's checkpoints
  std::vector<std::pair<std::string, std::string>> identity;
  std::map<std::string, Tensor, std::less<>> tensors;

  // A tensor that must be there and have this type. Throws a checkpoint Error.
  const Tensor& tensor(std::string_view name, const Type& type) const;
  // Numbers kept in double.
  std::vector<double> numbers(std::string_view name) const;
  double number(std::string_view name) const;                          // that stands alone
  std::int64_t count(std::string_view name, std::int64_t most) const;  // a whole one, from 0 on
  void put(std::string name, std::span<const double> numbers);
  std::int64_t bytes() const;  // about what its file takes
};

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);
Checkpoint load_checkpoint(const std::string& path);

// XXH3 of names, types and elements, as 32 hexadecimal digits.
std::string tensors_hash(const std::map<std::string, Tensor>& tensors);

// The checkpoints of one run, in a directory of their own: the two newest are kept.
class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::filesystem::path path) : path_(std::move(path)) {}

  // Makes the directory where it is missing. Whatever goes wrong (an io Error), the checkpoint
  // before is still there.
  void save(const Checkpoint& checkpoint);
  // The one with the most steps that is whole; empty when there is no file at all. Those that had
  // to be passed over are told in `notes`. Throws a checkpoint Error when all are damaged.
  std::optional<Checkpoint> newest(std::vector<std::string>& notes);
  // Removes all but that of a step.
  void keep_only(std::int64_t step);
  // All of them, and the directory when nothing else is in it. Throws an io Error when one stays.
  void remove();

 private:
  std::filesystem::path file(std::int64_t step) const;

  std::filesystem::path path_;
  std::optional<std::int64_t> last_;  // the step of the newest whole one
};

}  // namespace whorl
