#include "engine/algorithms.hpp"

#include <algorithm>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/depth_first_search.hpp>
#include <queue>

#include "engine/graph_bgl.hpp"

namespace whorl {

std::vector<NodeId> output_nodes(const Graph& graph) {
  std::vector<NodeId> nodes;
  for (const Graph::Output& output : graph.outputs()) nodes.push_back(output.node);
  return nodes;
}

std::vector<char> needed_for(const Graph& graph, const std::vector<NodeId>& wanted) {
  std::vector<char> needed(graph.size(), 0);
  for (NodeId id : wanted) needed[id] = 1;
  // Inputs have smaller ids than their users, so one walk backwards sees every user first.
  for (auto id = static_cast<NodeId>(graph.size()); id-- > 0;)
    if (needed[id])
      for (NodeId in : graph.inputs(id)) needed[in] = 1;
  return needed;
}

CriticalPath critical_path(const Graph& graph, const std::function<double(NodeId)>& cost) {
  CriticalPath result;
  if (graph.size() == 0) return result;
  constexpr NodeId none = std::numeric_limits<NodeId>::max();
  std::vector<double> total(graph.size());
  std::vector<NodeId> before(graph.size(), none);
  NodeId last = 0;
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (NodeId in : graph.inputs(id))
      if (before[id] == none || total[in] > total[before[id]]) before[id] = in;
    total[id] = cost(id) + (before[id] == none ? 0 : total[before[id]]);
    if (total[id] > total[last]) last = id;
  }
  result.cost = total[last];
  for (NodeId id = last; id != none; id = before[id]) result.nodes.push_back(id);
  std::reverse(result.nodes.begin(), result.nodes.end());
  return result;
}

std::size_t Levels::widest() const {
  return widths.empty() ? 0 : *std::max_element(widths.begin(), widths.end());
}

Levels levels(const Graph& graph) {
  Levels result;
  result.of.resize(graph.size(), 0);
  for (NodeId id = 0; id < graph.size(); ++id) {
    std::uint32_t& level = result.of[id];
    for (NodeId in : graph.inputs(id)) level = std::max(level, result.of[in] + 1);
    // A level is at most one more than some level before it.
    if (level == result.widths.size()) result.widths.push_back(0);
    ++result.widths[level];
  }
  return result;
}

std::vector<std::vector<NodeId>> transitive_reduction(const Graph& graph) {
  // 64 nodes at a time: bit k of reached[v] says that a path leads from node first + k to v.
  constexpr NodeId block = 64;
  const auto size = static_cast<NodeId>(graph.size());
  std::vector<std::vector<NodeId>> kept(graph.size());
  std::vector<std::uint64_t> reached(graph.size());
  for (NodeId first = 0; first < size; first += block) {
    for (NodeId id = first; id < size; ++id) {
      std::uint64_t through = 0, direct = 0;
      for (NodeId in : graph.inputs(id)) {
        if (in < first) continue;
        through |= reached[in];
        if (in - first < block) direct |= std::uint64_t{1} << (in - first);
      }
      // An input that another input can be reached from is implied by that one.
      for (NodeId k = 0; k < block && (direct & ~through) >> k != 0; ++k)
        if ((direct & ~through) >> k & 1) kept[id].push_back(first + k);
      reached[id] = through | direct;
    }
  }
  return kept;
}

namespace {

// Remembers the tree of a search, and the first edge that leads back into its own path.
struct CycleSearch : boost::default_dfs_visitor {
  std::vector<std::size_t>* parent;
  std::optional<std::pair<std::size_t, std::size_t>>* back;

  template <class Edge, class G>
  void tree_edge(Edge edge, const G& graph) {
    (*parent)[target(edge, graph)] = source(edge, graph);
  }
  template <class Edge, class G>
  void back_edge(Edge edge, const G& graph) {
    if (!*back) *back = {source(edge, graph), target(edge, graph)};
  }
};

}  // namespace

std::optional<std::vector<std::size_t>> find_cycle(std::size_t n, const EdgeList& edges) {
  using Csr =
      boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                         boost::no_property, std::size_t, std::size_t>;
  const Csr graph(boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(), n);
  std::vector<std::size_t> parent(n);
  std::optional<std::pair<std::size_t, std::size_t>> back;
  CycleSearch search;
  search.parent = &parent;
  search.back = &back;
  std::vector<boost::default_color_type> colors(n);
  const auto color = boost::make_iterator_property_map(
      colors.begin(), boost::typed_identity_property_map<std::size_t>());
  boost::depth_first_search(graph, boost::visitor(search).color_map(color));
  if (!back) return std::nullopt;

  std::vector<std::size_t> cycle;
  for (std::size_t v = back->first; v != back->second; v = parent[v]) cycle.push_back(v);
  cycle.push_back(back->second);
  std::reverse(cycle.begin(), cycle.end());
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  return cycle;
}

