// IDX: the array files of MNIST and of the sets that follow it, plain or compressed by gzip.
//
// A file is 00 00, the element type, the number of axes, each axis as 32 bits, and the elements in
// C order; all of it big endian. The element types map to ours as
//
//   08 u8 -> i32   09 i8 -> i32   0b i16 -> i32   0c i32 -> i32   0d f32 -> f32   0e f64 -> f64
//
// or to any type that is asked for, while they are read: memory is the array that is returned and a
// block. Nothing is trusted: the size that a header declares must be the size of the file before
// memory is asked for. That of a compressed file is only known to lie within what deflate can make
// of its bytes, and what goes beyond the declared size is not unpacked. Every number is finite.
// Errors are of kind data for what is in a file, io for the file itself.
// Thread safety: free functions without shared state.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/tensor.hpp"

namespace whorl {

// With `as`, whole numbers may become f32 or f64; what does not fit `as` is refused with its row,
// and so are other than whole numbers for i32, other than 0 and 1 for bool. `user` says in errors
// for whom, as in "input 'x', which is f32".
Tensor load_idx(const std::string& path, std::optional<DType> as = std::nullopt,
                std::string_view user = "");

// The type of the array that load_idx(path) would return; the elements are not read.
Type idx_type(const std::string& path);
inline Shape idx_shape(const std::string& path) { return idx_type(path).shape; }

// Whether the first bytes of a file, 4 or more, are those of an IDX file, of one with its bytes
// swapped, or of a compressed file, which may have one in it.
bool looks_like_idx(std::string_view start);

}  // namespace whorl
