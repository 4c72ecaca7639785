#include "engine/algorithms.hpp"

#include <pthread.h>

#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/graph_concepts.hpp>
#include <boost/graph/topological_sort.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <boost/test/unit_test.hpp>
#include <random>

#include "engine/graph_bgl.hpp"
#include "engine/ops.hpp"

using namespace whorl;

namespace {

BOOST_CONCEPT_ASSERT((boost::VertexListGraphConcept<Graph>));
BOOST_CONCEPT_ASSERT((boost::IncidenceGraphConcept<Graph>));
BOOST_CONCEPT_ASSERT((boost::AdjacencyGraphConcept<Graph>));
BOOST_CONCEPT_ASSERT((boost::VertexListGraphConcept<Dataflow>));
BOOST_CONCEPT_ASSERT((boost::BidirectionalGraphConcept<Dataflow>));
BOOST_CONCEPT_ASSERT((boost::AdjacencyGraphConcept<Dataflow>));

const Type scalar{DType::f32, {}};

// x -> a = exp x -> b = sqrt a -> c = b * x, and d = x * x beside it.
struct Diamond {
  Graph graph;
  Value x = input(graph, "x", scalar), a = exp(x), b = sqrt(a), c = b * x, d = x * x;
};

// Random graph of adds, whose edges are checked by brute force.
Graph random_graph(unsigned seed, int nodes) {
  std::mt19937 engine(seed);
  Graph graph;
  std::vector<Value> values{input(graph, "x", scalar)};
  for (int i = 1; i < nodes; ++i) {
    const auto pick = [&] { return values[engine() % values.size()]; };
    const Value left = pick();
    values.push_back(left + pick());
  }
  return graph;
}

std::vector<std::vector<char>> reachability(const Graph& graph) {
  std::vector<std::vector<char>> reach(graph.size(), std::vector<char>(graph.size(), 0));
  for (NodeId id = 0; id < graph.size(); ++id)
    for (NodeId in : graph.inputs(id)) {
      reach[id][in] = 1;
      for (NodeId other = 0; other < graph.size(); ++other) reach[id][other] |= reach[in][other];
    }
  return reach;
}

// Runs f on a thread with a stack of 64 KB.
void on_small_stack(void (*f)()) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::size_t bytes = 512 << 10;  // instrumented frames are larger
#else
  constexpr std::size_t bytes = 64 << 10;
#endif
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  BOOST_REQUIRE(pthread_attr_setstacksize(&attributes, bytes) == 0);
  pthread_t thread;
  const auto run = [](void* p) -> void* {
    reinterpret_cast<void (*)()>(p)();
    return nullptr;
  };
  BOOST_REQUIRE(pthread_create(&thread, &attributes, run, reinterpret_cast<void*>(f)) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(algorithms)

BOOST_AUTO_TEST_CASE(boost_sorts_a_graph_so_that_inputs_come_first) {
  const Graph graph = random_graph(1, 200);
  std::vector<NodeId> order;
  boost::topological_sort(graph, std::back_inserter(order));
  BOOST_REQUIRE(order.size() == graph.size());
  std::vector<std::size_t> at(graph.size());
  for (std::size_t i = 0; i < order.size(); ++i) at[order[i]] = i;
  for (NodeId id = 0; id < graph.size(); ++id)
    for (NodeId in : graph.inputs(id)) BOOST_TEST(at[in] < at[id]);
}

BOOST_AUTO_TEST_CASE(boost_measures_distances_along_the_dataflow) {
  Diamond g;
  const Dataflow flow(g.graph);
  std::vector<int> distance(g.graph.size());
  const auto one = boost::make_function_property_map<GraphEdge>([](const GraphEdge&) { return 1; });
  boost::dijkstra_shortest_paths(
      flow, g.x.id,
      boost::weight_map(one).distance_map(
          boost::make_iterator_property_map(distance.begin(), get(boost::vertex_index, flow))));
  const std::vector<int> wanted{0, 1, 2, 1, 1};
  BOOST_TEST(distance == wanted, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_users_of_a_node_are_listed_by_slot) {
  Diamond g;
  const Dataflow flow(g.graph);
  const std::vector<GraphEdge> wanted{{0, 1, 0}, {0, 3, 1}, {0, 4, 0}, {0, 4, 1}};
  const auto users = flow.users(g.x.id);
  BOOST_TEST(std::equal(users.begin(), users.end(), wanted.begin(), wanted.end()));
  BOOST_TEST(out_degree(g.x.id, flow) == 4u);
  BOOST_TEST(in_degree(g.d.id, flow) == 2u);
  BOOST_TEST(flow.users(g.d.id).empty());
}

BOOST_AUTO_TEST_CASE(the_critical_path_is_the_most_expensive_one) {
  Diamond g;
  const auto by_count = critical_path(g.graph, [](NodeId) { return 1.0; });
  BOOST_TEST(by_count.cost == 4.0);
  BOOST_TEST(by_count.nodes == (std::vector<NodeId>{0, 1, 2, 3}), boost::test_tools::per_element());
  const auto by_cost = critical_path(g.graph, [&](NodeId id) { return id == g.d.id ? 9.0 : 1.0; });
  BOOST_TEST(by_cost.cost == 10.0);
  BOOST_TEST(by_cost.nodes == (std::vector<NodeId>{0, 4}), boost::test_tools::per_element());
  BOOST_TEST(critical_path(Graph{}, [](NodeId) { return 1.0; }).nodes.empty());
}

BOOST_AUTO_TEST_CASE(levels_count_the_longest_way_from_a_source) {
  Diamond g;
  const Levels found = levels(g.graph);
  BOOST_TEST(found.of == (std::vector<std::uint32_t>{0, 1, 2, 3, 1}),
             boost::test_tools::per_element());
  BOOST_TEST(found.widths == (std::vector<std::size_t>{1, 2, 1, 1}),
             boost::test_tools::per_element());
  BOOST_TEST(found.depth() == 4u);
  BOOST_TEST(found.widest() == 2u);
  BOOST_TEST(levels(Graph{}).widest() == 0u);
}

BOOST_AUTO_TEST_CASE(the_reduction_leaves_out_what_other_paths_imply) {
  Diamond g;
  const auto kept = transitive_reduction(g.graph);
  BOOST_TEST(kept[g.c.id] == (std::vector<NodeId>{g.b.id}), boost::test_tools::per_element());
  BOOST_TEST(kept[g.d.id] == (std::vector<NodeId>{g.x.id}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_reduction_of_random_graphs_is_minimal_and_reaches_the_same) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    const Graph graph = random_graph(seed, 150);
    const auto reach = reachability(graph);
    const auto kept = transitive_reduction(graph);
    for (NodeId id = 0; id < graph.size(); ++id) {
      std::vector<NodeId> wanted;
      for (NodeId in = 0; in < id; ++in) {
        const auto inputs = graph.inputs(id);
        if (std::find(inputs.begin(), inputs.end(), in) == inputs.end()) continue;
        const bool implied = std::any_of(inputs.begin(), inputs.end(),
                                         [&](NodeId other) { return reach[other][in]; });
        if (!implied) wanted.push_back(in);
      }
      BOOST_TEST(kept[id] == wanted, boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_picture_shows_ops_names_types_and_groups) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {2}});
  const Value y = exp(x);
  graph.set_name(y.id, "net/y");
  graph.add_output("out", (y * x).id);
  BOOST_TEST(to_dot(graph) ==
             "digraph whorl {\n"
             "  rankdir=TB;\n"
             "  node [fontname=\"monospace\"];\n"
             "  n0 [label=\"x\\ninput : f32[2]\", shape=ellipse, style=filled, "
             "fillcolor=\"#cfe3ff\"];\n"
             "  n2 [label=\"mul : f32[2]\", shape=box, style=\"rounded,filled\", "
             "fillcolor=\"#ffe0b8\"];\n"
             "  subgraph cluster0 {\n"
             "    label=\"net\";\n"
             "    n1 [label=\"net/y\\nexp : f32[2]\", shape=box, style=rounded];\n"
             "  }\n"
             "  n0 -> n1;\n"
             "  n1 -> n2;\n"
             "  n0 -> n2;\n"
             "  out0 [label=\"out\", shape=ellipse, style=filled, fillcolor=\"#ffe0b8\"];\n"
             "  n2 -> out0 [style=dashed];\n"
             "}\n");
  const std::string reduced = to_dot(graph, {.clusters = false, .reduced = true});
  BOOST_TEST(reduced.find("n0 -> n2") == std::string::npos);
  BOOST_TEST(reduced.find("n1 -> n2") != std::string::npos);
  BOOST_TEST(reduced.find("cluster") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_cycle_is_reported_from_its_smallest_vertex) {
  BOOST_TEST(!find_cycle(0, {}));
  BOOST_TEST(!find_cycle(3, {{0, 1}, {0, 2}, {1, 2}, {1, 2}}));
  const auto self = find_cycle(2, {{0, 1}, {1, 1}});
  BOOST_REQUIRE(self.has_value());
  BOOST_TEST(*self == (std::vector<std::size_t>{1}), boost::test_tools::per_element());
  const auto found = find_cycle(6, {{0, 4}, {4, 2}, {2, 5}, {5, 4}, {5, 1}});
  BOOST_REQUIRE(found.has_value());
  BOOST_TEST(*found == (std::vector<std::size_t>{2, 5, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(cycles_of_random_graphs_are_real_and_none_is_missed) {
  std::mt19937 engine(7);
  int cyclic = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t n = 2 + engine() % 12;
    EdgeList edges;
    for (std::size_t i = 0; i < n; ++i) edges.emplace_back(engine() % n, engine() % n);
    const auto cycle = find_cycle(n, edges);
    const auto order = topological_order(n, edges);
    BOOST_TEST(cycle.has_value() != order.has_value());
    if (!cycle) continue;
    ++cyclic;
    for (std::size_t i = 0; i < cycle->size(); ++i) {
      const std::pair step{(*cycle)[i], (*cycle)[(i + 1) % cycle->size()]};
      BOOST_TEST((std::find(edges.begin(), edges.end(), step) != edges.end()));
    }
  }
  BOOST_TEST(cyclic > 50);
  BOOST_TEST(cyclic < 290);
}

BOOST_AUTO_TEST_CASE(the_order_takes_the_smallest_vertex_first) {
  const auto order = topological_order(5, {{4, 0}, {3, 1}, {1, 2}});
  BOOST_REQUIRE(order.has_value());
  BOOST_TEST(*order == (std::vector<std::size_t>{3, 1, 2, 4, 0}), boost::test_tools::per_element());
  BOOST_TEST(!topological_order(2, {{0, 1}, {1, 0}}));
}

BOOST_AUTO_TEST_CASE(a_cycle_of_a_hundred_thousand_vertices_fits_a_small_stack) {
  static std::size_t length = 0, ordered = 0;
  on_small_stack([] {
    constexpr std::size_t n = 100000;
    EdgeList edges;
    for (std::size_t i = 0; i + 1 < n; ++i) edges.emplace_back(i, i + 1);
    ordered = topological_order(n, edges)->size();
    edges.emplace_back(n - 1, 0);
    length = find_cycle(n, edges)->size();
  });
  BOOST_TEST(length == 100000u);
  BOOST_TEST(ordered == 100000u);
}

BOOST_AUTO_TEST_CASE(a_deep_graph_is_measured_and_sorted_on_a_small_stack) {
  static std::size_t depth = 0, path = 0, sorted = 0;
  on_small_stack([] {
    Graph graph;
    Value x = input(graph, "x", scalar);
    for (int i = 0; i < 20000; ++i) x = -x;
    depth = levels(graph).depth();
    path = critical_path(graph, [](NodeId) { return 1.0; }).nodes.size();
    std::vector<NodeId> order;
    boost::topological_sort(graph, std::back_inserter(order));
    sorted = order.size();
    transitive_reduction(graph);
  });
  BOOST_TEST(depth == 20001u);
  BOOST_TEST(path == 20001u);
  BOOST_TEST(sorted == 20001u);
}

BOOST_AUTO_TEST_SUITE_END()
