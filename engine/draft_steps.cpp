#include <algorithm>

#include "engine/planner.hpp"

namespace whorl {

namespace {

class Drafter {
 public:
  Drafter(const Graph& graph, const Aliases& aliases, const Grouping& grouping,
          const std::vector<char>& needed)
      : graph_(graph), aliases_(aliases), grouping_(grouping), needed_(needed) {}

  Drafts run() {
    drafts_.materialised.assign(graph_.size(), 0);
    drafts_.maker.assign(graph_.size(), 0);
    read_stamp_.assign(graph_.size(), 0);
    mark_materialised();
    for (std::uint32_t g = 0; g < grouping_.groups.size(); ++g) add_loop(g);
    for (NodeId id = 0; id < graph_.size(); ++id)
      if (is_single(id)) add_single(id);
    add_copies();
    link();
    return std::move(drafts_);
  }

 private:
  bool has_step(NodeId id) const {
    return needed_[id] && !aliases_.is_alias(id) && !graph_.op(id).is(Traits::source) &&
           graph_.type(id).elements() > 0;
  }
  bool is_single(NodeId id) const {
    return has_step(id) && grouping_.home[id] == Grouping::none &&
           !graph_.op(id).is(Traits::generator);
  }
  bool is_source(NodeId id) const { return graph_.op(id).is(Traits::source); }

  // Whether group `g` makes `id` itself, for everybody or for its own use.
  bool made_in(std::int32_t g, NodeId id) const {
    if (g == Grouping::none) return false;
    const auto& nodes = grouping_.groups[static_cast<std::size_t>(g)].nodes;
    return std::binary_search(nodes.begin(), nodes.end(), id);
  }

  void mark_materialised() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!has_step(id)) continue;
      const auto inputs = graph_.inputs(id);
      // Reads from inside a loop: generators read whole values, so theirs never are.
      const std::int32_t home =
          graph_.op(id).is(Traits::generator) ? Grouping::none : grouping_.home[id];
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        const NodeId from = aliases_.root(inputs[k]);
        const bool inside = made_in(home, from) && reads_elementwise(graph_, aliases_, id, k);
        if (!inside && !is_source(from)) drafts_.materialised[from] = 1;
      }
    }
    // A value that is made again is made of what is in memory, or in that loop.
    for (std::size_t g = 0; g < grouping_.groups.size(); ++g) {
      const auto own = static_cast<std::int32_t>(g);
      for (NodeId id : grouping_.groups[g].nodes) {
        if (grouping_.home[id] == own) continue;
        const auto inputs = graph_.inputs(id);
        for (std::size_t k = 0; k < inputs.size(); ++k) {
          const NodeId from = aliases_.root(inputs[k]);
          const bool inside = made_in(own, from) && reads_elementwise(graph_, aliases_, id, k);
          if (!inside && !is_source(from)) drafts_.materialised[from] = 1;
        }
      }
    }
    for (const auto& output : graph_.outputs()) {
      const NodeId root = aliases_.root(output.node);
      if (!is_source(root)) drafts_.materialised[root] = 1;
    }
    for (NodeId id = 0; id < graph_.size(); ++id)
      if (graph_.type(id).elements() == 0) drafts_.materialised[id] = 0;
  }

  // Each value once, in the order of first reading, which the depth-first order follows.
  void read(Draft& draft, NodeId in) {
    const NodeId root = aliases_.root(in);
    const auto stamp = static_cast<std::uint32_t>(drafts_.list.size() + 1);
    if (graph_.type(root).elements() == 0 || read_stamp_[root] == stamp) return;
    read_stamp_[root] = stamp;
    draft.reads.push_back(root);
  }
  void write(Draft& draft, NodeId id) {
    draft.writes.push_back(id);
    drafts_.maker[id] = static_cast<std::uint32_t>(drafts_.list.size());
  }

  void add_loop(std::uint32_t g) {
    const Group& group = grouping_.groups[g];
    Draft draft{PlanStep::Kind::loop, g, 0, 0, {}, {}, {}, group.nodes.back()};
    for (NodeId id : group.nodes) {
      const auto inputs = graph_.inputs(id);
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        const bool inside = made_in(static_cast<std::int32_t>(g), aliases_.root(inputs[k])) &&
                            reads_elementwise(graph_, aliases_, id, k);
        if (!inside) read(draft, inputs[k]);
      }
      if (drafts_.materialised[id] && grouping_.home[id] == static_cast<std::int32_t>(g))
        write(draft, id);
    }
    for (NodeId id : group.sinks) {
      write(draft, id);
      drafts_.materialised[id] = 1;
      draft.last_node = std::max(draft.last_node, id);
    }
    drafts_.list.push_back(std::move(draft));
  }

  void add_single(NodeId id) {
    Draft draft{PlanStep::Kind::single, 0, id, 0, {}, {}, {}, id};
    for (NodeId in : graph_.inputs(id)) read(draft, in);
    drafts_.materialised[id] = 1;
    write(draft, id);
    drafts_.list.push_back(std::move(draft));
  }

  // A value that is computed whole, for one output, is written straight to it.
  void add_copies() {
    std::vector<char> taken(graph_.size(), 0);
    const auto last = static_cast<NodeId>(graph_.size());
    for (std::uint32_t i = 0; i < graph_.outputs().size(); ++i) {
      const NodeId id = graph_.outputs()[i].node;
      const NodeId root = aliases_.root(id);
      const bool whole = graph_.type(root).bytes() == graph_.type(id).bytes();
      const bool direct = !is_source(root) && whole && !taken[root];
      drafts_.direct_output.push_back(direct);
      if (direct) {
        taken[root] = 1;
      } else if (graph_.type(id).elements() > 0) {
        drafts_.list.push_back({PlanStep::Kind::copy, 0, id, i, {root}, {}, {}, last});
      }
    }
  }

  void link() {
    std::vector<std::uint32_t> stamp(drafts_.list.size(), 0);
    for (std::uint32_t d = 0; d < drafts_.list.size(); ++d) {
      Draft& draft = drafts_.list[d];
      for (NodeId in : draft.reads) {
        const std::uint32_t need = drafts_.maker[in];
        if (is_source(in) || stamp[need] == d + 1) continue;
        stamp[need] = d + 1;
        draft.needs.push_back(need);
      }
    }
  }

  const Graph& graph_;
  const Aliases& aliases_;
  const Grouping& grouping_;
  const std::vector<char>& needed_;
  std::vector<std::uint32_t> read_stamp_;  // per node: 1 + the draft that read it last
  Drafts drafts_;
};

}  // namespace

Drafts draft_steps(const Graph& graph, const Aliases& aliases, const Grouping& grouping,
                   const std::vector<char>& needed) {
  return Drafter(graph, aliases, grouping, needed).run();
}

}  // namespace whorl
