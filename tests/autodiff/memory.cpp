// What differentiated graphs need in memory.
#include <boost/test/unit_test.hpp>

#include "autodiff/tape.hpp"
#include "engine/compile.hpp"
#include "engine/ops.hpp"
#include "engine/plan.hpp"

using namespace whorl;

namespace {

constexpr std::int64_t size = 1 << 14;

// `windows` windows of `steps` steps each, the state cut from the tape between them; every step
// keeps a value for its backward pass, and every window adds to the gradient of w.
Graph truncated(int windows, int steps) {
  Graph graph;
  const Value w = input(graph, "w", {DType::f32, {size}});
  Value x = input(graph, "x", {DType::f32, {size}});
  Value loss = fill(graph, {DType::f32, {}}, 0);
  for (int window = 0; window < windows; ++window) {
    x = stop_gradient(x);
    // The mean keeps the steps apart, as a product with all coordinates would.
    for (int step = 0; step < steps; ++step) x = tanh(x * w + mean(x));
    loss = loss + sum(square(x));
  }
  const Value g = gradient(loss, w);
  graph.add_output("x", x.id);
  graph.add_output("g", g.id);
  return graph;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(memory)

BOOST_AUTO_TEST_CASE(truncated_back_propagation_keeps_one_window_alive) {
  const auto one = compile(truncated(1, 10))->arena_bytes;
  const auto many = compile(truncated(12, 10))->arena_bytes;
  // A little more than one window: the state and the running gradient are alive as well.
  BOOST_TEST(many <= one + 6 * size * 4);
  BOOST_TEST(one >= 9 * size * 4);
}

BOOST_AUTO_TEST_SUITE_END()
