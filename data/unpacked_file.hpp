// UnpackedFile: the bytes of a file or, where the file is compressed by gzip, of what is in it.
//
// gzip is known by the file's first two bytes, not by its name. Several members one after the
// other, as `cat a.gz b.gz` makes them, are one content. Refused are compressed data that end
// early, that do not agree with their checksums, or that other bytes follow.
// Memory is a block, whatever the file declares or unpacks to. Errors of kind data are about the
// compressed data, those of kind io about the file itself.
// Thread safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/file.hpp"

struct z_stream_s;

namespace whorl {

// The most that deflate makes of a byte, as zlib documents it: a match of 258 bytes in 2 bits.
inline constexpr std::int64_t most_from_one_byte = 1032;

class UnpackedFile {
 public:
  // `where` begins every error text, as in "[idx] x.gz: ...".
  UnpackedFile(std::string_view where, const std::string& path);

  bool packed() const { return stream_ != nullptr; }
  std::int64_t file_size() const { return file_.size(); }
  // The size of the content, or a bound on it where it is packed: known before it is read.
  std::int64_t most_bytes() const;
  // The next n bytes of the content, or fewer where it ends; returns how many.
  std::int64_t read(void* memory, std::int64_t n);
  // Whether all has been read. To know it, a checksum at the end is read and compared, too.
  bool at_end();
  // Throws when the file was changed since it was opened.
  void check_unchanged() const { file_.check_unchanged(); }

 private:
  std::int64_t buffered() const { return end_ - begin_; }
  bool gzip_begins() const;
  void fill();
  std::int64_t copy(char* memory, std::int64_t n);
  std::int64_t unpack(char* memory, std::int64_t n);
  void begin_member();
  [[noreturn]] void refuse(const std::string& what) const;

  std::string where_, path_;
  InputFile file_;
  std::vector<char> buffer_;
  std::int64_t begin_ = 0, end_ = 0;  // what of the buffer is still to be given, or unpacked
  std::unique_ptr<z_stream_s, void (*)(z_stream_s*)> stream_;  // none for a plain file
  bool ended_ = false;                                         // the last member
};

}  // namespace whorl
