// Whole meta-gradients against an independent program: losses and second-order gradients at once.
//
// The step is written here in the plainest way, with Q and D and their derivatives by autodiff:
//   g  = grad U + noise,  q = Q(u, p),  dd = D(u, p, g)
//   p' = p - eta q g - eta dd p + eta (dQ/du g + dD/dp) + sqrt(2 eta dd) noise
//   x' = x + eta Q(u, p') p' - eta dQ/dp(u, p')
// U, g and all that goes into Q and D are constants for the meta-gradient.
#include "tests/support/vectors/metagradient.hpp"

#include <boost/test/unit_test.hpp>
#include <numbers>

#include "autodiff/coordinate.hpp"
#include "autodiff/tape.hpp"
#include "losses/kl.hpp"
#include "tests/losses/clouds.hpp"

using namespace whorl;
using namespace whorl::testing;
namespace given = whorl::testing::metagradient_vectors;

namespace {

constexpr double eta = 0.01;
const Shape state{given::chains, given::coordinates};

struct Rollout {
  Graph graph;
  Feeds feeds;
  Value q_weights = weights(given::q_weights, "q"), d_weights = weights(given::d_weights, "d");
  Value position = states(given::start_position), momentum = states(given::start_momentum);
  Value precision = constant(
      graph, Tensor::of<double>({2}, {1 / given::covariance[0], 1 / given::covariance[3]}));
  std::vector<Snapshot> after;  // for each step

  Rollout() {
    for (int t = 0; t < given::steps; ++t) {
      step(t);
      after.push_back({position, slope(position)});
    }
  }

  Value weights(std::span<const double> values, const char* name) {
    const Shape shape{static_cast<std::int64_t>(values.size())};
    feeds.emplace(name, Tensor::of<double>(shape, values));
    return input(graph, name, {DType::f64, shape});
  }
  Value states(std::span<const double> values) {
    return constant(graph, Tensor::of<double>(state, values.first(state.elements())));
  }
  Value slope(Value x) { return (x - 3.0) * precision; }
  Value energy(Value x) {
    const double determinant = given::covariance[0] * given::covariance[3];
    return 0.5 * sum((x - 3.0) * slope(x), {1}) +
           0.5 * std::log(2 * std::numbers::pi * determinant);
  }
  Value q(Value u, Value p) {
    const Value net =
        coordinate_net({u, p}, q_weights, {{given::hidden, given::hidden}, "relu", {}});
    return clamp(reshape(net, state), -5, 5);
  }
  Value d(Value u, Value p, Value g) {
    const Value net =
        coordinate_net({u, p, g}, d_weights, {{given::hidden, given::hidden}, "relu", {}});
    return clamp(abs(reshape(net, state)), 0, 5);
  }

  void step(int t) {
    const auto noise = [&](int draw) {
      return states(std::span(given::noise).subspan((2 * t + draw) * state.elements()));
    };
    const Value u =
        stop_gradient(broadcast(reshape(energy(position), Shape{given::chains, 1}), state));
    const Value g = stop_gradient(slope(position) + noise(0));
    if ((t + 1) % 5 == 0) {
      position = stop_gradient(position);
      momentum = stop_gradient(momentum);
    }
    const Value p = stop_gradient(momentum);
    const Value drive = q(u, p), friction = d(u, p, g);
    const Value correction =
        coordinate_derivative(drive, u) * g + coordinate_derivative(friction, p);
    momentum = momentum - eta * drive * g - eta * friction * momentum + eta * correction +
               sqrt(2 * eta * friction) * noise(1);
    const Value new_p = stop_gradient(momentum);
    const Value new_drive = q(u, new_p);
    position =
        position + eta * new_drive * momentum - eta * coordinate_derivative(new_drive, new_p);
  }

  Tensor value(Value v) const { return evaluate(graph, feeds, {v.id}).front(); }
  void check(Value loss, std::span<const double> by_q, std::span<const double> by_d) {
    const std::vector<Value> g = gradient(loss, {q_weights, d_weights});
    BOOST_TEST(largest_difference(value(g[0]), by_q) < 1e-9);
    BOOST_TEST(largest_difference(value(g[1]), by_d) < 1e-9);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(metagradient, Rollout)

BOOST_AUTO_TEST_CASE(the_path_is_that_of_an_independent_program) {
  BOOST_TEST(largest_difference(value(position), given::last_position) < 1e-12);
  BOOST_TEST(largest_difference(value(momentum), given::last_momentum) < 1e-12);
}

BOOST_AUTO_TEST_CASE(the_cross_chain_metagradient_is_that_of_an_independent_program) {
  std::vector<Snapshot> every_second;
  for (std::size_t t = 0; t < after.size(); t += 2) every_second.push_back(after[t]);
  check(cross_chain_loss(every_second), given::cross_by_q, given::cross_by_d);
}

BOOST_AUTO_TEST_CASE(the_in_chain_metagradient_is_that_of_an_independent_program) {
  const Value chains = constant(graph, Tensor::of<std::int32_t>({3}, {1, 3, 5}));
  check(in_chain_loss(std::vector{after[4], after[7], after[10]}, chains), given::in_by_q,
        given::in_by_d);
}

BOOST_AUTO_TEST_SUITE_END()
