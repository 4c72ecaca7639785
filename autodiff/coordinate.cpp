#include "autodiff/coordinate.hpp"

#include <algorithm>

#include "autodiff/tape.hpp"
#include "engine/ops.hpp"

namespace whorl {

namespace {

enum class Trouble { none, mixes, stops };
struct Finding {
  Trouble trouble = Trouble::none;
  NodeId node = 0;
};

// The layout that every dependent value must keep: element j of its flat array belongs to
// coordinate j mod n. A value of x's own shape has it, and so has [m, shape of x...].
class Layout {
 public:
  explicit Layout(std::int64_t coordinates) : n_(coordinates) {}

  // The first node on a path from `starts` to `to` that breaks it.
  Finding check(const Graph& graph, const std::vector<NodeId>& starts, NodeId to) const {
    std::vector<char> needed(std::size_t{to} + 1, 0), depends(needed.size(), 0);
    for (NodeId id : starts)
      if (id <= to) depends[id] = 1;
    needed[to] = 1;
    const NodeId first = *std::min_element(starts.begin(), starts.end());
    for (NodeId id = to; id > first; --id)
      if (needed[id])
        for (NodeId input : graph.inputs(id)) needed[input] = 1;
    for (NodeId id = first + 1; id <= to; ++id) {
      const auto inputs = graph.inputs(id);
      const bool reached =
          std::any_of(inputs.begin(), inputs.end(), [&](NodeId in) { return depends[in]; });
      if (!needed[id] || !reached || depends[id]) continue;
      depends[id] = 1;
      const Trouble trouble = node_trouble(graph, id, depends);
      if (trouble != Trouble::none) return {trouble, id};
    }
    return {};
  }

 private:
  Trouble node_trouble(const Graph& graph, NodeId id, const std::vector<char>& depends) const {
    const OpDef& op = graph.op(id);
    if (op.is(Traits::stops_gradient)) return Trouble::stops;
    if (op.is(Traits::elementwise)) return Trouble::none;
    std::vector<Type> types;
    std::vector<std::size_t> reached;
    for (NodeId input : graph.inputs(id)) {
      if (depends[input]) reached.push_back(types.size());
      types.push_back(graph.type(input));
    }
    const Site site{&op, types, graph.attributes(id), graph.type(id)};
    if (op.is(Traits::coordinatewise)) return coordinatewise(site, reached);
    if (moves_blocks(site, reached)) return Trouble::none;
    if (op.compose != nullptr) return parts_trouble(site, reached);
    return Trouble::mixes;
  }

  // Inputs whose shape the output's shape ends in are read coordinate by coordinate; weights and
  // inputs of other shapes are read whole.
  static Trouble coordinatewise(const Site& site, const std::vector<std::size_t>& reached) {
    const auto& names = site.op->input_names;
    for (std::size_t i : reached) {
      const Shape& in = site.in[i].shape;
      const int front = site.out.shape.rank() - in.rank();
      const bool fits = front >= 0 && site.out.shape.slice(front, site.out.shape.rank()) == in;
      if (!fits || names[std::min(i, names.size() - 1)] == "weights") return Trouble::mixes;
    }
    return Trouble::none;
  }

  // An alias that begins and ends between blocks of n elements.
  bool moves_blocks(const Site& site, const std::vector<std::size_t>& reached) const {
    const auto offset = site.op->alias(site);
    if (!offset || reached != std::vector<std::size_t>{0}) return false;
    return n_ == 0 || (*offset % n_ == 0 && site.out.elements() % n_ == 0);
  }

  // A composition is as good as its parts, which are looked at in a graph of their own. The depth
  // of this recursion is that of compositions inside compositions.
  Trouble parts_trouble(const Site& site, const std::vector<std::size_t>& reached) const {
    Graph parts;
    std::vector<Value> xs;
    for (const Type& type : site.in)
      xs.push_back(input(parts, fmt::format("x{}", xs.size()), type));
    const Value y = site.op->compose({xs, &site.attributes});
    std::vector<NodeId> starts;
    for (std::size_t i : reached) starts.push_back(xs[i].id);
    return check(parts, starts, y.id).trouble;
  }

  std::int64_t n_;
};

}  // namespace

Value coordinate_derivative(Value f, Value x, bool allow_unused) {
  constexpr std::string_view where = "coordinate_derivative";
  if (!f || !x || f.graph != x.graph) graph_error(where, "f and x must belong to one graph");
  const Graph& graph = *f.graph;
  if (f.type() != x.type() || !is_float(f.dtype()))
    graph_error(where, "f and x must have one floating-point type: {} is {} and {} is {}",
                graph.label(f.id), to_string(f.type()), graph.label(x.id), to_string(x.type()));
  const Finding found = Layout(x.type().elements()).check(graph, {x.id}, f.id);
  if (found.trouble == Trouble::stops)
    graph_error(where,
                "{} lies between {} and {}: the derivative would silently be zero; "
                "differentiate with respect to the stopped value instead",
                graph.label(found.node), graph.label(x.id), graph.label(f.id));
  if (found.trouble == Trouble::mixes)
    graph_error(where,
                "{} mixes coordinates on the way from {} to {}; every step must act "
                "coordinate by coordinate",
                graph.label(found.node), graph.label(x.id), graph.label(f.id));
  return gradient(f, x, {.seed = fill_like(f, 1), .allow_unused = allow_unused});
}

}  // namespace whorl
