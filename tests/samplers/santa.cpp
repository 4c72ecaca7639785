// Santa's two stages, and where it ends.
#include "samplers/santa.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "engine/ops.hpp"
#include "engine/random.hpp"
#include "plain.hpp"
#include "samplers/chains.hpp"

namespace whorl {

using namespace testing;

namespace {

constexpr std::int64_t size = 3;

// A correlated Gaussian: U = ((x - m)' A (x - m)) / 2, A = diag(1, 4, 9) + 1/2 everywhere.
constexpr double mode[] = {3, -1, 0.5}, origin[] = {0};

Energy gaussian() {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {size}}, "parameter");
  const Value m = constant(graph, Tensor::of<double>({size}, {mode[0], mode[1], mode[2]}));
  const Value a = square(1 + iota(graph, {DType::f64, {size}}, 0));
  graph.add_output("U", (0.5 * sum(a * square(x - m)) + 0.25 * square(sum(x - m))).id);
  return Energy(std::move(graph));
}

void make_steps(Chains& chains, std::int64_t steps, double eta) {
  for (std::int64_t t = 0; t < steps; ++t) chains.advance([=](std::int64_t) { return eta; });
}

// The state of chains that have explored for 20 steps, put into chains with another seed.
Chains continued(const Step& step, const Chains& from, std::uint64_t seed) {
  Chains result(step, {.chains = from.options().chains, .seed = seed});
  for (const StateVariable& variable : step.state)
    result.set(variable.name, from.state(variable.name));
  return result;
}

