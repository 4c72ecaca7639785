// whorl check --sampler: is this sampler right?
#pragma once

#include <string>

#include "driver/command_line.hpp"
#include "driver/output.hpp"

namespace whorl::driver {

// Proves the sampler, a built-in one by name or a file, and prints the checks. Throws a graph Error
// when one of them fails, a usage Error for a sampler that is no instance of the recipe.
void check_sampler(const std::string& name, const Arguments& arguments, Output& output);

}  // namespace whorl::driver
