// unroll: many steps of many chains as one graph.
//
// Inputs of the result, beside the sampler's parameters and the data:
//   the state variables [K, ...], as the first step finds them
//   seed i32[2], step i32[]      the number of the first step
//   step_sizes [T]               eta of every step
//   batches i32[T, M]            rows of every step's minibatch, when the step has them
// A truncation is an explicit stop_gradient on the whole state, so a meta-gradient sees at most
// `truncate` steps and the plan keeps one window of them in memory.
// Thread safety: as for Graph::append.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "samplers/step.hpp"

namespace whorl {

using NamedValues = std::map<std::string, Value, std::less<>>;

struct UnrollOptions {
  std::int64_t chains = 1;
  std::int64_t steps = 1;
  // The state is cut when (t + 1) is a multiple of this, before step t moves it; 0: never.
  std::int64_t truncate = 0;
};

// What is known as step t begins.
struct Moment {
  NamedValues state;       // not cut
  NamedValues statistics;  // such as the energy [K] and the gradient [K, n] at that position
};

struct Unrolled {
  std::vector<Moment> moments;  // one for each step
  NamedValues state;            // after the last one
  NamedValues parameters;       // the inputs that hold the sampler's parameters
};

// Appends T steps to the graph, which must be empty or have none of the names above.
Unrolled unroll(Graph& into, const Step& step, const UnrollOptions& options);

}  // namespace whorl
