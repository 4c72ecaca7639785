#include "data/unpacked_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "engine/error.hpp"

namespace whorl {

namespace {

constexpr std::int64_t block = 65536;

constexpr unsigned char gzip_magic[] = {0x1f, 0x8b};

void end_stream(z_stream_s* stream) {
  ::inflateEnd(stream);
  delete stream;
}

}  // namespace

UnpackedFile::UnpackedFile(std::string_view where, const std::string& path)
    : where_(where), path_(path), file_(where, path), buffer_(block), stream_(nullptr, end_stream) {
  fill();
  if (!gzip_begins()) return;
  stream_.reset(new z_stream_s{});
  constexpr int gzip_with_largest_window = 16 + MAX_WBITS;
  if (::inflateInit2(stream_.get(), gzip_with_largest_window) != Z_OK)
    fail(ErrorKind::memory, where_, "{}: there is no memory to unpack the file", path_);
}

std::int64_t UnpackedFile::most_bytes() const {
  return packed() ? most_from_one_byte * file_.size() : file_.size();
}

std::int64_t UnpackedFile::read(void* memory, std::int64_t n) {
  auto* place = static_cast<char*>(memory);
  return packed() ? unpack(place, n) : copy(place, n);
}

bool UnpackedFile::at_end() {
  if (!packed()) return buffered() == 0 && file_.position() == file_.size();
  char more = 0;
  return unpack(&more, 1) == 0;
}

bool UnpackedFile::gzip_begins() const {
  return buffered() >= 2 && std::memcmp(buffer_.data() + begin_, gzip_magic, 2) == 0;
}

// Reads on behind what is in the buffer.
void UnpackedFile::fill() {
  std::copy(buffer_.begin() + begin_, buffer_.begin() + end_, buffer_.begin());
  end_ = buffered();
  begin_ = 0;
  const std::int64_t n = std::min(block - end_, file_.size() - file_.position());
  file_.read(buffer_.data() + end_, n);
  end_ += n;
}

std::int64_t UnpackedFile::copy(char* memory, std::int64_t n) {
  std::int64_t copied = 0;
  while (copied < n) {
    if (buffered() == 0) fill();
    if (buffered() == 0) break;
    const std::int64_t part = std::min(n - copied, buffered());
    std::memcpy(memory + copied, buffer_.data() + begin_, static_cast<std::size_t>(part));
    begin_ += part;
    copied += part;
  }
  return copied;
}

std::int64_t UnpackedFile::unpack(char* memory, std::int64_t n) {
  std::int64_t unpacked = 0;
  while (unpacked < n && !ended_) {
    if (buffered() == 0) fill();
    if (buffered() == 0) refuse("the compressed data end early: the file is cut off");
    z_stream_s& stream = *stream_;
    // zlib counts in 32 bits.
    const auto wanted = static_cast<uInt>(std::min<std::int64_t>(n - unpacked, 1 << 30));
    stream.next_in = reinterpret_cast<Bytef*>(buffer_.data() + begin_);
    stream.avail_in = static_cast<uInt>(buffered());
    stream.next_out = reinterpret_cast<Bytef*>(memory + unpacked);
    stream.avail_out = wanted;
    const int code = ::inflate(&stream, Z_NO_FLUSH);
    begin_ = end_ - stream.avail_in;
    unpacked += wanted - stream.avail_out;
    if (code == Z_MEM_ERROR)
      fail(ErrorKind::memory, where_, "{}: there is no memory to unpack the file", path_);
    if (code != Z_OK && code != Z_STREAM_END)
      refuse(fmt::format("the compressed data are damaged: {}",
                         stream.msg != nullptr ? stream.msg : "unknown reason"));
    if (code == Z_STREAM_END) begin_member();
  }
  return unpacked;
}

// Behind the end of a member: another one, or nothing.
void UnpackedFile::begin_member() {
  if (buffered() < 2) fill();
  ended_ = buffered() == 0;
  if (ended_) return;
  if (!gzip_begins())
    refuse(fmt::format("{} bytes follow the end of the compressed data",
                       buffered() + file_.size() - file_.position()));
  ::inflateReset(stream_.get());
}

void UnpackedFile::refuse(const std::string& what) const {
  // A file that somebody writes meanwhile is not a damaged one.
  file_.check_unchanged();
  fail(ErrorKind::data, where_, "{}: {}", path_, what);
}

}  // namespace whorl
