// HMC leaves its target as it is, at step sizes where the leapfrog alone would not.
#include "samplers/hmc.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "engine/ops.hpp"
#include "engine/random.hpp"
#include "samplers/chains.hpp"

namespace whorl {

namespace {

// Two modes of unequal weight: w N(m, s^2) + (1 - w) N(-m, s^2), independent in every coordinate.
constexpr double weight = 0.7, centre = 1.5, spread = 0.6;

Energy mixture(std::int64_t n) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {n}}, "parameter");
  const double slope = centre / (spread * spread);
  const Value u = square(x) / (2 * spread * spread) + slope * x -
                  softplus(2 * slope * x + std::log(weight / (1 - weight)));
  graph.add_output("U", sum(u).id);
  return Energy(std::move(graph));
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double mixture_cdf(double x) {
  return weight * normal_cdf((x - centre) / spread) +
         (1 - weight) * normal_cdf((x + centre) / spread);
}

Tensor mixture_draws(std::int64_t chains, std::int64_t n) {
  Tensor values({DType::f64, {chains, n}});
  for (std::int64_t i = 0; i < values.elements(); ++i) {
    const double side = uniform<double>({.seed = 31, .stream = 5}, i) < weight ? 1 : -1;
    values.data<double>()[i] =
        side * centre + spread * normal<double>({.seed = 31, .stream = 6}, i);
  }
  return values;
}

// sup |F_n - F|.
double distance(const Tensor& draws, double (*cdf)(double)) {
  std::vector<double> x(draws.values<double>().begin(), draws.values<double>().end());
  std::sort(x.begin(), x.end());
  double worst = 0;
  const auto n = static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double f = cdf(x[i]);
    worst = std::max({worst, f - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - f});
  }
  return worst;
}
// Exceeded with probability 5e-9 (Dvoretzky, Kiefer and Wolfowitz).
double distance_limit(double n) { return std::sqrt(std::log(2 / 5e-9) / (2 * n)); }

struct Moments {
  double mean, variance;
};
// The mean of f over all draws, and the variance of f.
template <class F>
Moments moments(const Tensor& draws, F&& f) {
  double sum = 0, squares = 0;
  for (double x : draws.values<double>()) {
    const double y = f(x);
    sum += y, squares += y * y;
  }
  const auto n = static_cast<double>(draws.elements());
  return {sum / n, squares / n - sum / n * (sum / n)};
}

double acceptance(const Chains& chains) {
  const Tensor& accepted = chains.statistic("accepted");
  double sum = 0;
  for (double x : accepted.values<double>()) {
    BOOST_REQUIRE((x == 0 || x == 1));
    sum += x;
  }
  return sum / static_cast<double>(accepted.elements());
}

void check_mixture(const Tensor& draws, const char* when) {
  const auto n = static_cast<double>(draws.elements());
  const double mean = (2 * weight - 1) * centre, second = centre * centre + spread * spread;
  const Moments first = moments(draws, [](double x) { return x; });
  const Moments square = moments(draws, [](double x) { return x * x; });
  BOOST_TEST(std::abs(first.mean - mean) < 5.85 * std::sqrt((second - mean * mean) / n), when);
  BOOST_TEST(std::abs(square.mean - second) < 5.85 * std::sqrt(square.variance / n), when);
  BOOST_TEST(distance(draws, mixture_cdf) < distance_limit(n), when);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hmc)

BOOST_AUTO_TEST_CASE(one_and_a_hundred_steps_keep_the_law_of_two_modes) {
  const std::int64_t chain_count = 5000, n = 10;
  Chains chains(hmc_step(mixture(n), {.leapfrog_steps = 3}),
                {.chains = chain_count, .seed = 8, .statistics = {"accepted"}});
  const Tensor start = mixture_draws(chain_count, n);
  chains.set("position", start);
  check_mixture(start, "before");
  chains.advance([](std::int64_t) { return 0.6; });
  // The step is rough enough for the test to bite.
  BOOST_TEST(acceptance(chains) < 0.85);
  BOOST_TEST(acceptance(chains) > 0.5);
  check_mixture(chains.state("position"), "after one step");
  while (chains.step() < 100) chains.advance([](std::int64_t) { return 0.6; });
  check_mixture(chains.state("position"), "after a hundred steps");
}

BOOST_AUTO_TEST_CASE(a_gaussian_keeps_its_covariance_at_any_temperature) {
  // Covariance T [[2, 0.9], [0.9, 0.75]].
  const double a = 2, b = 0.9, c = 0.75, temperature = 1.5, det = a * c - b * b;
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {2}}, "parameter");
  const Value precision =
      constant(graph, Tensor::of<double>({2, 2}, {c / det, -b / det, -b / det, a / det}));
  graph.add_output("U", (0.5 * sum(x * matmul(precision, x))).id);

  const std::int64_t chain_count = 20000;
  Chains chains(hmc_step(Energy(std::move(graph)), {.leapfrog_steps = 3, .temperature = 1.5}),
                {.chains = chain_count, .seed = 21, .statistics = {"accepted"}});
  Tensor start({DType::f64, {chain_count, 2}});
  const double l = std::sqrt(a), m = b / l, k = std::sqrt(c - m * m), root = std::sqrt(temperature);
  for (std::int64_t i = 0; i < chain_count; ++i) {
    const double z0 = normal<double>({.seed = 77}, 2 * i),
                 z1 = normal<double>({.seed = 77}, 2 * i + 1);
    start.data<double>()[2 * i] = root * l * z0;
    start.data<double>()[2 * i + 1] = root * (m * z0 + k * z1);
  }
  chains.set("position", start);
  for (int t = 1; t <= 20; ++t) {
    chains.advance([](std::int64_t) { return 0.85; });
    if (t != 1 && t != 20) continue;
    BOOST_TEST(acceptance(chains) < 0.9);
    BOOST_TEST(acceptance(chains) > 0.4);
    const double* z = chains.state("position").data<double>();
    double s0 = 0, s1 = 0, s00 = 0, s01 = 0, s11 = 0;
    for (std::int64_t i = 0; i < chain_count; ++i) {
      const double p = z[2 * i], q = z[2 * i + 1];
      s0 += p, s1 += q, s00 += p * p, s01 += p * q, s11 += q * q;
    }
    const auto n = static_cast<double>(chain_count);
    const auto check = [&](double sum, double mean, double variance) {
      BOOST_TEST(std::abs(sum / n - mean) < 5.85 * std::sqrt(variance / n));
    };
    const double aa = temperature * a, bb = temperature * b, cc = temperature * c;
    check(s0, 0, aa);
    check(s1, 0, cc);
    check(s00, aa, 2 * aa * aa);
    check(s01, bb, aa * cc + bb * bb);
    check(s11, cc, 2 * cc * cc);
  }
}

BOOST_AUTO_TEST_CASE(a_proposal_that_is_not_finite_is_not_kept) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {2}}, "parameter");
  graph.add_output("U", sum(square(square(x))).id);
  Chains chains(hmc_step(Energy(std::move(graph)), {.leapfrog_steps = 12, .jitter = 0}),
                {.chains = 3, .seed = 1, .statistics = {"accepted"}});
  chains.start("position", {Start::Kind::constant, 1, 0});
  const Tensor before = chains.state("position").clone();
  chains.advance([](std::int64_t) { return 50.0; });
  BOOST_TEST(acceptance(chains) == 0);
  BOOST_TEST(chains.state("position").same_bits(before));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
