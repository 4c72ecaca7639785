// The planner's stages, each a file: drafts of the steps, their order, and the finished plan.
//
// Thread safety: used by compile() alone.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/aliases.hpp"
#include "engine/fusion.hpp"
#include "engine/plan.hpp"

namespace whorl {

// A step before it has an order or memory: what it reads and writes, as roots of values.
struct Draft {
  PlanStep::Kind kind = PlanStep::Kind::loop;
  std::uint32_t group = 0;   // of a loop
  NodeId node = 0;           // of a single
  std::uint32_t output = 0;  // of a copy: index of the graph's output
  std::vector<NodeId> reads;
  std::vector<NodeId> writes;
  std::vector<std::uint32_t> needs;  // drafts that must come before
  NodeId last_node = 0;              // the largest id in it
};

struct Drafts {
  std::vector<Draft> list;
  std::vector<char> materialised;    // per node: its value leaves the step that makes it
  std::vector<std::uint32_t> maker;  // per node: the draft that writes it
  // Per output of the graph: whether the value is written there at once, without a copy.
  std::vector<char> direct_output;
};

Drafts draft_steps(const Graph& graph, const Aliases& aliases, const Grouping& grouping,
                   const std::vector<char>& needed);

// An order of the drafts that keeps memory low: the best of a few simple orders, by simulation.
std::vector<std::uint32_t> order_steps(const Graph& graph, const Drafts& drafts);

// Gives every value and scratch a place in the arena, stage by stage; returns the arena's size.
// The plan has its steps, stages and slots; slot_of maps values to slots.
std::int64_t place_values(Plan& plan, const Drafts& drafts, const std::vector<std::uint32_t>& order,
                          const std::vector<std::uint32_t>& slot_of);

std::shared_ptr<Plan> make_plan(Graph graph, bool fuse);

}  // namespace whorl
