// What follows from a DrawsLayout alone: sizes, names in netCDF, and whether two are the same.
//
// Thread safety: free functions without shared state.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "storage/draws_file.hpp"

namespace whorl {

// A stretch of the file.
struct DrawsRegion {
  std::int64_t offset = 0, bytes = 0;
  std::int64_t end() const { return offset + bytes; }
};

// Where the numbers are that change: all other bytes of the netCDF part stay as they were made.
struct DrawsPlaces {
  std::vector<DrawsRegion> parameters;  // [chains, draws, shape...] of the layout's dtype
  std::vector<DrawsRegion> statistics;  // [chains, draws] of f64
  DrawsRegion steps;                    // [draws] of i64
  std::int64_t netcdf_bytes = 0;        // of the whole netCDF part

  std::vector<DrawsRegion> sorted() const;  // all of them, as they lie in the file
};

// What is wrong with a layout, or "". One that is right has sizes that fit 64 bits.
std::string layout_fault(const DrawsLayout& layout);

// How two layouts differ first, as in "200 draws in the file, 300 in the run", or "".
std::string layout_difference(const DrawsLayout& file, const DrawsLayout& run);

// Bytes of one draw of one chain.
std::int64_t row_bytes(const DrawsLayout& layout, const DrawsVariable& parameter);

// The places' sizes; their offsets are 0.
DrawsPlaces sized_places(const DrawsLayout& layout);

// Names under which the variables are in the file. NetCDF does not allow '/' nor every first
// character, and `chain`, `draw` and `w_dim_0` are taken by coordinates. So '/' becomes '.', any
// other character that is not a letter, digit, '_', '.' or '-' becomes '_', a first '.' or '-' gets
// a '_' in front, and what is longer than 200 bytes is cut. A name that is taken gets "_2", "_3",
// ... behind; names that need no change come first, in their order.
std::vector<std::string> netcdf_parameter_names(std::span<const DrawsVariable> parameters);
std::vector<std::string> netcdf_statistic_names(std::span<const std::string> statistics);
// The dimension and coordinate of a parameter's axis, as ArviZ names it.
std::string netcdf_axis_name(const std::string& parameter, int axis);

}  // namespace whorl
