#include "graphs/file/order.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <queue>

namespace whorl::graphs {

namespace {

// Successors of numbered things, in one array.
struct Successors {
  std::vector<std::uint32_t> first, list;

  // edges(visit) calls visit(from, to) for every edge, the same way each time.
  template <class Edges>
  Successors(std::size_t size, Edges&& edges) : first(size + 1, 0) {
    edges([&](std::uint32_t from, std::uint32_t) { ++first[from + 1]; });
    for (std::size_t i = 0; i < size; ++i) first[i + 1] += first[i];
    list.resize(first[size]);
    std::vector<std::uint32_t> at(first.begin(), first.end() - 1);
    edges([&](std::uint32_t from, std::uint32_t to) { list[at[from]++] = to; });
  }
  std::span<const std::uint32_t> of(std::uint32_t i) const {
    return {list.data() + first[i], first[i + 1] - first[i]};
  }
};

// Kahn's algorithm that always takes the smallest number next: of all topological orders, the one
// nearest to the file's. Numbers that are missing from the result lie on cycles or behind them.
std::vector<std::uint32_t> smallest_order(std::size_t size, const Successors& successors) {
  std::vector<std::uint32_t> waiting(size, 0), order;
  for (std::uint32_t to : successors.list) ++waiting[to];
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < size; ++i)
    if (waiting[i] == 0) ready.push(i);
  order.reserve(size);
  while (!ready.empty()) {
    const std::uint32_t i = ready.top();
    ready.pop();
    order.push_back(i);
    for (std::uint32_t to : successors.of(i))
      if (--waiting[to] == 0) ready.push(to);
  }
  return order;
}

// A cycle among the numbers that are not in `order`: each of them waits for another such one, so a
// walk along `awaited` must come back. It starts at the cycle's smallest number.
std::vector<std::uint32_t> cycle_outside(
    std::size_t size, const std::vector<std::uint32_t>& order,
    const std::function<std::uint32_t(std::uint32_t, const std::vector<bool>&)>& awaited) {
  std::vector<bool> stuck(size, true);
  for (std::uint32_t i : order) stuck[i] = false;
  auto at = static_cast<std::uint32_t>(std::find(stuck.begin(), stuck.end(), true) - stuck.begin());
  std::vector<bool> seen(size, false);
  while (!seen[at]) {
    seen[at] = true;
    at = awaited(at, stuck);
  }
  std::vector<std::uint32_t> cycle;
  const std::uint32_t start = at;
  do {
    cycle.push_back(at);
    at = awaited(at, stuck);
  } while (at != start);
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  return cycle;
}

// "a <- b <- a", or the first 20 of a long one.
std::string print_cycle(const std::vector<std::uint32_t>& cycle, std::string_view arrow,
                        const std::function<std::string_view(std::uint32_t)>& name) {
  constexpr std::size_t most = 20;
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < std::min(most, cycle.size()); ++i) names.push_back(name(cycle[i]));
  if (cycle.size() > most)
    return fmt::format("{}{}... ({} more)", fmt::join(names, arrow), arrow, cycle.size() - most);
  names.push_back(name(cycle[0]));
  return fmt::format("{}", fmt::join(names, arrow));
}

template <class Visit>
void each_call(const Program& program, Visit&& visit) {
  for (std::size_t f = 0; f < program.functions.size(); ++f)
    for (const Item& item : program.functions[f].items)
      if (item.kind == Item::Kind::call || item.kind == Item::Kind::repeat)
        visit(item.function, static_cast<std::uint32_t>(f));  // the callee is needed first
}

// Saturates: a repeat of a repeat of a repeat overflows any number.
constexpr double huge = 1e18;
struct Size {
  double nodes = 0, edges = 0;
  double steps = 0;  // also counts what leaves no node behind, such as a call of an empty function
};

Size expanded_size(const Body& body, const std::vector<Size>& functions) {
  Size total;
  for (const Item& item : body.items) {
    total.steps += 1 + item.use_count;
    if (item.kind == Item::Kind::op) {
      total.nodes += 1;
      total.edges += item.use_count;
    } else if (item.kind != Item::Kind::argument) {
      const Size& inside = functions[item.function];
      const double times = static_cast<double>(item.count);
      // Each iteration makes its index, and reshapes what is collected; one concat joins that.
      const double collected = item.kind == Item::Kind::repeat ? item.slot_count - item.carry : 0;
      total.nodes += times * (inside.nodes + (item.index < 0 ? 0 : 1) + collected) + collected;
      total.edges += times * (inside.edges + 2 * collected);
      total.steps += times * (inside.steps + item.slot_count + 1);
    }
    total = {std::min(total.nodes, huge), std::min(total.edges, huge), std::min(total.steps, huge)};
  }
  return total;
}

}  // namespace

void order_items(Body& body, const Source& source) {
  const auto needed = [&](std::uint32_t i) { return body.uses_of(body.items[i]); };
  const auto size = static_cast<std::uint32_t>(body.items.size());
  const Successors successors(size, [&](auto&& visit) {
    for (std::uint32_t i = 0; i < size; ++i)
      for (const Use& use : needed(i)) visit(use.item, i);
  });
  body.order = smallest_order(size, successors);
  if (body.order.size() == size) return;
  const auto cycle = cycle_outside(size, body.order, [&](std::uint32_t i, const auto& stuck) {
    for (const Use& use : needed(i))
      if (stuck[use.item]) return use.item;
    return i;
  });
  const Item& first = body.items[cycle[0]];
  load_error(source.place(first.line), "{} needs itself, in a cycle of {}: {}",
             describe(body, first), cycle.size(),
             print_cycle(cycle, " <- ", [&](std::uint32_t i) { return body.items[i].name; }));
}

void check_expansion(const Program& program, const Source& source) {
  const std::size_t size = program.functions.size();
  const Successors callers(size, [&](auto&& visit) { each_call(program, visit); });
  const auto order = smallest_order(size, callers);
  if (order.size() < size) {
    const auto cycle = cycle_outside(size, order, [&](std::uint32_t f, const auto& stuck) {
      for (const Item& item : program.functions[f].items)
        if ((item.kind == Item::Kind::call || item.kind == Item::Kind::repeat) &&
            stuck[item.function])
          return item.function;
      return f;
    });
    const Body& first = program.functions[cycle[0]];
    load_error(
        source.place(first.line), "function '{}' calls itself: {}", first.name,
        print_cycle(cycle, " -> ", [&](std::uint32_t f) { return program.functions[f].name; }));
  }
  std::vector<Size> sizes(size);
  for (std::uint32_t f : order) sizes[f] = expanded_size(program.functions[f], sizes);
  const Size total = expanded_size(program.main, sizes);
  const auto check = [&](std::string_view what, double found, std::int64_t limit) {
    if (found > static_cast<double>(limit))
      load_error(source.place(), "calls and repeats expand to {:.0f} {}, more than the limit of {}",
                 found, what, limit);
  };
  check("nodes", total.nodes, source.limits.nodes);
  check("edges", total.edges, source.limits.edges);
  constexpr std::int64_t steps_per_node = 16;
  check("steps", total.steps, steps_per_node * source.limits.nodes);
}

}  // namespace whorl::graphs
