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

// Functions that cost about as much as twenty operations: what loops do not make twice.
template <class Op>
struct Dear : Op {
  static double flops(const Site& site) { return 20.0 * static_cast<double>(site.out.elements()); }
};

}  // namespace whorl
