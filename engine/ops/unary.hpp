// What the ops with one floating-point input have in common.
#pragma once

#include "engine/ops.hpp"

namespace whorl {

struct FloatUnary {
  static constexpr std::array<std::string_view, 1> inputs{"x"};
  static constexpr Traits traits = Traits::elementwise;
  static constexpr DTypeSet dtypes = floats;
  static std::vector<Sample> samples() { return {{{{{2, 3}}}}, {{{{}}}}}; }
};

// The same for functions of a positive number.
struct PositiveUnary : FloatUnary {
  static std::vector<Sample> samples() { return {{{{{2, 3}, 0.3, 3}}}, {{{{}, 0.3, 3}}}}; }
};

}  // namespace whorl
