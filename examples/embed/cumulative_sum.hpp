// cumulative_sum: an op that Whorl does not have. y_i = x_0 + ... + x_i along the last axis.
#pragma once

#include <whorl/engine/graph.hpp>

// Adds the op to the table, so that graph files may use it, too. Calling it again does nothing.
void register_cumulative_sum();

whorl::Value cumulative_sum(whorl::Value x);
