#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "engine/algorithms.hpp"
#include "engine/arena.hpp"
#include "engine/kernels/reduce.hpp"
#include "engine/planner.hpp"

namespace whorl {

namespace {

// A task should be worth about this much, or the scheduler's own work shows.
constexpr double part_nanoseconds = 30e3;
constexpr double parallel_nanoseconds = 20e3;
constexpr std::uint32_t max_parts = 256;
// What the temporaries of a loop may take. Wide loops live in the second-level cache: a tile half
// as long would cost more, because every kernel is called once a tile.
constexpr std::int64_t temporary_budget = 128 * 1024;
constexpr std::int64_t largest_tile = 1024;

// Rough speeds of one core, for cutting work into parts; results do not depend on them.
constexpr double nanoseconds_per_element = 0.2;
constexpr double nanoseconds_per_random = 1.5;
constexpr double flops_per_nanosecond = 30;
constexpr double bytes_per_nanosecond = 8;

class PlanMaker {
 public:
  PlanMaker(Graph graph, bool fuse)
      : plan_(std::make_shared<Plan>()), graph_(plan_->graph), fuse_(fuse) {
    graph_ = std::move(graph);
  }

  std::shared_ptr<Plan> run() {
    const auto needed = needed_for(graph_, output_nodes(graph_));
    const Aliases aliases(graph_);
    const Grouping grouping = group_elementwise(graph_, aliases, needed, fuse_);
    const Drafts drafts = draft_steps(graph_, aliases, grouping, needed);
    aliases_ = &aliases;
    grouping_ = &grouping;
    drafts_ = &drafts;
    add_sources(needed);
    add_outputs();
    add_values();
    const auto order = order_steps(graph_, drafts);
    for (std::uint32_t d : order) add_step(drafts.list[d]);
    add_stages(order);
    plan_->arena_bytes = place_values(*plan_, drafts, order, slot_of_);
    return plan_;
  }

 private:
  static constexpr std::uint32_t no_slot = ~std::uint32_t{0};

  std::uint32_t new_slot(Slot slot) {
    plan_->slots.push_back(slot);
    return static_cast<std::uint32_t>(plan_->slots.size() - 1);
  }

  void add_sources(const std::vector<char>& needed) {
    slot_of_.assign(graph_.size(), no_slot);
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const OpDef& op = graph_.op(id);
      if (!op.is(Traits::source)) continue;
      const std::int64_t bytes = graph_.type(id).bytes();
      if (op.name == "input") {
        const auto index = static_cast<std::int64_t>(plan_->inputs.size());
        slot_of_[id] = new_slot({Slot::Kind::input, index, bytes});
        plan_->inputs.push_back(
            {std::string(graph_.name(id)), graph_.type(id), slot_of_[id], needed[id] != 0});
        plan_->input_index.emplace(graph_.name(id), index);
      } else if (needed[id]) {
        const auto index = static_cast<std::int64_t>(plan_->constants.size());
        slot_of_[id] = new_slot({Slot::Kind::constant, index, bytes});
        plan_->constants.push_back(std::get<Tensor>(graph_.attributes(id).value(0)));
      }
    }
  }

  void add_outputs() {
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      const auto& output = graph_.outputs()[i];
      const Type& type = graph_.type(output.node);
      const std::uint32_t slot =
          new_slot({Slot::Kind::output, static_cast<std::int64_t>(i), type.bytes()});
      plan_->outputs.push_back({output.name, type, slot});
      plan_->output_index.emplace(output.name, i);
      plan_->output_bytes += Arena::rounded(type.bytes());
      if (drafts_->direct_output[i]) slot_of_[aliases_->root(output.node)] = slot;
    }
  }

  void add_values() {
    for (NodeId id = 0; id < graph_.size(); ++id)
      if (drafts_->materialised[id] && slot_of_[id] == no_slot)
        slot_of_[id] = new_slot({Slot::Kind::arena, 0, graph_.type(id).bytes()});
  }

  Site own_site(NodeId id) {
    plan_->types.emplace_back();
    return site_of(graph_, id, plan_->types.back());
  }

  // A value from a slot; stride 0 hands over all of it.
  Operand stored(NodeId id, bool element_by_element) const {
    const NodeId root = aliases_->root(id);
    const auto size = static_cast<std::int32_t>(size_of(graph_.type(id).dtype));
    // A zero-size value has no slot; any address will do.
    const std::uint32_t slot = slot_of_[root] == no_slot ? 0 : slot_of_[root];
    return {slot, element_by_element ? size : 0, aliases_->offset(id)};
  }

