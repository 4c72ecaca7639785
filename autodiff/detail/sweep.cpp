#include "autodiff/detail/sweep.hpp"

#include <algorithm>
#include <optional>

#include "engine/ops.hpp"

namespace whorl::detail {

bool gradient_flows(const Graph& graph, NodeId input, NodeId node) {
  return is_float(graph.type(input).dtype) && is_float(graph.type(node).dtype) &&
         !graph.op(node).is(Traits::stops_gradient);
}

Sweep::Sweep(Graph& graph, NodeId first, NodeId last, std::vector<NodeId> before)
    : graph_(graph), first_(first), before_(std::move(before)) {
  const std::size_t size = before_.size() + (last > first ? last - first : 0);
  active_.assign(size, 0);
  target_.assign(size, 0);
}

std::size_t Sweep::place(NodeId id) const {
  if (id >= first_) return std::min(before_.size() + (id - first_), active_.size());
  const auto found = std::lower_bound(before_.begin(), before_.end(), id);
  if (found == before_.end() || *found != id) return active_.size();
  return static_cast<std::size_t>(found - before_.begin());
}

void Sweep::want(NodeId id) {
  if (const std::size_t at = place(id); at < active_.size()) active_[at] = 1;
}

void Sweep::target(NodeId id) {
  if (const std::size_t at = place(id); at < target_.size()) target_[at] = 1;
}

bool Sweep::is_active(NodeId id) const {
  const std::size_t at = place(id);
  return at < active_.size() && active_[at];
}

bool Sweep::has_active_input(NodeId id) const {
  for (NodeId input : graph_.inputs(id))
    if (is_active(input) && gradient_flows(graph_, input, id)) return true;
  return false;
}

// Forward, what depends on a variable; then backward, what a target needs of that.
void Sweep::mark() {
  const auto last = static_cast<NodeId>(first_ + active_.size() - before_.size());
  for (NodeId id = first_; id < last; ++id)
    if (!is_active(id) && has_active_input(id)) active_[place(id)] = 1;
  std::vector<char> needed = target_;
  for (NodeId id = last; id-- > first_;) {
    if (!needed[place(id)]) continue;
    for (NodeId input : graph_.inputs(id)) {
      const std::size_t at = place(input);
      if (at < needed.size() && gradient_flows(graph_, input, id)) needed[at] = 1;
    }
  }
  for (std::size_t at = 0; at < active_.size(); ++at) active_[at] = active_[at] && needed[at];
}

void Sweep::check_rules() const {
  const auto last = static_cast<NodeId>(first_ + active_.size() - before_.size());
  for (NodeId id = first_; id < last; ++id) {
    const OpDef& op = graph_.op(id);
    if (op.gradient != nullptr || op.compose != nullptr) continue;
    if (!is_active(id) || !has_active_input(id)) continue;
    graph_error("gradient",
                "{} has no gradient: {}; put stop_gradient before it if it is meant to be constant",
                graph_.label(id), op.no_gradient);
  }
}

void Sweep::contribute(NodeId to, Value value) {
  std::uint32_t& head = head_[place(to)];
  contributions_.push_back({value.id, head});
  head = static_cast<std::uint32_t>(contributions_.size() - 1);
}

void Sweep::seed(NodeId target, Value adjoint) {
  if (head_.empty()) head_.assign(active_.size(), nothing);
  if (is_active(target)) contribute(target, adjoint);
}

Value Sweep::adjoint(NodeId id) const {
  const std::size_t at = place(id);
  if (at >= head_.size() || head_[at] == nothing) return {};
  return {&graph_, contributions_[head_[at]].value};
}

// The sum of what arrived at a place, which replaces it.
Value Sweep::collect(std::size_t at) {
  if (head_[at] == nothing) return {};
  Contribution& first = contributions_[head_[at]];
  Value total{&graph_, first.value};
  for (std::uint32_t next = first.next; next != nothing; next = contributions_[next].next)
    total = total + Value{&graph_, contributions_[next].value};
  first = {total.id, nothing};
  return total;
}

void Sweep::run() {
  if (head_.empty()) return;
  const auto last = static_cast<NodeId>(first_ + active_.size() - before_.size());
  for (NodeId id = last; id-- > first_;) {
    if (!active_[place(id)]) continue;
    const Value dy = collect(place(id));
    if (dy && has_active_input(id)) apply_rule(id, dy);
  }
  for (std::size_t at = 0; at < before_.size(); ++at) collect(at);
}

void Sweep::apply_rule(NodeId id, Value dy) {
  const OpDef& op = graph_.op(id);
  // Copies: appending moves the graph's own lists.
  const auto span = graph_.inputs(id);
  const std::vector<NodeId> inputs(span.begin(), span.end());
  if (op.gradient == nullptr) {
    apply_composition(id, dy, inputs);
    return;
  }
  const Attributes attributes = graph_.attributes(id);
  std::vector<Value> xs;
  for (NodeId input : inputs) xs.push_back({&graph_, input});
  const Adjoint rule{xs, {&graph_, id}, dy, &attributes};
  std::vector<Value> results(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_active(inputs[i]) || !gradient_flows(graph_, inputs[i], id)) continue;
    results[i] = op.gradient(rule, static_cast<int>(i));
    if (results[i] && results[i].type() != xs[i].type())
      graph_error("gradient", "the rule of {} gives {} for input {}; expected {}", graph_.label(id),
                  to_string(results[i].type()), i, to_string(xs[i].type()));
  }
  // In descending order, as consumers are: the first input's contribution becomes innermost.
  for (std::size_t i = inputs.size(); i-- > 0;)
    if (results[i]) contribute(inputs[i], results[i]);
}

// The gradient of a composition is that of its parts. They are appended and swept in a window of
// their own; the depth of this recursion is that of compositions inside compositions.
void Sweep::apply_composition(NodeId id, Value dy, std::span<const NodeId> inputs) {
  const OpDef& op = graph_.op(id);
  const Attributes attributes = graph_.attributes(id);
  std::vector<Value> xs;
  for (NodeId input : inputs) xs.push_back({&graph_, input});
  const auto first = static_cast<NodeId>(graph_.size());
  const Value y = op.compose({xs, &attributes});

  std::vector<NodeId> starts(inputs.begin(), inputs.end());
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  Sweep parts(graph_, first, static_cast<NodeId>(graph_.size()), starts);
  for (NodeId start : starts)
    if (is_active(start) && gradient_flows(graph_, start, id)) parts.want(start);
  parts.target(y.id);
  parts.mark();
  parts.check_rules();
  parts.seed(y.id, dy);
  parts.run();
  for (auto start = starts.rbegin(); start != starts.rend(); ++start)
    if (const Value adjoint = parts.adjoint(*start); adjoint && is_active(*start))
      contribute(*start, adjoint);
}

}  // namespace whorl::detail
