// Ops that only these tests know: compositions, and an op without a gradient.
#pragma once

#include "engine/ops.hpp"

namespace whorl::testing {

Value twice_square(Value x);  // composition: 2 x^2
Value quad_square(Value x);   // composition of a composition: 2 twice_square(x)
Value same(Value x);          // composition that is its input
Value norm_sum(Value x);      // composition that mixes coordinates: x / sum(x)
Value untaught(Value x);      // x, without a gradient
Value wrong_rule(Value x);    // x, with a rule that gives another type
Value doubled_rule(Value x);  // x, with a gradient twice too large

}  // namespace whorl::testing
