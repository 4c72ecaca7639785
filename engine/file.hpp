// File: reading and writing whole files that belong to users.
//
// Files are read with read() and never mapped: a file that shrinks or is replaced meanwhile becomes
// an Error, not a signal. Only regular files are read, so a pipe or a device cannot hang a program.
// A file is written under a temporary name beside its place and renamed when it is complete and on
// disk: whoever looks sees the old file or the new one, never a part.
// Errors are of kind io and carry the system's own words.
// Thread safety: a file belongs to one thread; write_file may be called from many.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

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

// All bytes of a file.
std::string whole_file(std::string_view where, const std::string& path);

// A file that takes the place of `path` once it is committed, and leaves nothing behind if not.
// Where `path` is a symbolic link, the link stays and its target is replaced.
class NewFile {
 public:
  NewFile(std::string_view where, const std::string& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // Where it is until then, for those who write it in another way than from start to end.
  const std::string& temporary_name() const { return name_; }
  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  std::string where_, path_, name_;
  int descriptor_ = -1;
  bool committed_ = false;
};

// Writes `parts` one after the other as the new content of `path`.
void write_file(std::string_view where, const std::string& path,
                std::span<const std::span<const std::byte>> parts);
void write_file(std::string_view where, const std::string& path, std::string_view text);

// The names in a directory, sorted; none and the reason where it cannot be read. Where memory runs
// out this throws, while std::filesystem's iterators end the program.
std::vector<std::string> names_in(const std::string& folder, std::error_code& fault);

}  // namespace whorl