  void add_step(const Draft& draft) {
    switch (draft.kind) {
      case PlanStep::Kind::loop:
        return add_loop(draft);
      case PlanStep::Kind::single:
        return add_single(draft.node);
      case PlanStep::Kind::copy:
        return add_copy(draft);
    }
  }

  void add_copy(const Draft& draft) {
    const std::int64_t bytes = graph_.type(draft.node).bytes();
    plan_->copies.push_back(
        {stored(draft.node, false), {plan_->outputs[draft.output].slot, 0, 0}, bytes});
    PlanStep step{PlanStep::Kind::copy, static_cast<std::uint32_t>(plan_->copies.size() - 1)};
    step.bytes = 2.0 * static_cast<double>(bytes);
    step.nanoseconds = step.bytes / bytes_per_nanosecond;
    plan_->steps.push_back(step);
  }

  void add_single(NodeId id) {
    Single single;
    single.site = own_site(id);
    const OpDef& op = graph_.op(id);
    const std::size_t kernel = op.kernel_index(single.site);
    single.kernel = op.forward[kernel];
    single.prepare = op.prepare[kernel];
    single.finish = op.finish[kernel];
    if (single.kernel == nullptr)
      fail(ErrorKind::internal, "compile", "{} has no kernel for {}", graph_.label(id),
           name(static_cast<DType>(kernel)));
    for (NodeId in : graph_.inputs(id)) single.inputs.push_back(stored(in, false));
    single.output = stored(id, false);
    single.units = std::max<std::int64_t>(op.units(single.site), 1);
    single.node = id;
    plan_->max_inputs = std::max(plan_->max_inputs, single.inputs.size());

    PlanStep step{PlanStep::Kind::single, static_cast<std::uint32_t>(plan_->singles.size())};
    step.flops = op.flops(single.site);
    step.bytes = static_cast<double>(graph_.type(id).bytes());
    for (const Type& type : single.site.in) step.bytes += static_cast<double>(type.bytes());
    step.nanoseconds =
        std::max(step.flops / flops_per_nanosecond, step.bytes / bytes_per_nanosecond);
    const auto wanted = static_cast<std::int64_t>(
        std::clamp(step.nanoseconds / part_nanoseconds, 1.0, static_cast<double>(max_parts)));
    const std::int64_t parts = std::min(wanted, single.units);
    single.units_per_part = (single.units + parts - 1) / parts;
    step.parts = static_cast<std::uint32_t>((single.units + single.units_per_part - 1) /
                                            single.units_per_part);
    const std::int64_t scratch = op.scratch(single.site);
    if (scratch > 0) step.scratch = new_slot({Slot::Kind::arena, 0, scratch});
    plan_->singles.push_back(std::move(single));
    plan_->steps.push_back(step);
  }

  void add_loop(const Draft& draft) {
    const Group& group = grouping_->groups[draft.group];
    Loop loop;
    loop.elements = group.elements;
    loop.row = group.row;
    PlanStep step{PlanStep::Kind::loop, static_cast<std::uint32_t>(plan_->loops.size())};
    LoopTemporaries temporaries(*this, group, draft.group);
    double nanoseconds = 0;
    std::unordered_map<NodeId, Operand> made;
    for (std::size_t at = 0; at < group.nodes.size(); ++at) {
      const NodeId id = group.nodes[at];
      Instruction instruction = instruction_for(id, made);
      instruction.output = temporaries.output(at, made);
      made[id] = instruction.output;
      if (aliases_->planes(id) > 0) {
        instruction.plane = group.elements;
        const double flops = graph_.op(id).flops(instruction.site);
        nanoseconds += flops / flops_per_nanosecond / static_cast<double>(group.elements);
        step.flops += flops;
      } else {
        nanoseconds +=
            graph_.op(id).is(Traits::random) ? nanoseconds_per_random : nanoseconds_per_element;
        step.flops += static_cast<double>(group.elements);
      }
      const bool uniform =
          graph_.op(id).uniform(instruction.site) && instruction.output.slot == Operand::temporary;
      (uniform ? loop.prologue : loop.body).push_back(std::move(instruction));
    }
    for (NodeId id : group.sinks) {
      const NodeId from = graph_.inputs(id)[0];
      const Operand input = plane_operand(from, made.at(aliases_->root(from)));
      loop.sinks.push_back({input, stored(id, true), graph_.type(id).dtype, 0, id});
      nanoseconds += nanoseconds_per_element;
    }
    for (const auto* list : {&draft.reads, &draft.writes})
      for (NodeId id : *list) step.bytes += static_cast<double>(graph_.type(id).bytes());
    temporaries.finish(loop);
    cut(loop, step, nanoseconds);
    step.nanoseconds = nanoseconds * static_cast<double>(group.elements);
    plan_->loops.push_back(std::move(loop));
    plan_->steps.push_back(step);
  }

