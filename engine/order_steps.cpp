#include <algorithm>
#include <functional>
#include <queue>

#include "engine/planner.hpp"

namespace whorl {

namespace {

using Order = std::vector<std::uint32_t>;

// As the graph was written.
Order creation_order(const Drafts& drafts) {
  const auto count = drafts.list.size();
  std::vector<std::uint32_t> waiting(count);
  std::vector<std::vector<std::uint32_t>> users(count);
  using Entry = std::pair<NodeId, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (std::uint32_t d = 0; d < count; ++d) {
    waiting[d] = static_cast<std::uint32_t>(drafts.list[d].needs.size());
    for (std::uint32_t need : drafts.list[d].needs) users[need].push_back(d);
    if (waiting[d] == 0) ready.emplace(drafts.list[d].last_node, d);
  }
  Order order;
  order.reserve(count);
  while (!ready.empty()) {
    const std::uint32_t d = ready.top().second;
    ready.pop();
    order.push_back(d);
    for (std::uint32_t user : users[d])
      if (--waiting[user] == 0) ready.emplace(drafts.list[user].last_node, user);
  }
  return order;
}

// What a wanted step needs comes right before it. With truncated back-propagation this runs the
// backward part of one window before the forward part of the next.
Order depth_first_order(const Drafts& drafts, const std::vector<std::uint32_t>& wanted) {
  std::vector<char> state(drafts.list.size(), 0);  // 1: on the stack, 2: done
  Order order;
  order.reserve(drafts.list.size());
  std::vector<std::pair<std::uint32_t, std::size_t>> stack;
  for (std::uint32_t root : wanted) {
    if (state[root] != 0) continue;
    stack.emplace_back(root, 0);
    state[root] = 1;
    while (!stack.empty()) {
      auto& [d, next] = stack.back();
      const auto& needs = drafts.list[d].needs;
      if (next == needs.size()) {
        state[d] = 2;
        order.push_back(d);
        stack.pop_back();
        continue;
      }
      const std::uint32_t need = needs[next++];
      if (state[need] != 0) continue;
      state[need] = 1;
      stack.emplace_back(need, 0);
    }
  }
  return order;
}

// The most bytes that are alive at once.
std::int64_t peak_bytes(const Graph& graph, const Drafts& drafts, const Order& order) {
  std::vector<std::uint32_t> last(graph.size(), 0);
  for (std::uint32_t at = 0; at < order.size(); ++at) {
    const Draft& draft = drafts.list[order[at]];
    for (NodeId id : draft.reads) last[id] = at;
    for (NodeId id : draft.writes) last[id] = at;
  }
  std::int64_t live = 0, peak = 0;
  for (std::uint32_t at = 0; at < order.size(); ++at) {
    const Draft& draft = drafts.list[order[at]];
    for (NodeId id : draft.writes) live += graph.type(id).bytes();
    peak = std::max(peak, live);
    for (NodeId id : draft.reads)
      if (last[id] == at && !graph.op(id).is(Traits::source)) live -= graph.type(id).bytes();
    for (NodeId id : draft.writes)
      if (last[id] == at) live -= graph.type(id).bytes();
  }
  return peak;
}

}  // namespace

std::vector<std::uint32_t> order_steps(const Graph& graph, const Drafts& drafts) {
  // The steps that nobody needs are the ends; every other step is reached from one of them.
  std::vector<char> is_needed(drafts.list.size(), 0);
  for (const Draft& draft : drafts.list)
    for (std::uint32_t need : draft.needs) is_needed[need] = 1;
  std::vector<std::uint32_t> ends;
  for (std::uint32_t d = 0; d < drafts.list.size(); ++d)
    if (!is_needed[d]) ends.push_back(d);
  std::vector<std::uint32_t> reversed(ends.rbegin(), ends.rend());

  Order best = creation_order(drafts);
  std::int64_t least = peak_bytes(graph, drafts, best);
  for (const auto& wanted : {ends, reversed}) {
    Order order = depth_first_order(drafts, wanted);
    const std::int64_t peak = peak_bytes(graph, drafts, order);
    if (peak < least) {
      least = peak;
      best = std::move(order);
    }
  }
  return best;
}

}  // namespace whorl
