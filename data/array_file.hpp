// Array files: NPY or IDX, whichever the content is.
//
// A file's name says nothing. npy.hpp and idx.hpp have the rules of the two formats.
// Thread safety: free functions without shared state.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/tensor.hpp"

namespace whorl {

// What is known of a file before its elements are read.
struct ArrayHeader {
  std::string_view format;  // "npy" or "idx"
  Type type;                // as load_array returns it where it is not asked for another
};
ArrayHeader array_header(const std::string& path);
inline Shape array_shape(const std::string& path) { return array_header(path).type.shape; }

// Without `as`, what load_npy or load_idx returns. With `as`, every number must be finite and fit,
// or it is refused with its row; `user` says in such an error for whom, as in "input 'x', which is
// f32".
Tensor load_array(const std::string& path, std::optional<DType> as = std::nullopt,
                  std::string_view user = "");

}  // namespace whorl
