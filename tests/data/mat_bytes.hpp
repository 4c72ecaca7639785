// The bytes of MAT files of version 5, made up for tests.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace whorl::testing {

template <class T>
std::string mat_bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::string mat_tag(std::uint32_t type, std::size_t size) {
  return mat_bytes<std::uint32_t>({type, static_cast<std::uint32_t>(size)});
}

inline std::string mat_element(std::uint32_t type, std::string bytes) {
  const std::string tag = mat_tag(type, bytes.size());
  bytes.resize((bytes.size() + 7) / 8 * 8, '\0');
  return tag + bytes;
}

// Up to 4 bytes in the tag itself.
inline std::string mat_small_element(std::uint32_t type, std::string bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  bytes.resize(4, '\0');
  return mat_bytes<std::uint32_t>({type | size << 16}) + bytes;
}

// An array of class `kind` with what follows its header.
inline std::string mat_array(std::uint32_t kind, const std::vector<std::int32_t>& dims,
                             const std::string& name, const std::string& content,
                             std::uint32_t flags = 0) {
  return mat_element(14, mat_element(6, mat_bytes<std::uint32_t>({kind | flags << 8, 0})) +
                             mat_element(5, mat_bytes(dims)) + mat_element(1, name) + content);
}

template <class T>
constexpr std::uint32_t mat_type() {
  if constexpr (std::is_same_v<T, double>) return 9;
  if constexpr (std::is_same_v<T, float>) return 7;
  if constexpr (sizeof(T) == 8) return std::is_signed_v<T> ? 12 : 13;
  return (sizeof(T) == 4 ? 5 : sizeof(T) == 2 ? 3 : 1) + (std::is_signed_v<T> ? 0 : 1);
}

// An array of class double, column by column. As MATLAB does it, whole numbers may be stored as T.
template <class T>
std::string mat_numbers(const std::vector<std::int32_t>& dims, const std::vector<T>& values,
                        const std::string& name = "") {
  return mat_array(6, dims, name, mat_element(mat_type<T>(), mat_bytes(values)));
}

inline std::string mat_cells(const std::string& name, const std::vector<std::string>& cells) {
  std::string content;
  for (const std::string& cell : cells) content += cell;
  return mat_array(1, {1, static_cast<std::int32_t>(cells.size())}, name, content);
}

inline std::string mat_compressed(std::string_view content) {
  uLongf size = ::compressBound(content.size());
  std::string packed(size, '\0');
  if (::compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                  reinterpret_cast<const Bytef*>(content.data()), content.size(),
                  Z_BEST_COMPRESSION) != Z_OK)
    throw std::runtime_error("compress2");
  packed.resize(size);
  return mat_tag(15, size) + packed;
}

inline std::string mat_file(const std::vector<std::string>& variables,
                            std::string_view version = {"\0\1IM", 4}) {
  std::string text = "MATLAB 5.0 MAT-file, made up";
  text.resize(124, ' ');
  text += version;
  for (const std::string& variable : variables) text += variable;
  return text;
}

}  // namespace whorl::testing
