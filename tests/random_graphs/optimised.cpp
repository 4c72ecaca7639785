// Random graphs, compiled and run: the bits of the plain evaluation, on any number of threads.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "engine/executor.hpp"
#include "engine/ops.hpp"
#include "engine/passes.hpp"
#include "generator.hpp"
#include "op_cases.hpp"

using namespace whorl;
using namespace whorl::testing;

namespace {

using Outputs = std::map<std::string, Tensor, std::less<>>;

Outputs run(const std::shared_ptr<const Plan>& plan, const Feeds& feeds, int threads,
            const Graph& graph) {
  Executor executor(plan, {.threads = threads});
  for (const auto& [name, tensor] : feeds) executor.bind(name, tensor);
  executor.run();
  executor.run();  // the second time in used memory
  Outputs outputs;
  for (const auto& output : graph.outputs())
    outputs.emplace(output.name, executor.output(output.name).clone());
  return outputs;
}

void check_same_bits(const RandomGraph& g, const Outputs& expected, const Outputs& found,
                     std::string_view how) {
  for (const auto& [name, tensor] : expected)
    BOOST_TEST(found.at(name).same_bits(tensor), "seed " << g.seed << " output " << name << " "
                                                         << how << ": "
                                                         << distance(found.at(name), tensor));
}

// `algebra` may change the order of operations, so results may differ by rounding errors, which
// later nodes enlarge.
void check_close(const RandomGraph& g, const Outputs& expected, const Outputs& found) {
  for (const auto& [name, tensor] : expected) {
    const double tolerance = tensor.dtype() == DType::f32 ? 1e-4 : 1e-11;
    const double scale = std::max(1.0, largest(tensor));
    const double error = distance(found.at(name), tensor) * largest(tensor) / scale;
    BOOST_TEST(error <= tolerance, "seed " << g.seed << " output " << name << ": " << error);
  }
}

void check_plans(const RandomGraph& g) {
  const Outputs expected = evaluate(*g.graph, g.feeds);
  CompileOptions exact;
  exact.skip = {"algebra"};
  const auto plan = compile(*g.graph, exact);
  for (int threads : {1, 2, 4})
    check_same_bits(g, expected, run(plan, g.feeds, threads, *g.graph),
                    fmt::format("on {} threads", threads));
  exact.skip = {"algebra", "fuse"};
  check_same_bits(g, expected, run(compile(*g.graph, exact), g.feeds, 2, *g.graph),
                  "without fusion");

  const auto free = compile(*g.graph);
  const Outputs simplified = run(free, g.feeds, 1, *g.graph);
  check_close(g, expected, simplified);
  for (int threads : {2, 4})
    check_same_bits(g, simplified, run(free, g.feeds, threads, *g.graph),
                    fmt::format("with algebra on {} threads", threads));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(optimised)

BOOST_AUTO_TEST_CASE(small_graphs_have_the_bits_of_the_plain_evaluation) {
  for (std::uint64_t seed = 0; seed < 250; ++seed)
    for (DType dtype : {DType::f64, DType::f32})
      check_plans(random_graph(seed, small_options(seed, dtype)));
}

BOOST_AUTO_TEST_CASE(large_graphs_have_the_bits_of_the_plain_evaluation) {
  for (std::uint64_t seed = 5000; seed < 5040; ++seed)
    for (DType dtype : {DType::f64, DType::f32})
      check_plans(random_graph(seed, large_options(seed, dtype)));
}

// Sums over every set of axes of shapes with axes of size 1 between the others, as sinks of a loop.
BOOST_AUTO_TEST_CASE(sums_of_a_loop_have_the_bits_of_the_plain_evaluation) {
  for (const Shape& shape : {Shape{7, 1, 3}, Shape{7, 1, 300}, Shape{3, 40, 1, 37},
                             Shape{1, 500, 2}, Shape{2, 3, 1, 1}, Shape{1, 1, 1, 900}}) {
    for (DType dtype : {DType::f32, DType::f64}) {
      RandomGraph g;
      g.seed = static_cast<std::uint64_t>(shape.elements());
      const Value x = input(*g.graph, "x", {dtype, shape});
      g.feeds.emplace("x", uneven(x.type()));
      const Value loop = x * x + 0.125;
      for (unsigned set = 1; set < 1u << shape.rank(); ++set) {
        Axes axes;
        for (int axis = 0; axis < shape.rank(); ++axis)
          if (set >> axis & 1u) axes.push_back(axis);
        g.graph->add_output(fmt::format("s{}", set), sum(loop, axes).id);
        RandomGraph alone;
        alone.seed = set;
        const Value z = input(*alone.graph, "x", {dtype, shape});
        alone.feeds = g.feeds;
        alone.graph->add_output("s", sum(z * z + 0.125, axes).id);
        check_plans(alone);
      }
      check_plans(g);
    }
  }
}

BOOST_AUTO_TEST_CASE(every_pass_keeps_the_values) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const RandomGraph g = random_graph(seed, small_options(seed, DType::f64));
    const Outputs expected = evaluate(*g.graph, g.feeds);
    for (const Pass& pass : standard_passes()) {
      const Outputs found = evaluate(pass.run(*g.graph), g.feeds);
      if (pass.name == "algebra") {
        check_close(g, expected, found);
      } else {
        check_same_bits(g, expected, found, fmt::format("after {}", pass.name));
      }
    }
  }
}

