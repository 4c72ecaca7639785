// File: reading and writing whole files that belong to users.
//
// Files are read with read() and never mapped: a file that shrinks or is replaced meanwhile becomes
// an Error, not a signal. Only regular files are read, so a pipe or a device cannot hang a program.
// A file is written under a temporary name beside its place and renamed when it is complete and on
// disk: whoever looks sees the old file or the new one, never a part.
// Errors are of kind io and carry the system's own words.
// Thread safety: an InputFile belongs to one thread; write_file may be called from many.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace whorl {

class InputFile {
 public:
  // `where` begins every error text, as in "[npy] x.npy: ...".
  InputFile(std::string_view where, const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::int64_t size() const { return status_.st_size; }
  std::int64_t position() const { return position_; }
  // Exactly n bytes from the current position; fewer than that in the file is an Error.
  void read(void* memory, std::int64_t n);
  // Throws when size or time of change differ from those at opening.
  void check_unchanged() const;

 private:
  std::string where_, path_;
  int descriptor_ = -1;
  std::int64_t position_ = 0;
  struct stat status_ = {};
};

// Writes `parts` one after the other as the new content of `path`.
void write_file(std::string_view where, const std::string& path,
                std::span<const std::span<const std::byte>> parts);
void write_file(std::string_view where, const std::string& path, std::string_view text);

}  // namespace whorl
