// The log density of a target on a grid of two of its coordinates.
//
// Thread safety: free functions.
#pragma once

#include "driver/report/contours.hpp"
#include "driver/target.hpp"

namespace whorl::driver::report {

// Of coordinates a and b of a Gaussian, whatever the others are.
Grid gaussian_grid(const Gaussian& gaussian, std::size_t a, std::size_t b, const Limits& x,
                   const Limits& y);

// -U of a target with two numbers, by its own graph and data.
Grid energy_grid(const Target& target, const Limits& x, const Limits& y, int threads);

}  // namespace whorl::driver::report
