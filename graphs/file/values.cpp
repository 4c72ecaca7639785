#include "graphs/file/values.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "engine/algorithms.hpp"

namespace whorl::graphs {

namespace {

template <class T>
std::optional<T> attribute(const Attributes& attributes, std::string_view name) {
  for (int i = 0; i < attributes.size(); ++i)
    if (attributes.spec(i).name == name) {
      const AttrValue value = attributes.value(i);
      if (const T* found = std::get_if<T>(&value)) return *found;
    }
  return std::nullopt;
}

// Where an op takes indices: which input holds them, and how many things there are to choose from.
struct Choice {
  std::string_view op;
  std::size_t indices;
  std::int64_t (*size)(const Graph& graph, NodeId id);
};

std::int64_t gathered_size(const Graph& graph, NodeId id) {
  const Shape& shape = graph.type(graph.inputs(id)[0]).shape;
  std::int64_t axis = attribute<std::int64_t>(graph.attributes(id), "axis").value_or(0);
  if (axis < 0) axis += shape.rank();
  return shape[static_cast<int>(axis)];
}
std::int64_t class_count(const Graph& graph, NodeId id) {
  const Shape& logits = graph.type(graph.inputs(id)[0]).shape;
  return logits[logits.rank() - 1];
}
template <char const* attribute_name>
std::int64_t given_size(const Graph& graph, NodeId id) {
  return *attribute<std::int64_t>(graph.attributes(id), attribute_name);
}
constexpr char depth[] = "depth", size[] = "size";

constexpr std::array choices{
    Choice{"gather", 1, gathered_size}, Choice{"scatter_add", 1, given_size<size>},
    Choice{"one_hot", 0, given_size<depth>}, Choice{"softmax_cross_entropy", 1, class_count}};

// Indices that are known now are judged now; a run judges the others.
void check_indices(const Graph& graph, NodeId id) {
  for (const Choice& choice : choices) {
    if (graph.op(id).name != choice.op) continue;
    const NodeId source = graph.inputs(id)[choice.indices];
    if (graph.op(source).name != "constant") return;
    const Tensor indices = *attribute<Tensor>(graph.attributes(source), "value");
    const std::int64_t most = choice.size(graph, id);
    const auto values = indices.values<std::int32_t>();
    const auto bad = std::find_if(values.begin(), values.end(),
                                  [&](std::int32_t i) { return i < 0 || i >= most; });
    if (bad == values.end()) return;
    graph_error("file", "element {} of '{}' is {}: out of range for {} {}", bad - values.begin(),
                graph.op(id).input_names[choice.indices], *bad, most,
                choice.op == "gather" || choice.op == "scatter_add" ? "slices" : "classes");
  }
}

// A number per node that is equal for nodes which compute the same thing from the same inputs.
std::vector<std::size_t> structure_hashes(const Graph& graph) {
  std::vector<std::size_t> hashes(graph.size());
  const auto mix = [](std::size_t seed, std::size_t value) {
    seed ^= value + 0x9E3779B97F4A7C15ull + (seed << 6) + (seed >> 2);
    return seed * 0xBF58476D1CE4E5B9ull ^ seed >> 31;
  };
  for (NodeId id = 0; id < graph.size(); ++id) {
    std::size_t hash = std::hash<std::string_view>{}(graph.op(id).name);
    hash = mix(hash, graph.attributes(id).hash());
    if (graph.op(id).name == "input") hash = mix(hash, id);
    for (NodeId input : graph.inputs(id)) hash = mix(hash, hashes[input]);
    hashes[id] = hash;
  }
  return hashes;
}

// Random numbers are a function of their coordinates: the same stream at the same seed and step is
// the same noise twice, also where the seed or step was computed twice, as in an unrolled repeat.
void check_streams(const Source& source, const Graph& graph) {
  std::vector<NodeId> random;
  for (NodeId id = 0; id < graph.size(); ++id)
    if (graph.op(id).is(Traits::random)) random.push_back(id);
  if (random.size() < 2) return;
  const auto hashes = structure_hashes(graph);
  std::map<std::vector<std::size_t>, NodeId> seen;
  for (NodeId id : random) {
    const auto stream = attribute<std::int64_t>(graph.attributes(id), "stream");
    const auto chain = attribute<std::int64_t>(graph.attributes(id), "first_chain").value_or(0);
    std::vector<std::size_t> key{static_cast<std::size_t>(stream.value_or(0)),
                                 static_cast<std::size_t>(chain)};
    for (NodeId input : graph.inputs(id)) key.push_back(hashes[input]);
    const auto [found, fresh] = seen.emplace(std::move(key), id);
    if (!fresh)
      load_error(source.place(),
                 "{} and {} have the same stream {}, seed and step, so they would "
                 "draw the same numbers",
                 graph.label(found->second), graph.label(id), stream.value_or(0));
  }
}

std::vector<NodeId> unused_nodes(const Graph& graph) {
  const auto needed = needed_for(graph, output_nodes(graph));
  std::vector<NodeId> unused;
  for (NodeId id = 0; id < graph.size(); ++id)
    if (!needed[id]) unused.push_back(id);
  return unused;
}

}  // namespace

void ValueChecks::broadcasts(const Graph& graph, const std::vector<NodeId>& inputs, int line,
                             const std::function<std::string()>& label) {
  if (report_ == nullptr) return;
  // The last two dimensions of a shape, 1 where there is none.
  const auto last = [&](NodeId id) -> std::array<std::int64_t, 2> {
    const Shape& shape = graph.type(id).shape;
    const int rank = shape.rank();
    return {rank > 1 ? shape[rank - 2] : 1, rank > 0 ? shape[rank - 1] : 1};
  };
  for (NodeId row : inputs)
    for (NodeId column : inputs) {
      const auto a = last(row), b = last(column);
      if (a[0] != 1 || b[1] != 1 || a[1] != b[0] || a[1] < 2) continue;
      report_->warnings.push_back(fmt::format(
          "[load] {}: W-BROADCAST {}: {} and {} become [{},{}]; reshape one of them if that is not "
          "meant",
          to_string(source_.place(line)), label(), to_string(graph.type(row).shape),
          to_string(graph.type(column).shape), b[0], a[1]));
      return;
    }
}

void ValueChecks::node(const Graph& graph, NodeId id) {
  const LoadLimits& limits = source_.limits;
  const Type& type = graph.type(id);
  if (type.bytes() > limits.value_bytes)
    graph_error("file", "the value {} would need {} bytes, more than the limit of {}",
                to_string(type), type.bytes(), limits.value_bytes);
  if (type.shape.rank() > limits.rank)
    graph_error("file", "the value {} has a rank above the limit of {}", to_string(type),
                limits.rank);
  if (graph.op(id).name == "constant") constant_bytes_ += type.bytes();
  if (constant_bytes_ > limits.constant_bytes)
    graph_error("file",
                "the constants would need {} bytes with all calls and repeats expanded, "
                "more than the limit of {}",
                constant_bytes_, limits.constant_bytes);
  if (static_cast<std::int64_t>(graph.size()) > limits.nodes)
    graph_error("file", "the expanded graph has more nodes than the limit of {}", limits.nodes);
  if (static_cast<std::int64_t>(graph.edge_count()) > limits.edges)
    graph_error("file", "the expanded graph has more edges than the limit of {}", limits.edges);
  check_indices(graph, id);
}

void ValueChecks::graph(const Graph& graph) {
  check_streams(source_, graph);
  if (report_ == nullptr) return;
  const std::string where = to_string(source_.place());
  if (graph.outputs().empty()) {
    report_->warnings.push_back(fmt::format(
        "[load] {}: W-OUTPUTS the graph has no outputs, so a run computes nothing", where));
    return;
  }
  const auto unused = unused_nodes(graph);
  if (unused.empty()) return;
  constexpr std::size_t most = 5;
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < std::min(most, unused.size()); ++i)
    labels.push_back(graph.label(unused[i]));
  report_->warnings.push_back(
      fmt::format("[load] {}: W-UNUSED no output needs {} of {} nodes: {}{}", where, unused.size(),
                  graph.size(), fmt::join(labels, ", "), unused.size() > most ? ", ..." : ""));
}

}  // namespace whorl::graphs
