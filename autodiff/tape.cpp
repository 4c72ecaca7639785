#include "autodiff/tape.hpp"

#include <algorithm>

#include "autodiff/detail/sweep.hpp"
#include "engine/ops.hpp"

namespace whorl {

namespace {

void check_same_graph(std::span<const Value> values, const Graph* graph) {
  for (const Value& value : values) {
    if (!value) graph_error("gradient", "a value is empty");
    if (value.graph != graph) graph_error("gradient", "the values belong to different graphs");
  }
}

void check_float(std::string_view preposition, Value value) {
  if (is_float(value.dtype())) return;
  graph_error("gradient", "{} {} is {}; only f32 and f64 have gradients", preposition,
              value.graph->label(value.id), to_string(value.type()));
}

void check_seeds(std::span<const Value> ys, std::span<const Value> seeds) {
  if (seeds.size() != ys.size())
    graph_error("gradient", "has {} seeds for {} values", seeds.size(), ys.size());
  for (std::size_t i = 0; i < ys.size(); ++i)
    if (seeds[i] && seeds[i].type() != ys[i].type())
      graph_error("gradient", "the seed of {} is {}; expected {}", ys[i].graph->label(ys[i].id),
                  to_string(seeds[i].type()), to_string(ys[i].type()));
}

// What reaches y from one variable, for the message about an unused one.
struct Reach {
  std::vector<char> any;   // through any edge
  std::vector<char> flow;  // where a gradient flows

  Reach(const Graph& graph, NodeId from, NodeId to)
      : any(std::max(from, to) + 1, 0), flow(any.size(), 0) {
    any[from] = flow[from] = 1;
    for (NodeId id = from + 1; id <= to; ++id) {
      for (NodeId input : graph.inputs(id)) {
        any[id] |= any[input];
        flow[id] |= flow[input] && detail::gradient_flows(graph, input, id);
      }
    }
  }
};

// The node that cuts the paths from `from` to `to`: the first stop_gradient where there is one,
// else the first node that turns a number into an integer or a bool.
std::optional<NodeId> cutting_node(const Graph& graph, const Reach& reach, NodeId from, NodeId to) {
  std::vector<char> needed(reach.any.size(), 0);
  needed[to] = 1;
  std::optional<NodeId> cut;
  for (NodeId id = to; id > from; --id) {
    if (!needed[id]) continue;
    for (NodeId input : graph.inputs(id)) {
      needed[input] = 1;
      if (!reach.flow[input] || detail::gradient_flows(graph, input, id)) continue;
      const bool stop = graph.op(id).is(Traits::stops_gradient);
      if (!cut || stop || !graph.op(*cut).is(Traits::stops_gradient)) cut = id;
    }
  }
  return cut;
}

[[noreturn]] void unused(const Graph& graph, NodeId y, NodeId variable) {
  const Reach reach(graph, variable, y);
  const auto cut = reach.any[y] ? cutting_node(graph, reach, variable, y) : std::nullopt;
  if (!cut)
    graph_error("gradient", "{} does not depend on {}; set allow_unused to get zeros",
                graph.label(y), graph.label(variable));
  const bool stop = graph.op(*cut).is(Traits::stops_gradient);
  graph_error("gradient",
              "every path from {} to {} is cut: by {}, {}; set allow_unused to get zeros",
              graph.label(variable), graph.label(y), graph.label(*cut),
              stop ? std::string("which stops the gradient")
                   : fmt::format("whose result is {}", name(graph.type(*cut).dtype)));
}

// An empty seed stands for ones, which are appended after all checks.
std::vector<Value> differentiate(std::span<const Value> ys, std::span<const Value> seeds,
                                 std::span<const Value> wrt, bool allow_unused) {
  if (ys.empty() || wrt.empty()) return {};
  check_same_graph(ys, ys[0].graph);
  check_same_graph(wrt, ys[0].graph);
  for (const Value& y : ys) check_float("of", y);
  for (const Value& w : wrt) check_float("with respect to", w);
  check_seeds(ys, seeds);

  Graph& graph = *ys[0].graph;
  const auto by_id = [](const Value& a, const Value& b) { return a.id < b.id; };
  const NodeId first = std::min_element(wrt.begin(), wrt.end(), by_id)->id;
  const Value& latest = *std::max_element(ys.begin(), ys.end(), by_id);
  detail::Sweep sweep(graph, first, latest.id + 1);
  for (const Value& w : wrt) sweep.want(w.id);
  for (const Value& y : ys) sweep.target(y.id);
  sweep.mark();
  if (!allow_unused)
    for (const Value& w : wrt)
      if (!sweep.is_active(w.id)) unused(graph, latest.id, w.id);
  sweep.check_rules();

  for (std::size_t i = 0; i < ys.size(); ++i)
    sweep.seed(ys[i].id, seeds[i] ? seeds[i] : fill_like(ys[i], 1));
  sweep.run();
  std::vector<Value> results;
  for (const Value& w : wrt) {
    const Value adjoint = sweep.adjoint(w.id);
    results.push_back(adjoint ? adjoint : fill_like(w, 0));
  }
  return results;
}

}  // namespace

std::vector<Value> vector_jacobian_product(std::span<const Value> ys, std::span<const Value> seeds,
                                           std::span<const Value> wrt, bool allow_unused) {
  if (!ys.empty()) check_same_graph(seeds, ys[0].graph);
  return differentiate(ys, seeds, wrt, allow_unused);
}

std::vector<Value> gradient(Value y, std::span<const Value> wrt, const GradientOptions& options) {
  check_same_graph({&y, 1}, y.graph);
  check_float("of", y);
  if (options.seed) {
    check_same_graph({&options.seed, 1}, y.graph);
  } else if (y.shape().rank() != 0) {
    graph_error("gradient", "of {} is {}, not a scalar; give a seed", y.graph->label(y.id),
                to_string(y.type()));
  }
  return differentiate({&y, 1}, {&options.seed, 1}, wrt, options.allow_unused);
}

std::vector<Value> gradient(Value y, std::initializer_list<Value> wrt,
                            const GradientOptions& options) {
  return gradient(y, std::span<const Value>(wrt.begin(), wrt.size()), options);
}

Value gradient(Value y, Value wrt, const GradientOptions& options) {
  return gradient(y, std::span<const Value>(&wrt, 1), options).front();
}

}  // namespace whorl