double largest_distance(const Tensor& positions, std::span<const double> wanted) {
  double worst = 0;
  for (std::int64_t i = 0; i < positions.elements(); ++i)
    worst = std::max(
        worst, std::abs(positions.at(i) - wanted[static_cast<std::size_t>(i) % wanted.size()]));
  return worst;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(santa)

BOOST_AUTO_TEST_CASE(refinement_injects_no_noise_and_exploration_does) {
  for (const auto& [border, same] : {std::pair{20, true}, std::pair{21, false}}) {
    const Step step = santa_step(wavy(DType::f32, size), {.refine_from = border});
    Chains first(step, {.chains = 2, .seed = 1});
    make_steps(first, 20, 0.01);
    Chains one = continued(step, first, 2), two = continued(step, first, 3);
    make_steps(one, 30, 0.01);
    make_steps(two, 30, 0.01);
    for (const char* variable : {"position", "momentum"})
      BOOST_TEST(one.state(variable).same_bits(two.state(variable)) == same, variable);
    // The thermostat stands still from the border on.
    if (same) BOOST_TEST(one.state("thermostat").same_bits(first.state("thermostat")));
  }
}

BOOST_AUTO_TEST_CASE(it_begins_where_the_paper_says) {
  const double eta = 0.04, c = 2.5;
  const Step step = santa_step(gaussian(), {.friction = c});
  Chains chains(step, {.chains = 20000, .seed = 4});
  const Tensor& u = chains.state("momentum");
  double mean = 0, square = 0;
  for (std::int64_t i = 0; i < u.elements(); ++i) {
    mean += u.at(i) / static_cast<double>(u.elements());
    square += u.at(i) * u.at(i) / static_cast<double>(u.elements());
  }
  // Six standard errors.
  BOOST_TEST(std::abs(mean) < 0.025);
  BOOST_TEST(std::abs(square - 1) < 0.035);
  // alpha_1 = sqrt(eta) C + u_0^2 - eta.
  const Tensor before = u.clone();
  make_steps(chains, 1, eta);
  for (std::int64_t i = 0; i < 30; ++i)
    BOOST_TEST(std::sqrt(eta) * chains.state("thermostat").at(i) ==
                   std::sqrt(eta) * c + eta * before.at(i) * before.at(i) - eta,
               boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(at_a_constant_beta_it_keeps_its_momenta_that_warm) {
  // A constant preconditioner: with epsilon as large as this, g = 1/2 but for a thousandth.
  const double beta = 4;
  const Step step = santa_step(
      gaussian(),
      {.friction = 1, .epsilon = 4, .data_size = 1e4, .beta_scale = beta, .beta_power = 0});
  Chains chains(step, {.chains = 400, .seed = 6});
  double warm = 0, spread = 0;
  for (int t = 0; t < 3000; ++t) {
    make_steps(chains, 1, 0.01);
    if (t < 1000) continue;
    const Tensor &p = chains.state("momentum"), &x = chains.state("position");
    for (std::int64_t k = 0; k < 400; ++k) {
      warm += p.at(size * k) * p.at(size * k);
      spread += std::pow(x.at(size * k + 2) - mode[2], 2);
    }
  }
  warm /= 400 * 2000;
  spread /= 400 * 2000;
  BOOST_TEST(warm == 1 / beta, boost::test_tools::tolerance(0.03));
  // The inverse of A has 1/9 - (1/2)/81 / (1 + (1/2)(1 + 1/4 + 1/9)) in this corner.
  const double variance = 1 / 9.0 - 0.5 / 81 / (1 + 0.5 * (1 + 0.25 + 1 / 9.0));
  BOOST_TEST(spread == variance / beta, boost::test_tools::tolerance(0.05));
}

BOOST_AUTO_TEST_CASE(it_finds_the_mode_of_a_gaussian) {
  const Step step = santa_step(gaussian(), {.refine_from = 1500});
  Chains chains(step, {.chains = 50, .seed = 2});
  chains.start("position", {Start::Kind::normal, 0, 2});
  make_steps(chains, 1500, 0.01);
  const double explored = largest_distance(chains.state("position"), mode);
  make_steps(chains, 1500, 0.01);
  const double refined = largest_distance(chains.state("position"), mode);
  // Steps of the order of eta remain, and less of them where eta is less.
  BOOST_TEST(explored > 0.1);
  BOOST_TEST(refined < 0.03);
  make_steps(chains, 3000, 0.0001);
  BOOST_TEST(largest_distance(chains.state("position"), mode) < 0.001);
}

BOOST_AUTO_TEST_CASE(it_finds_the_mode_of_a_logistic_regression_with_minibatches) {
  constexpr std::int64_t rows = 200, batch = 20;
  Tensor x({DType::f64, {rows, 2}}), y({DType::f64, {rows}});
  const RandomCoordinates at{9, 0, 0, 0};
  for (std::int64_t i = 0; i < rows; ++i) {
    const double a = normal<double>(at, 3 * i), b = normal<double>(at, 3 * i + 1);
    x.data<double>()[static_cast<std::size_t>(2 * i)] = a;
    x.data<double>()[static_cast<std::size_t>(2 * i + 1)] = b;
    const double logit = 1.5 * a - b + normal<double>(at, 3 * i + 2);
    y.data<double>()[static_cast<std::size_t>(i)] = logit > 0 ? 1 : 0;
  }
  Graph graph;
  const Value w = input(graph, "w", {DType::f64, {2}}, "parameter");
  const Value features = input(graph, "x", {DType::f64, {batch, 2}});
  const Value labels = input(graph, "y", {DType::f64, {batch}});
  const Value z = matmul(features, w);
  graph.add_output("prior", (0.5 * sum(square(w))).id);
  graph.add_output("likelihood", sum(softplus(z) - labels * z).id);
  const Energy energy(std::move(graph), static_cast<double>(rows) / batch);

  // Newton's method, on all rows.
  double best[2] = {0, 0};
  for (int round = 0; round < 50; ++round) {
    double g[2] = {best[0], best[1]}, h[3] = {1, 0, 1};
    for (std::int64_t i = 0; i < rows; ++i) {
      const double a = x.at(2 * i), b = x.at(2 * i + 1);
      const double p = 1 / (1 + std::exp(-(a * best[0] + b * best[1])));
      g[0] += (p - y.at(i)) * a, g[1] += (p - y.at(i)) * b;
      h[0] += p * (1 - p) * a * a, h[1] += p * (1 - p) * a * b, h[2] += p * (1 - p) * b * b;
    }
    const double determinant = h[0] * h[2] - h[1] * h[1];
    best[0] -= (h[2] * g[0] - h[1] * g[1]) / determinant;
    best[1] -= (h[0] * g[1] - h[1] * g[0]) / determinant;
  }

  const GradientSource gradient{.minibatch = {rows, batch, {"x", "y"}}};
  Chains chains(santa_step(energy, {.data_size = rows, .refine_from = 3000, .gradient = gradient}),
                {.chains = 8, .seed = 3});
  chains.bind("x", x);
  chains.bind("y", y);
  chains.start("position", {Start::Kind::normal, 0, 1});
  const auto pick = [](std::int64_t step, std::span<std::int32_t> chosen) {
    for (std::size_t i = 0; i < chosen.size(); ++i)
      chosen[i] = static_cast<std::int32_t>((step * batch + static_cast<std::int64_t>(i)) % rows);
  };
  const auto eta = [](std::int64_t step) { return (step < 4000 ? 0.01 : 0.0005) / rows; };
  double mean[2] = {0, 0};
  for (int t = 0; t < 9000; ++t) {
    chains.advance(eta, pick);
    // Minibatches go round, and so does the end: its mean over a hundred rounds is what counts.
    for (std::int64_t i = 0; i < 16 && t >= 8000; ++i)
      mean[i % 2] += chains.state("position").at(i) / 8000;
  }
  for (int i : {0, 1}) BOOST_TEST(std::abs(mean[i] - best[i]) < 0.02);
  BOOST_TEST(largest_distance(chains.state("position"), best) < 0.1);
}

BOOST_AUTO_TEST_CASE(a_thermostat_that_is_frozen_below_zero_still_brakes) {
  const Step step = santa_step(gaussian(), {.refine_from = 0});
  Chains chains(step, {.chains = 10, .seed = 7});
  chains.start("thermostat", {Start::Kind::uniform, -3, 0});
  make_steps(chains, 2000, 0.01);
  BOOST_TEST(largest_distance(chains.state("position"), mode) < 0.03);
}

BOOST_AUTO_TEST_CASE(a_step_far_too_large_brings_the_thermostat_to_its_bound_and_not_beyond) {
  const double eta = 0.25;
  const Step step = santa_step(wavy(DType::f64, size), {.friction = 0, .refine_from = 200});
  Chains chains(step, {.chains = 20, .seed = 5});
  chains.start("position", {Start::Kind::normal, 0, 30});
  double largest = 0;
  for (int t = 0; t < 400; ++t) {
    make_steps(chains, 1, eta);
    largest = std::max(largest, largest_distance(chains.state("thermostat"), origin));
  }
  BOOST_TEST(largest == 1 / std::sqrt(eta));
  BOOST_TEST(largest_distance(chains.state("position"), origin) < 10);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
