#include "engine/fusion.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>

#include "engine/ops/reduction.hpp"
#include "engine/plan.hpp"

namespace whorl {

namespace {

// More values than this alive at once, on tiles of a useful size, would not stay in the cache.
constexpr int max_live = 40;
// Loops shorter than this are one tile anyway and may be as wide as they like.
constexpr std::int64_t small_loop = 1024;

class Fusion {
 public:
  Fusion(const Graph& graph, const Aliases& aliases, const std::vector<char>& needed)
      : graph_(graph),
        aliases_(aliases),
        needed_(needed),
        level_(graph.size(), 0),
        parent_(graph.size()) {
    std::iota(parent_.begin(), parent_.end(), NodeId{0});
  }

  Grouping run(bool fuse) {
    grouping_.home.assign(graph_.size(), Grouping::none);
    if (fuse) {
      assign_earliest_levels();
      move_to_readers();
      connect();
    }
    collect();
    if (fuse) attach_sinks();
    place_generators(fuse);
    for (Group& group : grouping_.groups) {
      std::sort(group.nodes.begin(), group.nodes.end());
      if (group.row == 0) group.row = group.elements;
    }
    return std::move(grouping_);
  }

 private:
  bool is_step(NodeId id) const {
    return needed_[id] && !aliases_.is_alias(id) && !graph_.op(id).is(Traits::source) &&
           graph_.type(id).elements() > 0;
  }
  bool elementwise(NodeId id) const {
    return is_step(id) && graph_.op(id).is(Traits::elementwise) && has_tile(id);
  }
  bool generator(NodeId id) const { return is_step(id) && graph_.op(id).is(Traits::generator); }
  bool has_tile(NodeId id) const {
    const auto& tile = graph_.op(id).tile;
    return std::any_of(tile.begin(), tile.end(), [](TileKernel k) { return k != nullptr; });
  }
  // A sum of whole rows, which a loop can make on its way.
  bool row_sum(NodeId id) const {
    if (!is_step(id) || !graph_.op(id).is(Traits::sums)) return false;
    const Type& from = graph_.type(graph_.inputs(id)[0]);
    // The kernel's own view: what it would not add as rows has another order of addition.
    const Site site{&graph_.op(id), {&from, 1}, graph_.attributes(id), graph_.type(id)};
    if (!ReductionLoops(site).contiguous) return false;
    return is_float(graph_.type(id).dtype) && from.elements() > 0;
  }

  // How far the level rises on the edge into input k of node id.
  std::int32_t rise(NodeId id, std::size_t k) const {
    if (!elementwise(id)) return 0;
    const bool inside = elementwise(aliases_.root(graph_.inputs(id)[k])) &&
                        reads_elementwise(graph_, aliases_, id, k);
    return inside ? 0 : 1;
  }

