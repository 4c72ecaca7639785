// A batched graph against a loop over the chains.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "engine/evaluate.hpp"
#include "engine/ops.hpp"
#include "engine/passes.hpp"

using namespace whorl;

namespace {

Tensor numbers_like(const Type& type, unsigned seed) {
  Tensor tensor(type);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = std::sin(static_cast<double>(seed * 131 + 7 * i + 1));
    dispatch(type.dtype, [&](auto zero) {
      using T = decltype(zero);
      tensor.data<T>()[i] = std::is_same_v<T, double> || std::is_same_v<T, float>
                                ? static_cast<T>(value)
                                : static_cast<T>(i % 2);
    });
  }
  return tensor;
}

// Slice `chain` along axis 0.
Tensor chain_of(const Tensor& all, std::int64_t chain) {
  Tensor one({all.dtype(), all.shape().without_front()});
  const auto* bytes = static_cast<const char*>(all.raw());
  std::copy_n(bytes + chain * one.bytes(), one.bytes(), static_cast<char*>(one.raw()));
  return one;
}

// Runs the batched graph once and the plain one for each chain, and compares all outputs.
void check_batched(const Graph& graph, const std::vector<std::string>& names, std::int64_t size,
                   double tolerance) {
  const Graph batched = batch(graph, names, size);
  verify(batched);
  Feeds feeds;
  for (NodeId id : batched.input_nodes())
    feeds.emplace(batched.name(id), numbers_like(batched.type(id), id + 1));
  const auto all = evaluate(batched, feeds);
  const auto simplified = evaluate(simplify(batched), feeds);
  for (std::int64_t chain = 0; chain < size; ++chain) {
    Feeds one = feeds;
    for (const std::string& name : names) one.at(name) = chain_of(feeds.at(name), chain);
    for (const auto& [name, value] : evaluate(graph, one)) {
      for (const auto& results : {all, simplified}) {
        BOOST_REQUIRE(results.at(name).shape() == value.shape().with_front(size));
        const Tensor found = chain_of(results.at(name), chain);
        for (std::int64_t i = 0; i < value.elements(); ++i)
          BOOST_TEST(std::abs(found.at(i) - value.at(i)) <= tolerance,
                     name << " of chain " << chain);
      }
    }
  }
}

auto says(ErrorKind kind, std::string text) {
  return [=](const Error& error) {
    BOOST_TEST(error.what() == text);
    return error.kind() == kind;
  };
}

// The energy of logistic regression in plain ops: no matrix product, so that any build has it.
// U(w) = sum_n [softplus(z_n) - t_n z_n] + |w|^2 / 2, z = X w.
Graph logistic_regression() {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {7, 3}});
  const Value t = input(graph, "t", {DType::f64, {7}});
  const Value w = input(graph, "w", {DType::f64, {3}}, "parameter");
  const Value z = sum(x * w, {1});
  graph.set_name(z.id, "logits");
  graph.add_output("u", (sum(softplus(z) - t * z) + sum(square(w)) / 2.0).id);
  graph.add_output("z", z.id);
  graph.add_output("rows", sum(x, {1}).id);  // no chain has a part in it
  graph.metadata()["title"] = "logistic regression";
  return graph;
}

// A fused op without a batching rule: its composition is batched.
struct Half {
  static constexpr std::array<std::string_view, 1> inputs{"x"};
  static constexpr DTypeSet dtypes = floats;
  static Type infer(const Site& site) { return site.in[0]; }
  template <class T>
  static void forward(const Call& c, std::int64_t, std::int64_t) {
    for (std::int64_t i = 0; i < c.type().elements(); ++i) c.out<T>()[i] = c.in<T>(0)[i] / T(2);
  }
  static Value compose(const Composition& c) { return c.x() * 0.5; }
  static std::vector<Sample> samples() { return {}; }
};
constinit const OpDef half_op = define<Half>("half");

// Random numbers, as far as batching knows: one draw for each chain without a batched input.
struct Draw {
  struct Attrs {
    Shape shape;
    static constexpr auto fields() { return std::tuple{field("shape", &Attrs::shape)}; }
  };
  static constexpr std::array<std::string_view, 1> inputs{"seed"};
  static constexpr Traits traits = Traits::random;
  static constexpr DTypeSet dtypes = only(DType::f64);
  static constexpr std::string_view no_gradient = "for a test";
  static Type infer(const Site& site) { return {DType::f64, site.attrs<Attrs>().shape}; }
  template <class T>
  static void forward(const Call& c, std::int64_t, std::int64_t) {
    for (std::int64_t i = 0; i < c.type().elements(); ++i)
      c.out<T>()[i] = c.in<T>(0)[0] + static_cast<T>(i);
  }
  static Value batch(const Batch& b) {
    return call(*b.op, {b.x()}, attributes(Attrs{b.attrs<Attrs>().shape.with_front(b.size)}));
  }
  static std::vector<Sample> samples() { return {}; }
};
constinit const OpDef draw_op = define<Draw>("draw");

// An op of a user who did not think of batching.
constinit const OpDef single_op = [] {
  OpDef row = define<Draw>("single");
  row.traits = Traits::none;
  row.batch = nullptr;
  return row;
}();

}  // namespace

BOOST_AUTO_TEST_SUITE(batching)

BOOST_AUTO_TEST_CASE(the_energy_of_logistic_regression_is_that_of_a_loop_over_chains) {
  check_batched(logistic_regression(), {"w"}, 5, 1e-12);
  check_batched(logistic_regression(), {"w"}, 1, 1e-12);
  check_batched(logistic_regression(), {"w", "x"}, 3, 1e-12);
  check_batched(logistic_regression(), {"w", "x", "t"}, 3, 1e-12);
}