// A simplified graph is a fixed point but for what a second look may still find.
BOOST_AUTO_TEST_CASE(simplifying_twice_does_not_grow_a_graph) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const RandomGraph g = random_graph(seed, small_options(seed, DType::f64));
    const Graph once = simplify(*g.graph), twice = simplify(once);
    BOOST_TEST(once.size() <= lower(*g.graph).size(), "seed " << seed);
    BOOST_TEST(twice.size() <= once.size(), "seed " << seed);
  }
}

BOOST_AUTO_TEST_CASE(a_batch_equals_its_chains_one_by_one) {
  constexpr std::int64_t chains = 3;
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RandomGraph g = random_graph(seed, small_options(seed, DType::f64));
    // Chains draw different random numbers; inputs without a name cannot be batched.
    if (g.draws) continue;
    // The first input stays shared.
    std::vector<std::string> names;
    Feeds feeds{{"in0", g.feeds.at("in0")}};
    std::vector<Feeds> rows(chains, feeds);
    for (std::size_t i = g.inputs.size() > 1 ? 1 : 0; i < g.inputs.size(); ++i) {
      names.push_back(fmt::format("in{}", i));
      const Tensor& one = g.feeds.at(names.back());
      Tensor all({one.dtype(), one.shape().with_front(chains)});
      for (std::int64_t chain = 0; chain < chains; ++chain) {
        Tensor row = one.clone();
        for (std::int64_t k = 0; k < row.elements(); ++k) {
          row.data<double>()[k] *= 1 - 0.01 * static_cast<double>(chain);
          all.data<double>()[chain * row.elements() + k] = row.data<double>()[k];
        }
        rows[static_cast<std::size_t>(chain)].insert_or_assign(names.back(), row);
      }
      feeds.insert_or_assign(names.back(), all);
    }
    const Graph many = batch(*g.graph, names, chains);
    const Outputs found = evaluate(many, feeds);
    for (std::int64_t chain = 0; chain < chains; ++chain) {
      const Outputs expected = evaluate(*g.graph, rows[static_cast<std::size_t>(chain)]);
      for (const auto& [name, tensor] : expected) {
        Tensor row(tensor.type());
        BOOST_REQUIRE((found.at(name).shape() == tensor.shape().with_front(chains)));
        for (std::int64_t k = 0; k < row.elements(); ++k)
          row.data<double>()[k] = found.at(name).at(chain * row.elements() + k);
        const double error =
            distance(row, tensor) * largest(tensor) / std::max(1.0, largest(tensor));
        BOOST_TEST(error <= 1e-11, "seed " << seed << " output " << name << ": " << error);
      }
    }
    ++compared;
  }
  BOOST_TEST(compared >= 100);
}

BOOST_AUTO_TEST_SUITE_END()
