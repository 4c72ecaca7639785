#include <boost/test/unit_test.hpp>

#include "engine/ops.hpp"
#include "engine/passes.hpp"

using namespace whorl;

namespace {

// An op that changes its mind about its type, as a broken pass or a broken op would make a graph.
struct Fickle {
  static inline std::int64_t extra = 0;
  static constexpr std::array<std::string_view, 1> inputs{"x"};
  static constexpr DTypeSet dtypes = floats;
  static constexpr std::string_view no_gradient = "for a test";
  static Type infer(const Site& site) {
    if (extra < 0) graph_error("fickle", "changed its mind");
    return {site.in[0].dtype, {site.in[0].shape[0] + extra}};
  }
  template <class T>
  static void forward(const Call&, std::int64_t, std::int64_t) {}
  static Value batch(const Batch& b) { return b.x(); }
  static std::vector<Sample> samples() { return {}; }
};
constinit const OpDef fickle_op = define<Fickle>("fickle");

struct FickleGraph {
  Graph graph;
  FickleGraph() {
    Fickle::extra = 0;
    const Value y = call(fickle_op, {input(graph, "x", {DType::f32, {3}})});
    graph.set_name(y.id, "net/y");
    graph.add_output("y", y.id);
  }
  ~FickleGraph() { Fickle::extra = 0; }
};

auto says(std::string text) {
  return [text](const Error& error) {
    BOOST_TEST(error.what() == text);
    return error.kind() == ErrorKind::internal;
  };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(verify_graph)

BOOST_AUTO_TEST_CASE(a_graph_from_the_builders_passes) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {2, 3}});
  graph.add_output("y", sum(exp(x) * 2.0).id);
  BOOST_CHECK_NO_THROW(verify(graph));
  BOOST_CHECK_NO_THROW(verify(Graph{}));
}

BOOST_AUTO_TEST_CASE(a_type_that_its_op_does_not_infer_is_named) {
  FickleGraph f;
  Fickle::extra = 1;
  BOOST_CHECK_EXCEPTION(verify(f.graph), Error,
                        says("[verify] node 1 'net/y' (fickle) says f32[3], its op infers f32[4]"));
}

BOOST_AUTO_TEST_CASE(a_node_that_its_op_refuses_is_named) {
  FickleGraph f;
  Fickle::extra = -1;
  BOOST_CHECK_EXCEPTION(verify(f.graph), Error,
                        says("[verify] node 1 'net/y' (fickle) is refused by its own op: [fickle] "
                             "changed its mind"));
}

BOOST_AUTO_TEST_CASE(an_input_without_a_name_is_found) {
  Graph graph;
  const OpDef& op = *find_op("input");
  graph.append(op, {},
               make_attributes("input", op.attrs(), {{"shape", std::vector<std::int64_t>{}}}));
  BOOST_CHECK_EXCEPTION(verify(graph), Error, says("[verify] node 0 (input) has no name"));
}

BOOST_AUTO_TEST_CASE(the_pass_that_broke_a_graph_is_named) {
  FickleGraph f;
  const std::vector<Pass> passes{{"dead", remove_dead}, {"spoil", [](const Graph& graph) {
                                                           Fickle::extra = 1;
                                                           return graph;
                                                         }}};
  BOOST_CHECK_EXCEPTION(run_passes(f.graph, passes), Error,
                        says("[simplify] pass 'spoil' broke the graph: [verify] node 1 'net/y' "
                             "(fickle) says f32[3], its op infers f32[4]"));
}

BOOST_AUTO_TEST_CASE(a_pass_that_loses_an_input_an_output_or_metadata_is_named) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {3}});
  graph.add_output("y", (-x).id);
  graph.metadata()["title"] = "t";
  const auto run = [&](Graph (*pass)(const Graph&)) { run_passes(graph, {{"lose", pass}}); };
  BOOST_CHECK_EXCEPTION(
      run([](const Graph&) { return Graph{}; }), Error,
      says("[simplify] pass 'lose' broke the graph: [verify] the inputs changed"));
  BOOST_CHECK_EXCEPTION(
      run([](const Graph& old) {
        Graph result = old;
        result.clear_outputs();
        return result;
      }),
      Error, says("[simplify] pass 'lose' broke the graph: [verify] the outputs changed"));
  BOOST_CHECK_EXCEPTION(
      run([](const Graph& old) {
        Graph result = old;
        result.metadata().clear();
        return result;
      }),
      Error, says("[simplify] pass 'lose' broke the graph: [verify] the metadata changed"));
}

BOOST_AUTO_TEST_SUITE_END()
