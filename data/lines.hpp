// LineReader: the lines of a text file, one at a time.
//
// A line ends with "\n" or "\r\n"; the last one need not end at all. A byte order mark of UTF-8 is
// skipped. Refused are files of other kinds (UTF-16, archives, NPY), bytes that are zero, line ends
// of "\r" alone and lines beyond line_limit. Memory is a block and the longest line, not the file.
// Thread safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/file.hpp"

namespace whorl {

inline constexpr std::int64_t line_limit = std::int64_t{16} << 20;  // bytes

class LineReader {
 public:
  // `where` begins every error text, as in "[csv] d.csv:3: ...".
  LineReader(std::string_view where, const std::string& path);

  // Whether there is another line; `line` becomes it, without its end, until the next call.
  bool next(std::string_view& line);
  // The number of that line, from 1.
  std::int64_t number() const { return number_; }
  // Bytes of the file after that line.
  std::int64_t left() const { return file_.size() - file_.position() + (end_ - begin_); }

 private:
  void check_kind();
  bool read_block();
  std::string_view checked(std::string_view line) const;
  [[noreturn]] void refuse(std::string_view what) const;

  std::string where_, path_;
  InputFile file_;
  std::vector<char> buffer_;
  std::int64_t begin_ = 0, end_ = 0;  // what of the buffer is still to be given
  std::int64_t number_ = 0;
};

}  // namespace whorl
