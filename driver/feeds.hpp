// FeedSet: what a run puts into a graph's inputs, and which of them carry the chain axis.
//
// A graph is written for one chain. An input whose array has one more leading axis than the graph
// says is fed for K chains at once; all such inputs must agree on K.
// Thread safety: plain values.
#pragma once

#include <string>
#include <vector>

#include "driver/command_line.hpp"
#include "engine/evaluate.hpp"
#include "engine/graph.hpp"

namespace whorl::driver {

struct FeedSet {
  Feeds tensors;
  std::vector<std::string> batched;  // inputs with the chain axis
  std::int64_t chains = 0;           // 0: the graph runs as it is written
};

// Reads --feed, --chains, --random-feeds and --seed. Throws a usage Error for names that are wrong
// or missing, a data Error for arrays that do not fit.
FeedSet collect_feeds(const Graph& graph, const Arguments& arguments);

}  // namespace whorl::driver
