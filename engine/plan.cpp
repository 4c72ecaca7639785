#include "engine/plan.hpp"

#include <fmt/format.h>

namespace whorl {

namespace {

std::string node_name(const Graph& graph, NodeId id) {
  const std::string_view given = graph.name(id);
  return given.empty() ? fmt::format("%{}:{}", id, graph.op(id).name)
                       : fmt::format("{}:{}", given, graph.op(id).name);
}

std::string loop_name(const Graph& graph, const Loop& loop) {
  constexpr std::size_t shown = 6;
  std::string text;
  std::size_t count = 0;
  for (const auto* list : {&loop.prologue, &loop.body})
    for (const Instruction& instruction : *list)
      if (count++ < shown)
        text += fmt::format("{}{}", text.empty() ? "" : "+", node_name(graph, instruction.node));
  for (const Sink& sink : loop.sinks)
    if (count++ < shown) text += fmt::format("+{}", node_name(graph, sink.node));
  if (count > shown) text += fmt::format("+{} more", count - shown);
  return text;
}

}  // namespace

std::string Plan::step_name(const PlanStep& step) const {
  switch (step.kind) {
    case PlanStep::Kind::loop:
      return loop_name(graph, loops[step.index]);
    case PlanStep::Kind::single:
      return node_name(graph, singles[step.index].node);
    case PlanStep::Kind::copy:
      break;
  }
  const std::uint32_t slot = copies[step.index].output.slot;
  return fmt::format("copy to {}", outputs[static_cast<std::size_t>(slots[slot].at)].name);
}

std::string to_text(const Plan& plan) {
  std::string text;
  for (const Stage& stage : plan.stages) {
    for (std::uint32_t at = stage.first; at < stage.last; ++at) {
      const PlanStep& step = plan.steps[at];
      text +=
          fmt::format("{} {} [{} part{}]{}\n", at == stage.first ? "-" : " ", plan.step_name(step),
                      step.parts, step.parts == 1 ? "" : "s", stage.parallel ? " parallel" : "");
    }
  }
  text += fmt::format("arena {} bytes, outputs {}, temporaries {} per worker\n", plan.arena_bytes,
                      plan.output_bytes, plan.temporary_bytes);
  return text;
}

}  // namespace whorl
