// The order of a body's items and of its functions, and the cycles that forbid one.
#pragma once

#include "graphs/file/link.hpp"

namespace whorl::graphs {

// Fills body.order; throws a graph Error that prints the cycle when there is one.
void order_items(Body& body, const Source& source);

// Throws a graph Error when functions call each other in a circle, or when expanding everything
// would give more nodes or edges than the limits allow.
void check_expansion(const Program& program, const Source& source);

}  // namespace whorl::graphs
