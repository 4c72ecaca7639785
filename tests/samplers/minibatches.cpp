// Gradients of minibatches against the gradient of all rows.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>

#include "engine/ops.hpp"
#include "engine/random.hpp"
#include "samplers/chains.hpp"
#include "samplers/dynamics.hpp"

namespace whorl {

namespace {

constexpr std::int64_t all_rows = 12, columns = 3, chain_count = 2;

// A regression with a prior that is not flat: sum (x w - y)^2 / 2 and |w|^2 + w_0^4.
Graph regression(DType dtype, std::int64_t rows) {
  Graph graph;
  const Value w = input(graph, "w", {dtype, {columns}}, "parameter");
  const Value x = input(graph, "x", {dtype, {rows, columns}});
  const Value y = input(graph, "y", {dtype, {rows}});
  graph.add_output("prior", (sum(square(w)) + sum(square(square(slice(w, 0, 0, 1))))).id);
  graph.add_output("likelihood", (0.5 * sum(square(matmul(x, w) - y))).id);
  return graph;
}

Tensor table(const Shape& shape, std::uint32_t stream) {
  Tensor tensor({DType::f64, shape});
  fill_normal<double>({.seed = 2, .stream = stream}, 0, tensor.values<double>());
  return tensor;
}

// The energies and gradients [K, n] of one step from one place, on the given rows.
struct Seen {
  Tensor energy, gradient;
};
Seen seen(std::int64_t size, std::span<const std::int32_t> rows) {
  const Energy energy(regression(DType::f64, size),
                      static_cast<double>(all_rows) / static_cast<double>(size));
  const Step step = recipe_step(energy, complete_recipe(sgld_dynamics()),
                                {.gradient = {.minibatch = {all_rows, size, {"x", "y"}}}});
  Chains chains(step, {.chains = chain_count, .seed = 4, .statistics = {"gradient"}});
  chains.bind("x", table({all_rows, columns}, 1));
  chains.bind("y", table({all_rows}, 2));
  chains.start("position", {Start::Kind::normal, 0, 1});
  chains.advance([](std::int64_t) { return 0.01; },
                 [&](std::int64_t, std::span<std::int32_t> out) {
                   std::copy(rows.begin(), rows.end(), out.begin());
                 });
  return {chains.statistic("energy").clone(), chains.statistic("gradient").clone()};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(minibatches)

BOOST_AUTO_TEST_CASE(the_mean_over_disjoint_batches_is_the_full_gradient) {
  std::vector<std::int32_t> order = permutation({.seed = 9}, all_rows);
  const Seen full = seen(all_rows, order);
  for (std::int64_t size : {1, 3, 4, 6}) {
    const std::int64_t batches = all_rows / size;
    std::vector<double> energy(2, 0), gradient(chain_count * columns, 0);
    double spread = 0;
    for (std::int64_t b = 0; b < batches; ++b) {
      const Seen part = seen(size, std::span(order).subspan(static_cast<std::size_t>(b * size),
                                                            static_cast<std::size_t>(size)));
      for (std::size_t i = 0; i < energy.size(); ++i)
        energy[i] += part.energy.at(static_cast<std::int64_t>(i)) / static_cast<double>(batches);
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        const double g = part.gradient.at(static_cast<std::int64_t>(i));
        gradient[i] += g / static_cast<double>(batches);
        spread = std::max(spread, std::abs(g - full.gradient.at(static_cast<std::int64_t>(i))));
      }
    }
    for (std::size_t i = 0; i < energy.size(); ++i)
      BOOST_TEST(std::abs(energy[i] / full.energy.at(static_cast<std::int64_t>(i)) - 1) < 1e-12);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double wanted = full.gradient.at(static_cast<std::int64_t>(i));
      BOOST_TEST(std::abs(gradient[i] - wanted) < 1e-12 * (1 + std::abs(wanted)));
    }
    BOOST_TEST(spread > 0.1);
  }
}

BOOST_AUTO_TEST_CASE(the_prior_is_counted_once) {
  // Rows of zeros: what is left of the gradient is the prior's, 2 w and 4 w_0^3, at every size.
  for (std::int64_t size : {1, 4, 12}) {
    const Energy energy(regression(DType::f64, size),
                        static_cast<double>(all_rows) / static_cast<double>(size));
    const Step step = recipe_step(energy, complete_recipe(sgld_dynamics()),
                                  {.gradient = {.minibatch = {all_rows, size, {"x", "y"}}}});
    Chains chains(step, {.statistics = {"gradient"}});
    chains.bind("x", Tensor({DType::f64, {all_rows, columns}}));
    chains.bind("y", Tensor({DType::f64, {all_rows}}));
    chains.start("position", {Start::Kind::constant, 0.5, 0});
    chains.advance(
        [](std::int64_t) { return 0.01; },
        [](std::int64_t, std::span<std::int32_t> out) { std::iota(out.begin(), out.end(), 0); });
    BOOST_TEST(chains.statistic("gradient").at(0) == 1.5);
    BOOST_TEST(chains.statistic("gradient").at(1) == 1.0);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