  void assign_earliest_levels() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!needed_[id]) continue;
      // Sources, and generators that read nothing else, can stand anywhere.
      if (graph_.op(id).is(Traits::source) || generator(id)) level_[id] = -1;
      const auto inputs = graph_.inputs(id);
      for (std::size_t k = 0; k < inputs.size(); ++k)
        level_[id] = std::max(level_[id], level_[aliases_.root(inputs[k])] + rise(id, k));
    }
  }

  // A value that is first read much later is better made there, from what is alive anyway: the
  // derivative 1 - y*y of a tanh belongs to the backward loop, which reads y too. Nodes move to the
  // latest level that their readers allow, except where that would keep more values alive.
  void move_to_readers() {
    constexpr std::int32_t unread = std::numeric_limits<std::int32_t>::max();
    std::vector<std::int32_t> latest(graph_.size(), unread);  // that the readers allow
    std::vector<std::int32_t> last_read(graph_.size(), -1);
    for (const auto& output : graph_.outputs()) {
      const NodeId root = aliases_.root(output.node);
      latest[root] = level_[root];
    }
    for (NodeId id = static_cast<NodeId>(graph_.size()); id-- > 0;) {
      if (!needed_[id] || aliases_.is_alias(id)) continue;
      if (latest[id] != unread && (!elementwise(id) || pays(id, latest[id], last_read)))
        level_[id] = latest[id];
      const auto inputs = graph_.inputs(id);
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        const NodeId from = aliases_.root(inputs[k]);
        latest[from] = std::min(latest[from], level_[id] - rise(id, k));
        last_read[from] = std::max(last_read[from], level_[id]);
      }
    }
  }

  // Whether making `id` at a later level keeps no more values alive than it saves: at most one of
  // its inputs would be waiting for it alone.
  bool pays(NodeId id, std::int32_t level, const std::vector<std::int32_t>& last_read) const {
    NodeId waiting = id;
    for (NodeId in : graph_.inputs(id)) {
      const NodeId from = aliases_.root(in);
      const bool free = graph_.op(from).is(Traits::source) || generator(from);
      if (free || from == waiting || last_read[from] >= level) continue;
      if (waiting != id) return false;
      waiting = from;
    }
    return true;
  }

  NodeId find(NodeId id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }
  void unite(NodeId a, NodeId b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

  // Joins element-to-element neighbours, and loops of one level that read the same whole value.
  void connect() {
    std::map<std::pair<NodeId, std::int32_t>, NodeId> first_reader;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!elementwise(id)) continue;
      const auto inputs = graph_.inputs(id);
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        const NodeId from = aliases_.root(inputs[k]);
        if (generator(from) || !reads_elementwise(graph_, aliases_, id, k)) continue;
        if (elementwise(from) && level_[from] == level_[id]) unite(from, id);
        // Sources are read by everybody: sharing one is no reason to run together.
        if (graph_.op(from).is(Traits::source)) continue;
        const auto [reader, fresh] = first_reader.try_emplace({from, level_[id]}, id);
        if (!fresh) unite(reader->second, id);
      }
    }
  }

  std::int32_t open_group(std::int64_t elements) {
    grouping_.groups.push_back({{}, {}, elements, 0});
    return static_cast<std::int32_t>(grouping_.groups.size() - 1);
  }

  void collect() {
    std::unordered_map<NodeId, std::vector<NodeId>> members;
    std::vector<NodeId> order;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!elementwise(id)) continue;
      auto& list = members[find(id)];
      if (list.empty()) order.push_back(find(id));
      list.push_back(id);
    }
    for (NodeId key : order) split(members[key]);
  }

  // Cuts a component where too many values would be alive; ids order the pieces, so they depend on
  // each other forwards only.
  void split(const std::vector<NodeId>& members) {
    const std::int64_t elements = graph_.type(members[0]).elements();
    if (elements <= small_loop || static_cast<int>(members.size()) <= max_live) {
      const std::int32_t group = open_group(elements);
      for (NodeId id : members) add(group, id);
      return;
    }
    std::unordered_map<NodeId, NodeId> last_use;
    for (NodeId id : members)
      for (NodeId in : graph_.inputs(id)) last_use[aliases_.root(in)] = id;
    std::int32_t group = open_group(elements);
    std::vector<NodeId> live;
    for (NodeId id : members) {
      add(group, id);
      std::erase_if(live, [&](NodeId value) { return last_use[value] <= id; });
      if (last_use.contains(id)) live.push_back(id);
      if (static_cast<int>(live.size()) > max_live && id != members.back()) {
        group = open_group(elements);
        live.clear();
      }
    }
  }

  void add(std::int32_t group, NodeId id) {
    grouping_.groups[static_cast<std::size_t>(group)].nodes.push_back(id);
    grouping_.home[id] = group;
  }

  void attach_sinks() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!row_sum(id) || !reads_elementwise(graph_, aliases_, id, 0)) continue;
      const NodeId from = aliases_.root(graph_.inputs(id)[0]);
      if (!elementwise(from)) continue;
      Group& group = grouping_.groups[static_cast<std::size_t>(grouping_.home[from])];
      const std::int64_t row = group.elements / graph_.type(id).elements();
      if ((group.row != 0 && group.row != row) || group.sinks.size() == max_sinks) continue;
      group.row = row;
      group.sinks.push_back(id);
      grouping_.home[id] = grouping_.home[from];
    }
  }

  // Generators are made inside every loop that reads them; those that others read, or that are dear
  // and read by several loops, are also loops of their own.
  void place_generators(bool fuse) {
    std::vector<std::vector<std::int32_t>> readers(graph_.size());
    std::vector<char> read_elsewhere(graph_.size(), 0);
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!needed_[id] || aliases_.is_alias(id)) continue;
      const auto inputs = graph_.inputs(id);
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        const NodeId from = aliases_.root(inputs[k]);
        if (!generator(from)) continue;
        const std::int32_t home = grouping_.home[id];
        const bool in_loop = fuse && home != Grouping::none && !is_sink(home, id) &&
                             reads_elementwise(graph_, aliases_, id, k);
        if (!in_loop) {
          read_elsewhere[from] = 1;
        } else if (readers[from].empty() || readers[from].back() != home) {
          readers[from].push_back(home);
        }
      }
    }
    for (const auto& output : graph_.outputs()) read_elsewhere[aliases_.root(output.node)] = 1;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!generator(id)) continue;
      auto& loops = readers[id];
      std::sort(loops.begin(), loops.end());
      loops.erase(std::unique(loops.begin(), loops.end()), loops.end());
      const bool dear = graph_.op(id).is(Traits::random) && loops.size() > 1;
      if (read_elsewhere[id] || dear) add(open_group(graph_.type(id).elements()), id);
      if (dear) continue;
      for (std::int32_t loop : loops)
        grouping_.groups[static_cast<std::size_t>(loop)].nodes.push_back(id);
    }
  }
  bool is_sink(std::int32_t group, NodeId id) const {
    const auto& sinks = grouping_.groups[static_cast<std::size_t>(group)].sinks;
    return std::find(sinks.begin(), sinks.end(), id) != sinks.end();
  }

  const Graph& graph_;
  const Aliases& aliases_;
  const std::vector<char>& needed_;
  std::vector<std::int32_t> level_;
  std::vector<NodeId> parent_;
  Grouping grouping_;
};

}  // namespace

bool reads_elementwise(const Graph& graph, const Aliases& aliases, NodeId id, std::size_t k) {
  const NodeId in = graph.inputs(id)[k];
  const NodeId root = aliases.root(in);
  const std::int64_t elements = graph.type(in).elements();
  if (aliases.offset(in) != 0 || graph.type(root).elements() != elements) return false;
  return graph.op(id).is(Traits::elementwise) || graph.op(id).is(Traits::sums);
}

Grouping group_elementwise(const Graph& graph, const Aliases& aliases,
                           const std::vector<char>& needed, bool fuse) {
  return Fusion(graph, aliases, needed).run(fuse);
}

}  // namespace whorl
