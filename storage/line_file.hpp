// LineFile: a text file that grows by whole lines, such as metrics.jsonl.
//
// A line is one write(), so a reader sees it whole or not at all unless the machine dies in that
// moment; a run that goes on after that cuts the file back to the length that its checkpoint knows.
// Errors are of kind io and carry the system's own words.
// Thread safety: for one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace whorl {

class LineFile {
 public:
  // A new file in the place of an old one.
  explicit LineFile(std::string path);
  // One that is there, cut back to its first `keep` bytes. Throws a checkpoint Error when it has
  // fewer.
  LineFile(std::string path, std::int64_t keep);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  // With its newline. A line that does not fit on the disk leaves no part of itself behind.
  void add(std::string_view line);
  void sync();  // all lines are on disk
  // The bytes of a file up to the end of its last whole line, or of the last before a zero byte; 0
  // when there is no such file.
  static std::int64_t whole_lines(const std::string& path);
  std::int64_t size() const { return size_; }

 private:
  std::string path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace whorl
