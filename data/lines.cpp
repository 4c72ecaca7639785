#include "data/lines.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "engine/error.hpp"

namespace whorl {

namespace {

constexpr std::int64_t block = 1 << 20;

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> other_kinds{{
    {"\xff\xfe", "UTF-16 text; save it as UTF-8"},
    {"\xfe\xff", "UTF-16 text; save it as UTF-8"},
    {"\x1f\x8b", "a gzip archive; unpack it first"},
    {"PK\x03\x04", "a ZIP archive or a spreadsheet; save it as text"},
    {"\x93NUMPY", "an NPY file, not text"},
}};

}  // namespace

LineReader::LineReader(std::string_view where, const std::string& path)
    : where_(where), path_(path), file_(where, path) {
  if (!read_block()) fail(ErrorKind::data, where_, "{}: the file is empty", path_);
  check_kind();
}

void LineReader::refuse(std::string_view what) const {
  fail(ErrorKind::data, where_, "{}:{}: {}", path_, number_, what);
}

void LineReader::check_kind() {
  const std::string_view start(buffer_.data(), static_cast<std::size_t>(end_));
  for (const auto& [magic, what] : other_kinds)
    if (start.starts_with(magic)) fail(ErrorKind::data, where_, "{}: {}", path_, what);
  constexpr std::string_view mark = "\xef\xbb\xbf";
  if (start.starts_with(mark)) begin_ = static_cast<std::int64_t>(mark.size());
}

// Appends to what is left in the buffer; false at the end of the file.
bool LineReader::read_block() {
  const std::int64_t more = std::min(block, file_.size() - file_.position());
  if (more == 0) return false;
  std::copy(buffer_.begin() + begin_, buffer_.begin() + end_, buffer_.begin());
  end_ -= begin_;
  begin_ = 0;
  // By doubling, so that a long line is not moved once a block.
  if (const auto wanted = static_cast<std::size_t>(end_ + more); wanted > buffer_.size())
    buffer_.resize(std::max(wanted, 2 * buffer_.size()));
  file_.read(buffer_.data() + end_, more);
  end_ += more;
  return true;
}

std::string_view LineReader::checked(std::string_view line) const {
  if (static_cast<std::int64_t>(line.size()) > line_limit)
    refuse("the line has more than the limit of 16 MiB");
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.find('\0') != std::string_view::npos)
    refuse("the line has a zero byte: the file is binary or UTF-16, not text");
  if (line.find('\r') != std::string_view::npos)
    refuse("the line has a carriage return inside; save the file with line ends \\n or \\r\\n");
  return line;
}

bool LineReader::next(std::string_view& line) {
  ++number_;
  std::int64_t seen = 0;  // bytes of the line that are known to hold no line end
  const char* stop = nullptr;
  while (true) {
    const char* from = buffer_.data() + begin_ + seen;
    const auto n = static_cast<std::size_t>(end_ - begin_ - seen);
    stop = n == 0 ? nullptr : static_cast<const char*>(std::memchr(from, '\n', n));
    seen = end_ - begin_;
    if (stop != nullptr || seen > line_limit || !read_block()) break;
  }
  const char* start = buffer_.data() + begin_;
  if (stop == nullptr && seen == 0) {
    file_.check_unchanged();
    return false;
  }
  const std::int64_t length = stop != nullptr ? stop - start : seen;
  line = checked({start, static_cast<std::size_t>(length)});
  begin_ += length + (stop != nullptr ? 1 : 0);
  return true;
}

}  // namespace whorl
