// MAT: the arrays in MATLAB's files of version 5, which -v6 and -v7 save, as sequences.
//
// A file holds variables by name. One can be read that is
//
//   - an array T x C of real numbers, of any numeric or logical class: one sequence
//   - a cell array of such arrays: a sequence each, in MATLAB's order of the cells
//
// and all else is refused: struct, char, sparse, object, function handle, complex, a cell in a
// cell, big-endian files, and those of -v7.3, which are HDF5. MATLAB's column-major arrays become
// row-major ones [T,C]. Variables that nobody asks for may be of any class, of up to 256 dimensions
// and of any size: they are passed over.
//
// Nothing is trusted. Lengths are compared with the bytes around them, dimensions with the bytes of
// their numbers, and what a compressed variable declares with mat_limit and with what its bytes can
// unpack to, all before memory is asked for; not more than is declared is unpacked. Memory is the
// unpacked bytes of the variable and the one array that is returned, each at most mat_limit. Errors
// are of kind data for what is in a file, io for the file itself. Cells and elements count from 1
// in them, as in MATLAB:
//
//   [mat] m.mat: variable 'songs': cell 3: element (1,5): nan is not finite for an array of f32
//
// Thread safety: free functions without shared state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor.hpp"

namespace whorl {

// Bytes of a variable, both unpacked and as the numbers that it becomes.
inline constexpr std::int64_t mat_limit = std::int64_t{1} << 30;
inline constexpr std::int64_t mat_cell_limit = std::int64_t{1} << 20;

// The names of the variables, in the order of the file; at least one.
std::vector<std::string> mat_variables(const std::string& path);

// Cells that differ in shape, in one array: there is no second one while they are put together.
struct MatCells {
  Tensor numbers;             // [n]: those of all cells, one cell after the other, each row-major
  std::vector<Shape> shapes;  // of the cells, each [T,C] with a T and a C of its own that may be 0
};

// The cells of a variable; one where the variable is no cell array. A number that does not fit
// `as`, or is not finite, is refused.
MatCells load_mat_cells(const std::string& path, std::string_view variable, DType as);

}  // namespace whorl
