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
  Feeds tensors;                     // those from files; with draw_feeds, all
  std::vector<std::string> drawn;    // inputs that get random numbers
  std::vector<std::string> batched;  // inputs with the chain axis
  std::int64_t chains = 0;           // 0: the graph runs as it is written
};

// Reads --feed, --chains and --random-feeds. Throws a usage Error for names that are wrong or
// missing, a data Error for arrays that do not fit. Nothing is drawn yet, so that a run that is too
// large is refused at once.
FeedSet collect_feeds(const Graph& graph, const Arguments& arguments);

// The bytes that draw_feeds will ask for. `graph` is the one that runs: for all chains.
std::int64_t drawn_bytes(const Graph& graph, const FeedSet& feeds);
// Standard normal numbers, each chain its own; integers and bools become zeros.
void draw_feeds(const Graph& graph, FeedSet& feeds, std::uint64_t seed);

}  // namespace whorl::driver
