// Coordinate derivatives: d f_i / d x_i for functions that act coordinate by coordinate.
//
// A sampler's correction needs dQ_i/dp_i for every coordinate i. When Q_i depends on p_i and on no
// other coordinate of p, the Jacobian is diagonal and one backward walk seeded with ones gives it
// all. That is only right when the structure holds, so it is checked: on every path from x to f, a
// node must be elementwise, coordinatewise, a move of whole coordinate blocks (a reshape, a slice
// of the leading axis of a coordinate_net), or a composition of such nodes.
#pragma once

#include "engine/graph.hpp"

namespace whorl {

// The derivative, of x's type; f must have the same type. Throws a graph Error that names the first
// node that mixes coordinates, and one that names any stop_gradient between x and f: stopping acts
// on the meta-gradient, and a derivative through it would silently be zero. To differentiate with
// respect to a stopped value, pass the stop_gradient node itself as x.
// Where f does not depend on x at all: an Error, or zeros with allow_unused.
Value coordinate_derivative(Value f, Value x, bool allow_unused = false);

}  // namespace whorl