  Instruction instruction_for(NodeId id, const std::unordered_map<NodeId, Operand>& made) {
    Instruction instruction;
    instruction.site = own_site(id);
    const OpDef& op = graph_.op(id);
    const bool has_planes = aliases_->planes(id) > 0;
    instruction.kernel = (has_planes ? op.coordinates : op.tile)[op.kernel_index(instruction.site)];
    instruction.node = id;
    if (instruction.kernel == nullptr)
      fail(ErrorKind::internal, "compile", "{} has no kernel for its dtype", graph_.label(id));
    const auto inputs = graph_.inputs(id);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const bool by_element = has_planes ? has_plane_shape(id, k) : op.is(Traits::elementwise);
      const auto found = made.find(aliases_->root(inputs[k]));
      const bool inside = found != made.end() && reads_elementwise(graph_, *aliases_, id, k);
      instruction.inputs.push_back(inside ? plane_operand(inputs[k], found->second)
                                          : stored(inputs[k], by_element));
    }
    plan_->max_inputs = std::max(plan_->max_inputs, inputs.size());
    return instruction;
  }

  // Whether input k of an op with planes is read over the same range as it makes.
  bool has_plane_shape(NodeId id, std::size_t k) const {
    return k > 0 &&
           graph_.type(graph_.inputs(id)[k]).shape == graph_.type(id).shape.without_front();
  }
  // The operand of the plane that `in` is, where `root` is that of its root. Temporaries are
  // counted until their size is known.
  Operand plane_operand(NodeId in, Operand root) const {
    const std::int64_t plane = plane_of(graph_, *aliases_, in);
    root.offset += root.slot == Operand::temporary ? plane : plane * graph_.type(in).bytes();
    return root;
  }

  // Which temporary each value of a loop gets: reused when nobody reads the old value any more.
  class LoopTemporaries {
   public:
    LoopTemporaries(const PlanMaker& maker, const Group& group, std::uint32_t index)
        : maker_(maker), group_(group), index_(index) {
      for (std::size_t at = 0; at < group.nodes.size(); ++at) {
        const NodeId id = group.nodes[at];
        widest_ = std::max(widest_, size(id));
        for (NodeId in : maker.graph_.inputs(id)) last_[piece(in)] = at;
      }
      for (NodeId id : group.sinks) last_[piece(maker.graph_.inputs(id)[0])] = group.nodes.size();
    }

    // The place of the value made at position `at`; `made` has the places of the earlier ones.
    Operand output(std::size_t at, const std::unordered_map<NodeId, Operand>& made) {
      const NodeId id = group_.nodes[at];
      const bool home = maker_.grouping_->home[id] == static_cast<std::int32_t>(index_);
      if (home && maker_.drafts_->materialised[id]) {
        release(at, id, made, false);
        return maker_.stored(id, true);
      }
      if (is_uniform(id)) return {Operand::temporary, 0, count_++};
      // Planes stand together, and are not made in place.
      if (const std::int64_t planes = maker_.aliases_->planes(id); planes > 0) {
        const std::int64_t first = count_;
        count_ += planes;
        release(at, id, made, false);
        return {Operand::temporary, 0, first};
      }
      release(at, id, made, true);
      std::int64_t slot;
      if (free_.empty()) {
        slot = count_++;
      } else {
        slot = free_.back();
        free_.pop_back();
      }
      release(at, id, made, false);
      return {Operand::temporary, 0, slot};
    }

    // Chooses the tile by the number of temporaries, and turns their numbers into offsets.
    void finish(Loop& loop) {
      std::int64_t tile = largest_tile;
      while (tile > sum_segment && count_ * tile * widest_ > temporary_budget) tile /= 2;
      if (loop.row <= tile) tile = tile / loop.row * loop.row;
      loop.tile = std::min(tile, loop.elements);
      const std::int64_t bytes = Arena::rounded(loop.tile * widest_);
      const auto place = [&](Operand& operand) {
        if (operand.slot == Operand::temporary) operand.offset *= bytes;
      };
      for (auto* list : {&loop.prologue, &loop.body})
        for (Instruction& instruction : *list) {
          for (Operand& input : instruction.inputs) place(input);
          place(instruction.output);
          if (instruction.plane > 0 && instruction.output.slot == Operand::temporary)
            instruction.plane = bytes / size(instruction.node);
        }
      for (Sink& sink : loop.sinks) place(sink.input);
      auto& most = maker_.plan_->temporary_bytes;
      most = std::max(most, count_ * bytes);
    }

   private:
    using Piece = std::pair<NodeId, std::int64_t>;  // a value and one of its planes

    Piece piece(NodeId id) const {
      return {maker_.aliases_->root(id), plane_of(maker_.graph_, *maker_.aliases_, id)};
    }
    std::int64_t size(NodeId id) const {
      return static_cast<std::int64_t>(size_of(maker_.graph_.type(id).dtype));
    }
    bool is_uniform(NodeId id) const {
      std::vector<Type> types;
      return maker_.graph_.op(id).uniform(site_of(maker_.graph_, id, types));
    }
    // Frees the temporaries that are read at `at` for the last time: those of the output's width
    // before it is placed (the kernel then works in place), the others after.
    void release(std::size_t at, NodeId id, const std::unordered_map<NodeId, Operand>& made,
                 bool same_width) {
      for (NodeId in : maker_.graph_.inputs(id)) {
        const Piece read = piece(in);
        const NodeId root = read.first;
        const auto found = made.find(root);
        if (found == made.end() || found->second.slot != Operand::temporary) continue;
        if (last_[read] != at || is_uniform(root) || released_.contains(read)) continue;
        if (same_width && size(root) != size(id)) continue;
        released_.insert(read);
        free_.push_back(maker_.plane_operand(in, found->second).offset);
      }
    }

    const PlanMaker& maker_;
    const Group& group_;
    std::uint32_t index_;
    std::map<Piece, std::size_t> last_;
    std::set<Piece> released_;
    std::vector<std::int64_t> free_;
    std::int64_t count_ = 0;
    std::int64_t widest_ = 1;
  };

  // Parts of a loop: whole rows when rows are short, pieces of one row when they are long.
  void cut(Loop& loop, PlanStep& step, double nanoseconds_each) {
    const double wanted = part_nanoseconds / nanoseconds_each;
    const std::int64_t rows = loop.elements / loop.row;
    if (loop.row <= sum_piece) {
      const auto rows_per_part =
          std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted) / loop.row);
      const std::int64_t least = (rows + max_parts - 1) / max_parts;
      const std::int64_t taken = std::max(rows_per_part, least);
      loop.elements_per_part = taken * loop.row;
      step.parts = static_cast<std::uint32_t>((rows + taken - 1) / taken);
      return;
    }
    const std::int64_t pieces = (loop.row + sum_piece - 1) / sum_piece;
    const auto pieces_per_part =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted) / sum_piece);
    loop.elements_per_part = pieces_per_part * sum_piece;
    const std::int64_t parts_per_row = (pieces + pieces_per_part - 1) / pieces_per_part;
    step.parts = static_cast<std::uint32_t>(rows * parts_per_row);
    std::int64_t scratch = 0;
    for (Sink& sink : loop.sinks) {
      sink.scratch = scratch;
      scratch += rows * pieces * static_cast<std::int64_t>(sizeof(double));
    }
    if (scratch > 0) step.scratch = new_slot({Slot::Kind::arena, 0, scratch});
  }

  // Neighbours in the order that do not need each other, and are worth a task, share a stage.
  void add_stages(const std::vector<std::uint32_t>& order) {
    std::vector<std::uint32_t> stage_of(drafts_->list.size(), 0);
    for (std::uint32_t at = 0; at < order.size(); ++at) {
      const PlanStep& step = plan_->steps[at];
      const bool heavy = step.nanoseconds >= parallel_nanoseconds / 2;
      const auto current = static_cast<std::uint32_t>(plan_->stages.size());
      bool joins = heavy && heavy_stage_ && current > 0;
      for (std::uint32_t need : drafts_->list[order[at]].needs)
        if (stage_of[need] == current) joins = false;
      if (!joins) plan_->stages.push_back({at, at, 0, false});
      heavy_stage_ = heavy;
      Stage& stage = plan_->stages.back();
      stage.last = at + 1;
      stage.parts += step.parts;
      const bool enough = step.nanoseconds >= parallel_nanoseconds;
      stage.parallel = stage.parts > 1 && (stage.parallel || enough || joins);
      stage_of[order[at]] = static_cast<std::uint32_t>(plan_->stages.size());
    }
  }

  std::shared_ptr<Plan> plan_;
  Graph& graph_;
  bool fuse_;
  const Aliases* aliases_ = nullptr;
  const Grouping* grouping_ = nullptr;
  const Drafts* drafts_ = nullptr;
  std::vector<std::uint32_t> slot_of_;
  bool heavy_stage_ = false;
};

}  // namespace

std::shared_ptr<Plan> make_plan(Graph graph, bool fuse) {
  return PlanMaker(std::move(graph), fuse).run();
}

}  // namespace whorl
