// NpyHeader: what the first bytes of an NPY file say, as text that is checked but not yet believed.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace whorl {

struct NpyHeader {
  std::string descr;  // such as "<f4"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

inline constexpr std::int64_t npy_header_limit = 4096;

// Reads the dictionary {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } and nothing
// else. Throws a data Error; `path` begins its text.
NpyHeader parse_npy_header(const std::string& path, std::string_view text);

}  // namespace whorl
