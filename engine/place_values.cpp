#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "engine/arena.hpp"
#include "engine/planner.hpp"

namespace whorl {

namespace {

class Placement {
 public:
  Placement(Plan& plan, const Drafts& drafts, const std::vector<std::uint32_t>& order,
            const std::vector<std::uint32_t>& slot_of)
      : plan_(plan),
        drafts_(drafts),
        order_(order),
        slot_of_(slot_of),
        last_(plan.graph.size(), 0),
        gone_(plan.graph.size(), 0) {}

  // All steps of a stage get their memory before any of it is given back.
  std::int64_t run() {
    for (std::uint32_t s = 0; s < plan_.stages.size(); ++s)
      for (std::uint32_t at = plan_.stages[s].first; at < plan_.stages[s].last; ++at) {
        for (NodeId id : draft(at).reads) last_[id] = s;
        for (NodeId id : draft(at).writes) last_[id] = s;
      }
    for (std::uint32_t s = 0; s < plan_.stages.size(); ++s) {
      const Stage& stage = plan_.stages[s];
      for (std::uint32_t at = stage.first; at < stage.last; ++at) take(at, s);
      for (std::uint32_t at = stage.first; at < stage.last; ++at) give_back(at, s);
    }
    return arena_.size();
  }

 private:
  const Draft& draft(std::uint32_t at) const { return drafts_.list[order_[at]]; }

  void take(std::uint32_t at, std::uint32_t stage) {
    if (plan_.steps[at].kind == PlanStep::Kind::loop) index(plan_.loops[plan_.steps[at].index]);
    for (NodeId id : draft(at).writes) {
      Slot& slot = plan_.slots[slot_of_[id]];
      if (slot.kind != Slot::Kind::arena) continue;
      const NodeId dying = in_place_of(id, at, stage);
      if (dying != id) {
        slot.at = plan_.slots[slot_of_[dying]].at;
        gone_[dying] = 1;
      } else {
        slot.at = arena_.take(slot.bytes);
      }
    }
    const std::uint32_t scratch = plan_.steps[at].scratch;
    if (scratch != Operand::temporary)
      plan_.slots[scratch].at = arena_.take(plan_.slots[scratch].bytes);
  }

  void give_back(std::uint32_t at, std::uint32_t stage) {
    for (const auto* list : {&draft(at).reads, &draft(at).writes})
      for (NodeId id : *list) {
        if (last_[id] != stage || gone_[id]) continue;
        gone_[id] = 1;
        const Slot& slot = plan_.slots[slot_of_[id]];
        if (slot.kind == Slot::Kind::arena) arena_.give_back(slot.at, slot.bytes);
      }
    const std::uint32_t scratch = plan_.steps[at].scratch;
    if (scratch != Operand::temporary)
      arena_.give_back(plan_.slots[scratch].at, plan_.slots[scratch].bytes);
  }

  // A value that loop `at` reads for the last time, element by element, and not after it has made
  // `id`: `id` can be written over it. Returns `id` itself when there is none.
  NodeId in_place_of(NodeId id, std::uint32_t at, std::uint32_t stage) const {
    const PlanStep& step = plan_.steps[at];
    // Loops that read very many values are small graphs, which are not worth the search.
    if (step.kind != PlanStep::Kind::loop || draft(at).reads.size() > 64) return id;
    if (has_planes_.contains(id)) return id;
    for (NodeId candidate : draft(at).reads) {
      if (plan_.graph.op(candidate).is(Traits::source) || gone_[candidate]) continue;
      const Slot& slot = plan_.slots[slot_of_[candidate]];
      if (last_[candidate] != stage || slot.kind != Slot::Kind::arena) continue;
      if (slot.bytes == plan_.slots[slot_of_[id]].bytes && overwritable(slot_of_[candidate], id) &&
          only_reader(candidate, at, plan_.stages[stage]))
        return candidate;
    }
    return id;
  }

  bool only_reader(NodeId id, std::uint32_t at, const Stage& stage) const {
    for (std::uint32_t other = stage.first; other < stage.last; ++other) {
      const auto& reads = draft(other).reads;
      if (other != at && std::find(reads.begin(), reads.end(), id) != reads.end()) return false;
    }
    return true;
  }

  // How a loop uses memory, indexed once: loops can be long, and write many values.
  struct Use {
    std::size_t last_read = 0;
    std::int32_t stride = 0;
    bool plain = true;  // read element by element from its first byte on, by kernels alone
  };
  void index(const Loop& loop) {
    uses_.clear();
    made_at_.clear();
    has_planes_.clear();
    std::size_t at = 0;
    for (const auto* list : {&loop.prologue, &loop.body})
      for (const Instruction& instruction : *list) {
        for (const Operand& input : instruction.inputs) {
          const auto [use, fresh] = uses_.try_emplace(input.slot, Use{at, input.stride, true});
          use->second.plain =
              use->second.plain && input.offset == 0 && input.stride == use->second.stride;
          use->second.last_read = at;
        }
        made_at_[instruction.node] = at++;
        if (instruction.plane > 0) has_planes_.insert(instruction.node);
      }
    for (const Sink& sink : loop.sinks) uses_[sink.input.slot].plain = false;
  }

  // A kernel may read what it writes over; later ones may not. A sink's own value is written after
  // the loop, and is never made in place.
  bool overwritable(std::uint32_t slot, NodeId id) const {
    const auto made = made_at_.find(id);
    const auto use = uses_.find(slot);
    if (made == made_at_.end() || use == uses_.end() || !use->second.plain) return false;
    const auto width = static_cast<std::int32_t>(size_of(plan_.graph.type(id).dtype));
    return use->second.stride == width && use->second.last_read <= made->second;
  }

  Plan& plan_;
  const Drafts& drafts_;
  const std::vector<std::uint32_t>& order_;
  const std::vector<std::uint32_t>& slot_of_;
  Arena arena_;
  std::vector<std::uint32_t> last_;  // per value: the last stage that reads or writes it
  std::vector<char> gone_;           // per value: its place went to another value, or back
  // Of the loop whose memory is being taken.
  std::unordered_map<std::uint32_t, Use> uses_;
  std::unordered_map<NodeId, std::size_t> made_at_;
  std::unordered_set<NodeId> has_planes_;
};

}  // namespace

std::int64_t place_values(Plan& plan, const Drafts& drafts, const std::vector<std::uint32_t>& order,
                          const std::vector<std::uint32_t>& slot_of) {
  return Placement(plan, drafts, order, slot_of).run();
}

}  // namespace whorl
