// `whorl sample --seeds`: the same run with several seeds, one after the other, each in a directory
// of its own, DIR/seed-N.
//
// The call can be repeated until all is done: a seed whose run is complete is left alone, one that
// was interrupted goes on. DIR/seeds.pbtxt has what was asked for, and another call that asks for
// something else is refused.
// Thread safety: for one thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "driver/command_line.hpp"
#include "driver/output.hpp"

namespace whorl::driver {

// "15,25,35" or "1..5", or both. Throws a usage Error for one that is there twice.
std::vector<std::uint64_t> parse_seeds(std::string_view text);

// A chain that diverges ends its own run only; that is an Error when all others are done.
void sample_seeds(const Arguments& arguments, Output& output);

}  // namespace whorl::driver
