#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

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

// Always the step that adds the fewest bytes to what is alive. With truncated back-propagation this
// runs the backward part of a window, which frees values, before the forward part of the next.
class GreedyOrder {
 public:
  GreedyOrder(const Graph& graph, const Drafts& drafts)
      : graph_(graph),
        drafts_(drafts),
        readers_(graph.size(), 0),
        reader_(graph.size(), 0),
        growth_(drafts.list.size(), 0),
        waiting_(drafts.list.size(), 0),
        users_(drafts.list.size()),
        done_(drafts.list.size(), 0) {}

  Order run() {
    for (std::uint32_t d = 0; d < drafts_.list.size(); ++d) add(d);
    for (std::uint32_t d = 0; d < drafts_.list.size(); ++d)
      for (NodeId id : drafts_.list[d].reads)
        if (readers_[id] == 1) growth_[d] -= bytes(id);
    for (std::uint32_t d = 0; d < drafts_.list.size(); ++d) offer(d);
    Order order;
    order.reserve(drafts_.list.size());
    while (!ready_.empty()) {
      const auto [growth, node, d] = ready_.top();
      ready_.pop();
      // An entry whose growth has changed since has a newer one.
      if (done_[d] || growth != growth_[d]) continue;
      done_[d] = 1;
      order.push_back(d);
      execute(d);
    }
    return order;
  }

 private:
  std::int64_t bytes(NodeId id) const {
    return graph_.op(id).is(Traits::source) ? 0 : graph_.type(id).bytes();
  }
  void add(std::uint32_t d) {
    const Draft& draft = drafts_.list[d];
    for (NodeId id : draft.reads) {
      ++readers_[id];
      reader_[id] ^= d;  // when one reader is left, this is it
    }
    for (NodeId id : draft.writes) growth_[d] += bytes(id);
    waiting_[d] = static_cast<std::uint32_t>(draft.needs.size());
    for (std::uint32_t need : draft.needs) users_[need].push_back(d);
  }
  void offer(std::uint32_t d) {
    if (waiting_[d] == 0) ready_.emplace(growth_[d], drafts_.list[d].last_node, d);
  }
  void execute(std::uint32_t d) {
    for (NodeId id : drafts_.list[d].reads) {
      reader_[id] ^= d;
      if (--readers_[id] != 1) continue;
      growth_[reader_[id]] -= bytes(id);
      offer(reader_[id]);
    }
    for (std::uint32_t user : users_[d]) {
      --waiting_[user];
      offer(user);
    }
  }

  using Entry = std::tuple<std::int64_t, NodeId, std::uint32_t>;

  const Graph& graph_;
  const Drafts& drafts_;
  std::vector<std::uint32_t> readers_, reader_;  // per value: steps that still have to read it
  std::vector<std::int64_t> growth_;             // per step: bytes written less bytes freed
  std::vector<std::uint32_t> waiting_;
  std::vector<std::vector<std::uint32_t>> users_;
  std::vector<char> done_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready_;
};

// What a wanted step needs comes right before it.
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

  Order best = creation_order(drafts);
  std::int64_t least = peak_bytes(graph, drafts, best);
  for (Order order : {GreedyOrder(graph, drafts).run(), depth_first_order(drafts, ends)}) {
    const std::int64_t peak = peak_bytes(graph, drafts, order);
    if (peak >= least) continue;
    least = peak;
    best = std::move(order);
  }
  return best;
}

}  // namespace whorl
