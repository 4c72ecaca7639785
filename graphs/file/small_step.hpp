// A step of a sampler for the smallest of targets, to see whether it is one.
#pragma once

#include "samplers/recipe.hpp"

namespace whorl::graphs {

inline constexpr std::int64_t small_size = 3;  // its coordinates

// Throws the graph Error of the samplers when D and Q are not what the recipe needs.
void make_small_step(const Dynamics& dynamics);

}  // namespace whorl::graphs
