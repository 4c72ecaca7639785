// NPY: NumPy's array files, versions 1, 2 and 3.
//
// The element types map to ours as
//
//   f4 -> f32   f8 -> f64   i4 -> i32   i8 -> i32 (values must fit)   u1 -> i32   b1 -> bool
//
// Big endian and Fortran order are converted. Python objects (pickles) are never loaded, and
// structured types are refused. Nothing is trusted: the header is at most 4 KiB and read by a
// parser of its own, and the size that it declares must be the size of the file before memory is
// asked for. Errors are of kind data for what is in a file, io for the file itself. Thread safety:
// free functions without shared state.
#pragma once

#include <string>

#include "engine/tensor.hpp"

namespace whorl {

// `converted_from`, when given, becomes NumPy's name of the element type in the file where ours is
// another (int64, uint8), else "".
Tensor load_npy(const std::string& path, std::string* converted_from = nullptr);

// The type of the array that load_npy would return; the elements are not read.
Type npy_type(const std::string& path);
inline Shape npy_shape(const std::string& path) { return npy_type(path).shape; }

// Writes version 1, little endian, C order; the file appears complete or not at all.
void save_npy(const std::string& path, const Tensor& tensor);

// `tensor` as f32. Throws a data Error that names the first element too large for f32; infinities
// and NaN stay what they are. `path` begins the error text.
Tensor narrow(const std::string& path, const Tensor& tensor);

}  // namespace whorl
