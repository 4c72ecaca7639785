// The bytes of IDX and of gzip files, made up for tests.
#pragma once

#include <zlib.h>

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

namespace whorl::testing {

template <class T>
std::string big_endian(T value) {
  const auto* bytes = reinterpret_cast<const char*>(&value);
  return {std::make_reverse_iterator(bytes + sizeof value), std::make_reverse_iterator(bytes)};
}

template <class T>
std::string big_endian(std::initializer_list<T> values) {
  std::string text;
  for (T value : values) text += big_endian(value);
  return text;
}

inline std::string idx_header(int type, std::initializer_list<std::uint32_t> dims) {
  std::string text(2, '\0');
  text += static_cast<char>(type);
  text += static_cast<char>(dims.size());
  return text + big_endian(dims);
}

// A file of u8.
inline std::string idx_bytes(std::initializer_list<std::uint32_t> dims,
                             std::initializer_list<std::uint8_t> elements) {
  return idx_header(0x08, dims) + std::string(elements.begin(), elements.end());
}

// One member of gzip.
inline std::string gzip(std::string_view content) {
  z_stream stream{};
  constexpr int gzip_with_largest_window = 16 + MAX_WBITS;
  if (::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_with_largest_window, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("deflateInit2");
  std::string packed(::deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int code = ::deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (code != Z_STREAM_END) throw std::runtime_error("deflate");
  return packed;
}

}  // namespace whorl::testing
