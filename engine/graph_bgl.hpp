// Graphs as Boost.Graph sees them.
//
// A Graph is a model of VertexListGraph, IncidenceGraph and AdjacencyGraph: vertices are node ids,
// and the out-edges of a node lead to its inputs, one per input slot. So boost::topological_sort
// writes inputs before their users.
// Dataflow is the same graph seen the other way, from inputs to users, and models
// BidirectionalGraph too; it keeps the lists of users, which a Graph does not have.
//
// Both have an internal vertex index, so BGL algorithms need no property maps from the caller.
// Thread safety: as for a const Graph. A Dataflow must not outlive its graph, nor a change of it.
#pragma once

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <boost/iterator/counting_iterator.hpp>
#include <boost/iterator/transform_iterator.hpp>
#include <boost/property_map/property_map.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/graph.hpp"

namespace whorl {

// The edge between a node and one of its inputs. A node may read one input in two slots.
struct GraphEdge {
  NodeId input = 0;
  NodeId user = 0;
  std::uint32_t slot = 0;
  friend auto operator<=>(const GraphEdge&, const GraphEdge&) = default;
};

namespace bgl {

struct Category : boost::vertex_list_graph_tag,
                  boost::incidence_graph_tag,
                  boost::adjacency_graph_tag {};
struct DataflowCategory : boost::vertex_list_graph_tag,
                          boost::bidirectional_graph_tag,
                          boost::adjacency_graph_tag {};

using VertexIterator = boost::counting_iterator<NodeId>;

// Slot number to edge.
struct InputEdge {
  const Graph* graph = nullptr;
  NodeId user = 0;
  GraphEdge operator()(std::uint32_t slot) const { return {graph->inputs(user)[slot], user, slot}; }
};
using InputEdgeIterator =
    boost::transform_iterator<InputEdge, boost::counting_iterator<std::uint32_t>, GraphEdge>;

inline std::pair<InputEdgeIterator, InputEdgeIterator> input_edges(NodeId id, const Graph& graph) {
  const InputEdge edge{&graph, id};
  const auto count = static_cast<std::uint32_t>(graph.inputs(id).size());
  return {InputEdgeIterator(boost::counting_iterator<std::uint32_t>(0), edge),
          InputEdgeIterator(boost::counting_iterator<std::uint32_t>(count), edge)};
}

struct ToUser {
  NodeId operator()(const GraphEdge& edge) const { return edge.user; }
};

}  // namespace bgl

class Dataflow {
 public:
  using UserEdgeIterator = std::vector<GraphEdge>::const_iterator;

  explicit Dataflow(const Graph& graph) : graph_(&graph), first_(graph.size() + 1, 0) {
    for (NodeId id = 0; id < graph.size(); ++id)
      for (NodeId in : graph.inputs(id)) ++first_[in + 1];
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    users_.resize(graph.edge_count());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (NodeId id = 0; id < graph.size(); ++id)
      for (std::uint32_t slot = 0; slot < graph.inputs(id).size(); ++slot) {
        const NodeId in = graph.inputs(id)[slot];
        users_[next[in]++] = {in, id, slot};
      }
  }

  const Graph& graph() const { return *graph_; }
  // In order of the users' ids.
  std::span<const GraphEdge> users(NodeId id) const {
    return {users_.data() + first_[id], first_[id + 1] - first_[id]};
  }
  std::pair<UserEdgeIterator, UserEdgeIterator> user_edges(NodeId id) const {
    const auto begin = users_.begin();
    return {begin + static_cast<std::ptrdiff_t>(first_[id]),
            begin + static_cast<std::ptrdiff_t>(first_[id + 1])};
  }

