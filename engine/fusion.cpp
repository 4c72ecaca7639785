#include "engine/fusion.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "engine/ops/reduction.hpp"
#include "engine/plan.hpp"

namespace whorl {

namespace {

// More values than this alive at once, on tiles of a useful size, would not stay in the cache.
constexpr int max_live = 40;
// Loops shorter than this are one tile anyway and may be as wide as they like.
constexpr std::int64_t small_loop = 1024;

// The most ops that a loop does instead of reading a value.
constexpr std::size_t most_made_again = 6;

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
      find_followers();
      move_to_readers();
      move_loops_to_readers();
      place_followers();
      connect();
      connect_followers();
    }
    collect();
    if (fuse) attach_sinks();
    if (fuse) make_again();
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
    return is_step(id) &&
           ((graph_.op(id).is(Traits::elementwise) && has_tile(id)) || aliases_.planes(id) > 0);
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
      if (!needed_[id] || aliases_.is_alias(id) || follower_[id]) continue;
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

  // The same for whole loops, whose nodes wait for each other: all of them move when the values
  // that would then wait for the loop have fewer elements than those that now leave it.
  void move_loops_to_readers() {
    std::vector<std::vector<NodeId>> readers(graph_.size());
    std::vector<std::int32_t> last_read(graph_.size(), -1);
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!needed_[id] || aliases_.is_alias(id)) continue;
      const auto inputs = graph_.inputs(id);
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        const NodeId from = aliases_.root(inputs[k]);
        readers[from].push_back(id);
        last_read[from] = std::max(last_read[from], level_[id]);
        const bool inside = elementwise(id) && elementwise(from) && level_[from] == level_[id] &&
                            !generator(from) && reads_elementwise(graph_, aliases_, id, k);
        if (inside) unite(from, id);
      }
    }
    std::map<NodeId, std::vector<NodeId>> loops;
    for (NodeId id = 0; id < graph_.size(); ++id)
      if (elementwise(id) && !follower_[id]) loops[find(id)].push_back(id);
    std::vector<char> wanted(graph_.size(), 0);
    for (const auto& output : graph_.outputs()) wanted[aliases_.root(output.node)] = 1;
    std::vector<NodeId> order;
    for (const auto& [key, nodes] : loops) order.push_back(key);
    std::sort(order.begin(), order.end(), [&](NodeId a, NodeId b) {
      return level_[a] != level_[b] ? level_[a] > level_[b] : a > b;
    });
    for (NodeId key : order) {
      const std::vector<NodeId>& nodes = loops[key];
      const std::int32_t level = level_[nodes[0]];
      const std::int32_t later = level_of_readers(nodes, readers, wanted);
      if (later <= level || later == std::numeric_limits<std::int32_t>::max()) continue;
      if (waiting_elements(nodes, later, last_read) > leaving_elements(nodes, readers)) continue;
      for (NodeId id : nodes) {
        level_[id] = later;
        for (NodeId in : graph_.inputs(id)) {
          const NodeId from = aliases_.root(in);
          last_read[from] = std::max(last_read[from], later);
        }
      }
    }
    std::iota(parent_.begin(), parent_.end(), NodeId{0});
  }

  // The latest level that the readers outside allow a loop.
  std::int32_t level_of_readers(const std::vector<NodeId>& nodes,
                                const std::vector<std::vector<NodeId>>& readers,
                                const std::vector<char>& wanted) {
    std::int32_t latest = std::numeric_limits<std::int32_t>::max();
    for (NodeId id : nodes) {
      if (wanted[id]) return level_[id];
      for (NodeId reader : readers[id]) {
        if (follower_[reader] || find(reader) == find(id)) continue;
        const auto inputs = graph_.inputs(reader);
        for (std::size_t k = 0; k < inputs.size(); ++k)
          if (aliases_.root(inputs[k]) == id)
            latest = std::min(latest, level_[reader] - rise(reader, k));
      }
    }
    return latest;
  }

  std::int64_t leaving_elements(const std::vector<NodeId>& nodes,
                                const std::vector<std::vector<NodeId>>& readers) {
    std::int64_t total = 0;
    for (NodeId id : nodes)
      for (NodeId reader : readers[id])
        if (!follower_[reader] && find(reader) != find(id)) {
          total += graph_.type(id).elements();
          break;
        }
    return total;
  }

  std::int64_t waiting_elements(const std::vector<NodeId>& nodes, std::int32_t level,
                                const std::vector<std::int32_t>& last_read) {
    std::set<NodeId> waiting;
    for (NodeId id : nodes)
      for (NodeId in : graph_.inputs(id)) {
        const NodeId from = aliases_.root(in);
        const bool free = graph_.op(from).is(Traits::source) || generator(from);
        const bool inside = elementwise(from) && find(from) == find(id);
        if (!free && !inside && last_read[from] < level) waiting.insert(from);
      }
    std::int64_t total = 0;
    for (NodeId id : waiting) total += graph_.type(id).elements();
    return total;
  }

  // Followers: totals that are outputs, and what is made for them alone, such as the means that
  // tell how a run goes. They do not say where a loop belongs; they go along with the loops that
  // read the same.
  void find_followers() {
    follower_.assign(graph_.size(), 0);
    std::vector<char> total(graph_.size(), 0);  // small, and made of sums over much
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!needed_[id] || graph_.type(id).elements() > small_loop) continue;
      for (NodeId in : graph_.inputs(id))
        total[id] |= total[in] ||
                     (graph_.op(id).is(Traits::sums) && graph_.type(in).elements() > small_loop);
    }
    std::vector<char> leads(graph_.size(), 0);  // has a reader that is no follower
    for (const auto& output : graph_.outputs()) {
      const NodeId root = aliases_.root(output.node);
      leads[root] |= !total[root];
    }
    for (NodeId id = static_cast<NodeId>(graph_.size()); id-- > 0;) {
      if (!needed_[id]) continue;
      follower_[id] = !leads[id] && may_follow(id);
      for (NodeId in : graph_.inputs(id)) leads[in] |= !follower_[id];
    }
  }

  // Elementwise ops, sums, and whatever reads little; not products and the like.
  bool may_follow(NodeId id) const {
    if (graph_.op(id).is(Traits::source) || graph_.type(id).elements() == 0) return false;
    if (elementwise(id) || generator(id) || aliases_.is_alias(id)) return true;
    if (graph_.op(id).is(Traits::sums)) return true;
    std::int64_t read = 0;
    for (NodeId in : graph_.inputs(id)) read += graph_.type(in).elements();
    return read <= small_loop;
  }

  // A follower is made where the last of the others reads what it reads, so that nothing waits for
  // it; what reads a follower comes when that is there.
  void place_followers() {
    std::vector<std::int32_t> last_read(graph_.size(), -1);
    for (NodeId id = 0; id < graph_.size(); ++id)
      if (needed_[id] && !follower_[id] && elementwise(id))
        for (NodeId in : graph_.inputs(id)) {
          const NodeId from = aliases_.root(in);
          last_read[from] = std::max(last_read[from], level_[id]);
        }
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!needed_[id] || !follower_[id]) continue;
      const auto inputs = graph_.inputs(id);
      std::int32_t together = std::numeric_limits<std::int32_t>::max();
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        const NodeId from = aliases_.root(inputs[k]);
        level_[id] = std::max(level_[id], level_[from] + rise(id, k));
        if (!generator(from) && !follower_[from] && elementwise(id))
          together = std::min(together, last_read[from]);
      }
      if (together != std::numeric_limits<std::int32_t>::max())
        level_[id] = std::max(level_[id], together);
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

  // Followers that read sources alone go to a loop of others that reads one of them.
  void connect_followers() {
    std::map<std::pair<NodeId, std::int32_t>, NodeId> reader;
    const auto each_source = [&](NodeId id, auto&& visit) {
      const auto inputs = graph_.inputs(id);
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        const NodeId from = aliases_.root(inputs[k]);
        if (graph_.op(from).is(Traits::source) && graph_.type(from).elements() > small_loop &&
            reads_elementwise(graph_, aliases_, id, k))
          visit(std::pair{from, level_[id]});
      }
    };
    for (NodeId id = 0; id < graph_.size(); ++id)
      if (elementwise(id) && !follower_[id])
        each_source(id, [&](const auto& key) { reader.try_emplace(key, id); });
    for (NodeId id = 0; id < graph_.size(); ++id)
      if (elementwise(id) && follower_[id])
        each_source(id, [&](const auto& key) {
          if (const auto found = reader.find(key); found != reader.end()) unite(found->second, id);
        });
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
    const std::int64_t elements = loop_elements(graph_, aliases_, members[0]);
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

  // Values of other loops that a loop can make itself, by few cheap ops, of what it reads or makes
  // anyway: of the forward pass, the backward pass then reads little more than what products and
  // networks gave.
  void make_again() {
    std::vector<Type> types;
    std::set<NodeId> read, again;  // by the loop from other loops; made again in it
    for (std::size_t g = 0; g < grouping_.groups.size(); ++g) {
      Group& group = grouping_.groups[g];
      if (group.elements <= small_loop) continue;
      const auto own = static_cast<std::int32_t>(g);
      read.clear();
      again.clear();
      for (NodeId id : group.nodes) {
        const auto inputs = graph_.inputs(id);
        for (std::size_t k = 0; k < inputs.size(); ++k) {
          const NodeId from = aliases_.root(inputs[k]);
          if (grouping_.home[from] != own && reads_elementwise(graph_, aliases_, id, k))
            read.insert(from);
        }
      }
      const auto at_hand = [&](NodeId id, std::size_t k) {
        const NodeId from = aliases_.root(graph_.inputs(id)[k]);
        if (graph_.op(from).is(Traits::source)) return true;
        if (generator(from)) return !graph_.op(from).is(Traits::random) || read.contains(from);
        return reads_elementwise(graph_, aliases_, id, k) &&
               (read.contains(from) || again.contains(from) || grouping_.home[from] == own);
      };
      const auto cheap = [&](NodeId id) {
        if (!elementwise(id) || aliases_.planes(id) > 0) return false;
        return graph_.op(id).flops(site_of(graph_, id, types)) <=
               static_cast<double>(group.elements);
      };
      // What has to be made for `id`, itself included; empty when that is too much.
      const auto needed_for = [&](NodeId wanted) {
        std::vector<NodeId> made{wanted};
        for (std::size_t next = 0; next < made.size(); ++next) {
          const NodeId id = made[next];
          if (made.size() > most_made_again || !cheap(id)) return std::vector<NodeId>{};
          for (std::size_t k = 0; k < graph_.inputs(id).size(); ++k) {
            const NodeId from = aliases_.root(graph_.inputs(id)[k]);
            if (at_hand(id, k) || std::find(made.begin(), made.end(), from) != made.end()) continue;
            if (!reads_elementwise(graph_, aliases_, id, k)) return std::vector<NodeId>{};
            made.push_back(from);
          }
        }
        return made;
      };
      // From the last one on: what made it is then looked at in its turn.
      for (auto at = read.end(); at != read.begin();) {
        const NodeId id = *--at;
        const std::vector<NodeId> list = needed_for(id);
        if (list.empty()) continue;
        for (NodeId one : list) {
          if (again.insert(one).second) group.nodes.push_back(one);
        }
        at = read.erase(at);
      }
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
    for (std::size_t g = 0; g < grouping_.groups.size(); ++g) {
      for (NodeId id : grouping_.groups[g].nodes) {
        if (grouping_.home[id] == static_cast<std::int32_t>(g)) continue;
        for (NodeId in : graph_.inputs(id)) {
          const NodeId from = aliases_.root(in);
          if (generator(from)) readers[from].push_back(static_cast<std::int32_t>(g));
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
  std::vector<char> follower_;
  std::vector<NodeId> parent_;
  Grouping grouping_;
};

}  // namespace

bool reads_elementwise(const Graph& graph, const Aliases& aliases, NodeId id, std::size_t k) {
  const NodeId in = graph.inputs(id)[k];
  const NodeId root = aliases.root(in);
  const std::int64_t elements = graph.type(in).elements();
  if (loop_elements(graph, aliases, root) != elements) return false;
  const auto bytes = elements * static_cast<std::int64_t>(size_of(graph.type(root).dtype));
  if (aliases.offset(in) != plane_of(graph, aliases, in) * bytes) return false;
  if (aliases.planes(id) > 0)
    return k > 0 && graph.type(in).shape == graph.type(id).shape.without_front();
  return graph.op(id).is(Traits::elementwise) || graph.op(id).is(Traits::sums);
}

std::int64_t loop_elements(const Graph& graph, const Aliases& aliases, NodeId id) {
  return graph.type(id).elements() / std::max<std::int64_t>(1, aliases.planes(id));
}

std::int64_t plane_of(const Graph& graph, const Aliases& aliases, NodeId id) {
  const NodeId root = aliases.root(id);
  if (aliases.planes(root) == 0 || graph.type(root).elements() == 0) return 0;
  return aliases.offset(id) / (graph.type(root).bytes() / aliases.planes(root));
}

Grouping group_elementwise(const Graph& graph, const Aliases& aliases,
                           const std::vector<char>& needed, bool fuse) {
  return Fusion(graph, aliases, needed).run(fuse);
}

}  // namespace whorl