BOOST_AUTO_TEST_CASE(names_roles_and_metadata_stay) {
  const Graph batched = batch(logistic_regression(), {"w"}, 4);
  BOOST_TEST(to_string(batched.type(*batched.find("w"))) == "f64[4,3]");
  BOOST_TEST(to_string(batched.type(*batched.find("x"))) == "f64[7,3]");
  BOOST_TEST(to_string(batched.type(*batched.find("logits"))) == "f64[4,7]");
  BOOST_TEST(std::get<std::string>(batched.attributes(*batched.find("w")).value(2)) == "parameter");
  BOOST_TEST(batched.metadata().at("title") == "logistic regression");
}

BOOST_AUTO_TEST_CASE(only_what_depends_on_a_chain_gets_the_axis) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {2}});
  const Value y = input(graph, "y", {DType::f32, {2}});
  graph.add_output("out", (exp(y) * x).id);
  BOOST_TEST(to_text(batch(graph, {"x"}, 4)) ==
             "%0 = input() {dtype=f32, shape=[4,2], role=\"data\"} : f32[4,2]  # x\n"
             "%1 = input() {dtype=f32, shape=[2], role=\"data\"} : f32[2]  # y\n"
             "%2 = exp(%1) : f32[2]\n"
             "%3 = broadcast(%2) {shape=[4,2], axes=[1]} : f32[4,2]\n"
             "%4 = mul(%3, %0) : f32[4,2]\n"
             "output out = %4\n");
}

BOOST_AUTO_TEST_CASE(shape_ops_and_reductions_batch_like_a_loop) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {2, 3}});
  graph.add_output("all", sum(x).id);
  graph.add_output("kept", sum(x, {0}, true).id);
  graph.add_output("flat", reshape(x, std::vector<std::int64_t>{-1}).id);
  graph.add_output("wide", broadcast(x, {4, 2, 3}).id);
  graph.add_output("narrow", sum_to(x, {3}).id);
  graph.add_output("mean", mean(x, {1}).id);
  graph.add_output("turned", transpose(x).id);
  graph.add_output("part", slice(x, 1, 1, 3).id);
  graph.add_output("joined", concat({x, square(x)}, 0).id);
  graph.add_output("chosen", select(greater(x, fill_like(x, 0)), x, fill_like(x, 2)).id);
  check_batched(graph, {"x"}, 4, 1e-12);
}

BOOST_AUTO_TEST_CASE(a_fused_op_without_a_rule_is_batched_as_its_composition) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {3}});
  const Value y = input(graph, "y", {DType::f64, {3}});
  graph.add_output("half", call(half_op, {x}).id);
  graph.add_output("other", call(half_op, {y}).id);
  check_batched(graph, {"x"}, 2, 1e-15);
  const Graph batched = batch(graph, {"x"}, 2);
  std::size_t fused = 0;
  for (NodeId id = 0; id < batched.size(); ++id) fused += &batched.op(id) == &half_op;
  BOOST_TEST(fused == 1u);  // the one that no chain has a part in
}

BOOST_AUTO_TEST_CASE(random_nodes_draw_for_each_chain) {
  Graph graph;
  const Value seed = input(graph, "seed", {DType::f64, {}});
  const AttrList attrs{{"shape", std::vector<std::int64_t>{2}}};
  const Value noise = call(draw_op, {seed}, make_attributes("draw", draw_op.attrs(), attrs));
  graph.add_output("twice", (noise * 2.0).id);
  const Graph batched = batch(graph, {}, 3);
  const auto result = evaluate(batched, {{"seed", Tensor::scalar(0.0)}});
  BOOST_TEST(to_string(result.at("twice").type()) == "f64[3,2]");
  BOOST_TEST(result.at("twice").at(5) == 10.0);
}

BOOST_AUTO_TEST_CASE(wrong_arguments_are_refused) {
  const Graph graph = logistic_regression();
  BOOST_CHECK_EXCEPTION(
      batch(graph, {"w"}, 0), Error,
      says(ErrorKind::usage, "[batch] the number of chains must be at least 1: 0"));
  BOOST_CHECK_EXCEPTION(
      batch(graph, {"ww"}, 2), Error,
      says(ErrorKind::usage, "[batch] the graph has no input 'ww', did you mean 'w'?"));
  BOOST_CHECK_EXCEPTION(batch(graph, {"logits"}, 2), Error,
                        says(ErrorKind::usage, "[batch] the graph has no input 'logits'"));
}

BOOST_AUTO_TEST_CASE(an_op_that_cannot_be_batched_is_named) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {}});
  const AttrList attrs{{"shape", std::vector<std::int64_t>{2}}};
  const Value y = call(single_op, {x}, make_attributes("single", single_op.attrs(), attrs));
  graph.set_name(y.id, "net/y");
  graph.add_output("y", y.id);
  BOOST_CHECK_EXCEPTION(batch(graph, {"x"}, 2), Error,
                        says(ErrorKind::graph,
                             "[batch] node 1 'net/y' (single): [single] the op cannot be batched: "
                             "it has no rule for it"));
}

BOOST_AUTO_TEST_CASE(a_rank_that_leaves_no_room_for_the_chains_is_refused) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {1, 1, 1, 1, 1, 1, 1, 1}});
  graph.add_output("y", (-x).id);
  BOOST_CHECK_EXCEPTION(batch(graph, {"x"}, 2), Error, [](const Error& error) {
    return error.kind() == ErrorKind::graph &&
           std::string(error.what()).starts_with("[batch] node 0 'x' (input): ");
  });
}

BOOST_AUTO_TEST_SUITE_END()