 private:
  const Graph* graph_;
  std::vector<std::size_t> first_;  // of each node's users, and the end
  std::vector<GraphEdge> users_;
};

// The free functions of the concepts, found by argument-dependent lookup.
inline std::size_t num_vertices(const Graph& graph) { return graph.size(); }
inline std::pair<bgl::VertexIterator, bgl::VertexIterator> vertices(const Graph& graph) {
  return {bgl::VertexIterator(0), bgl::VertexIterator(static_cast<NodeId>(graph.size()))};
}
inline NodeId source(const GraphEdge& edge, const Graph&) { return edge.user; }
inline NodeId target(const GraphEdge& edge, const Graph&) { return edge.input; }
inline auto out_edges(NodeId id, const Graph& graph) { return bgl::input_edges(id, graph); }
inline std::size_t out_degree(NodeId id, const Graph& graph) { return graph.inputs(id).size(); }
inline std::pair<const NodeId*, const NodeId*> adjacent_vertices(NodeId id, const Graph& graph) {
  const auto inputs = graph.inputs(id);
  return {inputs.data(), inputs.data() + inputs.size()};
}
inline auto get(boost::vertex_index_t, const Graph&) {
  return boost::typed_identity_property_map<NodeId>();
}
inline NodeId get(boost::vertex_index_t, const Graph&, NodeId id) { return id; }

inline std::size_t num_vertices(const Dataflow& flow) { return flow.graph().size(); }
inline auto vertices(const Dataflow& flow) { return vertices(flow.graph()); }
inline NodeId source(const GraphEdge& edge, const Dataflow&) { return edge.input; }
inline NodeId target(const GraphEdge& edge, const Dataflow&) { return edge.user; }
inline auto out_edges(NodeId id, const Dataflow& flow) { return flow.user_edges(id); }
inline auto in_edges(NodeId id, const Dataflow& flow) { return bgl::input_edges(id, flow.graph()); }
inline std::size_t out_degree(NodeId id, const Dataflow& flow) { return flow.users(id).size(); }
inline std::size_t in_degree(NodeId id, const Dataflow& flow) {
  return flow.graph().inputs(id).size();
}
inline std::size_t degree(NodeId id, const Dataflow& flow) {
  return in_degree(id, flow) + out_degree(id, flow);
}
inline auto adjacent_vertices(NodeId id, const Dataflow& flow) {
  const auto [begin, end] = flow.user_edges(id);
  return std::pair(boost::make_transform_iterator(begin, bgl::ToUser{}),
                   boost::make_transform_iterator(end, bgl::ToUser{}));
}
inline auto get(boost::vertex_index_t, const Dataflow&) {
  return boost::typed_identity_property_map<NodeId>();
}
inline NodeId get(boost::vertex_index_t, const Dataflow&, NodeId id) { return id; }

}  // namespace whorl

namespace boost {

template <>
struct graph_traits<whorl::Graph> {
  using vertex_descriptor = whorl::NodeId;
  using edge_descriptor = whorl::GraphEdge;
  using directed_category = directed_tag;
  using edge_parallel_category = allow_parallel_edge_tag;
  using traversal_category = whorl::bgl::Category;
  using vertices_size_type = std::size_t;
  using edges_size_type = std::size_t;
  using degree_size_type = std::size_t;
  using vertex_iterator = whorl::bgl::VertexIterator;
  using out_edge_iterator = whorl::bgl::InputEdgeIterator;
  using adjacency_iterator = const whorl::NodeId*;
  using in_edge_iterator = void;
  using edge_iterator = void;
  static vertex_descriptor null_vertex() { return std::numeric_limits<whorl::NodeId>::max(); }
};

template <>
struct graph_traits<whorl::Dataflow> : graph_traits<whorl::Graph> {
  using directed_category = bidirectional_tag;
  using traversal_category = whorl::bgl::DataflowCategory;
  using out_edge_iterator = whorl::Dataflow::UserEdgeIterator;
  using in_edge_iterator = whorl::bgl::InputEdgeIterator;
  using adjacency_iterator = transform_iterator<whorl::bgl::ToUser, out_edge_iterator>;
};

template <>
struct property_map<whorl::Graph, vertex_index_t> {
  using type = typed_identity_property_map<whorl::NodeId>;
  using const_type = type;
};
template <>
struct property_map<whorl::Dataflow, vertex_index_t> : property_map<whorl::Graph, vertex_index_t> {
};

}  // namespace boost