std::optional<std::vector<std::size_t>> topological_order(std::size_t n, const EdgeList& edges) {
  std::vector<std::size_t> waiting(n, 0), first(n + 1, 0), targets(edges.size());
  for (const auto& [from, to] : edges) {
    ++first[from + 1];
    ++waiting[to];
  }
  for (std::size_t v = 0; v < n; ++v) first[v + 1] += first[v];
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  for (const auto& [from, to] : edges) targets[next[from]++] = to;

  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t v = 0; v < n; ++v)
    if (waiting[v] == 0) ready.push(v);
  std::vector<std::size_t> order;
  order.reserve(n);
  while (!ready.empty()) {
    const std::size_t v = ready.top();
    ready.pop();
    order.push_back(v);
    for (std::size_t i = first[v]; i < first[v + 1]; ++i)
      if (--waiting[targets[i]] == 0) ready.push(targets[i]);
  }
  if (order.size() != n) return std::nullopt;
  return order;
}

namespace {

// Text inside a quoted string of Graphviz.
std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result;
}

// The part of a name before its last slash: "net/layer1" of "net/layer1/bias".
std::string_view prefix(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : name.substr(0, slash);
}

std::string dot_node(const Graph& graph, NodeId id, bool is_output) {
  std::string label = graph.name(id).empty() ? "" : escaped(graph.name(id)) + "\\n";
  label += fmt::format("{} : {}", graph.op(id).name, escaped(to_string(graph.type(id))));
  std::string_view style = "shape=box, style=rounded";
  if (graph.op(id).name == "input") {
    style = "shape=ellipse, style=filled, fillcolor=\"#cfe3ff\"";
  } else if (is_output) {
    style = "shape=box, style=\"rounded,filled\", fillcolor=\"#ffe0b8\"";
  } else if (graph.inputs(id).empty()) {
    style = "shape=box, style=filled, fillcolor=\"#e8e8e8\"";
  }
  return fmt::format("n{} [label=\"{}\", {}];\n", id, label, style);
}

void write_outputs(const Graph& graph, std::string& text) {
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const Graph::Output& output = graph.outputs()[i];
    text +=
        fmt::format("  out{} [label=\"{}\", shape=ellipse, style=filled, fillcolor=\"#ffe0b8\"];\n",
                    i, escaped(output.name));
    text += fmt::format("  n{} -> out{} [style=dashed];\n", output.node, i);
  }
}

void write_edges(const Graph& graph, bool reduced, std::string& text) {
  const auto kept = reduced ? transitive_reduction(graph) : std::vector<std::vector<NodeId>>{};
  for (NodeId id = 0; id < graph.size(); ++id) {
    const auto inputs = reduced ? std::span<const NodeId>(kept[id]) : graph.inputs(id);
    for (NodeId in : inputs) text += fmt::format("  n{} -> n{};\n", in, id);
  }
}

}  // namespace

std::string to_dot(const Graph& graph, const DotOptions& options) {
  std::vector<char> is_output(graph.size(), 0);
  for (const Graph::Output& output : graph.outputs()) is_output[output.node] = 1;
  std::string text = "digraph whorl {\n  rankdir=TB;\n  node [fontname=\"monospace\"];\n";
  std::map<std::string, std::string, std::less<>> clusters;  // prefix to nodes
  for (NodeId id = 0; id < graph.size(); ++id) {
    const std::string_view group = options.clusters ? prefix(graph.name(id)) : std::string_view{};
    const std::string node = dot_node(graph, id, is_output[id]);
    if (group.empty()) {
      text += "  " + node;
    } else {
      clusters[std::string(group)] += "    " + node;
    }
  }
  std::size_t number = 0;
  for (const auto& [group, nodes] : clusters)
    text += fmt::format("  subgraph cluster{} {{\n    label=\"{}\";\n{}  }}\n", number++,
                        escaped(group), nodes);
  write_edges(graph, options.reduced, text);
  write_outputs(graph, text);
  return text + "}\n";
}

}  // namespace whorl
