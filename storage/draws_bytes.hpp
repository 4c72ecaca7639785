// DrawsBytes: an open file by positions, with errors in the words of the system.
//
// Only regular files are opened, so a pipe or a device cannot hang a program; nothing is mapped, so
// a file that shrinks becomes an Error and not a signal. Errors are of kind io.
// Thread safety: none of its calls changes a state; the file itself is shared by all who have it
// open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace whorl {

class DrawsBytes {
 public:
  enum class Access { read, write };

  DrawsBytes(const std::string& path, Access access) : DrawsBytes(path, access, path) {}
  // `shown` is the name in error texts.
  DrawsBytes(const std::string& path, Access access, const std::string& shown);
  ~DrawsBytes();
  DrawsBytes(const DrawsBytes&) = delete;
  DrawsBytes& operator=(const DrawsBytes&) = delete;

  const std::string& path() const { return shown_; }
  std::int64_t size() const { return size_; }  // when it was opened

  // All bytes or an Error.
  void read(std::int64_t position, std::span<std::byte> bytes) const;
  void write(std::int64_t position, std::span<const std::byte> bytes) const;
  // The disk has room for `bytes` bytes, as far as the file system can promise that.
  void reserve(std::int64_t bytes) const;
  void sync() const;

 private:
  std::string shown_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace whorl
