#include "samplers/finite_difference.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "engine/ops.hpp"
#include "errors.hpp"
#include "samplers/chains.hpp"

namespace whorl {

namespace {

// U = |x|^2/2 + sum cos(x)/2 + constant.
Energy target(DType dtype, std::int64_t n, double constant) {
  Graph graph;
  const Value x = input(graph, "x", {dtype, {n}}, "parameter");
  graph.add_output("U", (0.5 * sum(square(x) + cos(x)) + constant).id);
  return Energy(std::move(graph));
}

// Smooth networks that bend Q by a good part, with every term of Gamma. The energy is seen from
// `constant` on.
LearnedSampler smooth_sampler(double constant) {
  LearnedSampler sampler;
  sampler.curl.hidden = {6};
  sampler.curl.activation = "tanh";
  sampler.curl.inputs = {{0.5, constant}, {1, 0}};
  sampler.curl.transform = Transform::tanh;
  sampler.curl.scale = 0.7;
  sampler.diffusion.hidden = {6};
  sampler.diffusion.activation = "tanh";
  sampler.diffusion.inputs = {{0.5, constant}, {1, 0}, {1, 0}};
  sampler.diffusion.transform = Transform::softplus;
  sampler.alpha = 0.3;
  sampler.beta = 1;
  sampler.c = 0.1;
  draw_weights(sampler, 3);
  for (Network* network : {&sampler.curl, &sampler.diffusion})
    for (double& w : network->weights) w *= 3;
  return sampler;
}

// The same law, with a prior of its own.
Energy target_of_parts(DType dtype, std::int64_t n) {
  Graph graph;
  const Value x = input(graph, "x", {dtype, {n}}, "parameter");
  graph.add_output("prior", (0.5 * sum(square(x))).id);
  graph.add_output("likelihood", (0.5 * sum(cos(x))).id);
  return Energy(std::move(graph));
}

// The same networks, looking at means: in two dimensions the prior weighs 3 / 2.
LearnedSampler sampler_of_means() {
  LearnedSampler sampler = smooth_sampler(0);
  sampler.energy_input = EnergyInput::mean_log_joint;
  sampler.mean_gradient = true;
  sampler.trained_size = 3;
  return sampler;
}
const TaskStatistics two_rows{.rows = 2};

Step exact_step(const Energy& energy, const LearnedSampler& sampler,
                const TaskStatistics& task = {}) {
  return recipe_step(energy, complete_recipe(learned_dynamics(sampler, task)));
}

// The largest difference of the momenta after two steps of both kinds, over eta: by the second
// step's Gamma and, times eta, by where the first one ended.
double correction_error(const Energy& energy, const LearnedSampler& sampler,
                        const TaskStatistics& task, double eta) {
  std::vector<Tensor> momenta;
  for (const Step& step :
       {exact_step(energy, sampler, task), finite_difference_step(energy, sampler, task)}) {
    Chains chains(step, {.chains = 100, .seed = 5});
    chains.start("position", {Start::Kind::normal, 0, 1});
    chains.start("momentum", {Start::Kind::normal, 0, 1});
    for (int t = 0; t < 2; ++t) chains.advance([=](std::int64_t) { return eta; });
    momenta.push_back(chains.state("momentum").clone());
  }
  double worst = 0;
  for (std::int64_t i = 0; i < momenta[0].elements(); ++i)
    worst = std::max(worst, std::abs(momenta[0].at(i) - momenta[1].at(i)) / eta);
  return worst;
}

// Averages over the end of a run: a mean over chains and its standard error for each function.
struct Average {
  double mean, error;
};
struct Outcome {
  Average x, xx, pp;
  double fallbacks = 0;  // the share of all corrections
};

Outcome outcome(const Step& step, std::int64_t n, bool counted) {
  constexpr std::int64_t chain_count = 2000;
  ChainsOptions options{.chains = chain_count, .steps_per_run = 10, .seed = 17};
  if (counted) options.statistics = {"fallbacks"};
  Chains chains(step, options);
  chains.start("position", {Start::Kind::normal, 0, 1});
  chains.start("momentum", {Start::Kind::normal, 0, 1});
  std::vector<std::array<double, 3>> sums(chain_count, {0, 0, 0});
  Outcome result;
  int kept = 0;
  double corrections = 0;
  while (chains.step() < 400) {
    chains.advance([](std::int64_t) { return 0.05; });
    if (counted) {
      const Tensor& fallbacks = chains.statistic("fallbacks");
      for (std::int64_t i = 0; i < fallbacks.elements(); ++i) result.fallbacks += fallbacks.at(i);
      corrections += static_cast<double>(2 * n * fallbacks.elements());
    }
    if (chains.step() <= 100) continue;
    ++kept;
    for (std::int64_t i = 0; i < chain_count * n; ++i) {
      const double x = chains.state("position").at(i), p = chains.state("momentum").at(i);
      auto& sum = sums[static_cast<std::size_t>(i / n)];
      sum[0] += x, sum[1] += x * x, sum[2] += p * p;
    }
  }
  if (counted) result.fallbacks /= corrections;
  const auto average = [&](std::size_t f) {
    double s = 0, ss = 0;
    for (const auto& sum : sums) {
      const double y = sum[f] / static_cast<double>(kept * n);
      s += y, ss += y * y;
    }
    const double mean = s / chain_count;
    return Average{mean, std::sqrt((ss / chain_count - mean * mean) / chain_count)};
  };
  result.x = average(0);
  result.xx = average(1);
  result.pp = average(2);
  return result;
}

void check_close(const Average& a, const Average& b, double margin) {
  BOOST_TEST(std::abs(a.mean - b.mean) < margin + 5.85 * std::hypot(a.error, b.error));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(finite_difference)

BOOST_AUTO_TEST_CASE(the_first_step_has_the_exact_correction) {
  const auto check = [](const Energy& energy, const LearnedSampler& sampler,
                        const TaskStatistics& task) {
    std::vector<Tensor> momenta;
    for (const Step& step :
         {exact_step(energy, sampler, task), finite_difference_step(energy, sampler, task)}) {
      Chains chains(step, {.chains = 3, .seed = 2});
      chains.start("position", {Start::Kind::normal, 0, 1});
      chains.start("momentum", {Start::Kind::normal, 0, 1});
      chains.advance([](std::int64_t) { return 0.1; });
      momenta.push_back(chains.state("momentum").clone());
    }
    BOOST_TEST(momenta[0].same_bits(momenta[1]));
  };
  for (DType dtype : {DType::f32, DType::f64}) {
    check(target(dtype, 5, 0), smooth_sampler(0), {});
    check(target_of_parts(dtype, 5), sampler_of_means(), two_rows);
  }
}

BOOST_AUTO_TEST_CASE(quotients_become_derivatives_as_steps_become_small) {
  // A momentum moves by sqrt(2 eta D), and so far is a quotient from the derivative.
  const auto check = [](const Energy& energy, const LearnedSampler& sampler,
                        const TaskStatistics& task) {
    const double coarse = correction_error(energy, sampler, task, 1e-4);
    const double fine = correction_error(energy, sampler, task, 1e-6);
    BOOST_TEST(coarse > 1e-3);
    BOOST_TEST(fine < 1e-2);
    BOOST_TEST(coarse / fine > 5);
    BOOST_TEST(coarse / fine < 20);
  };
  check(target(DType::f64, 2, 0), smooth_sampler(0), {});
  check(target_of_parts(DType::f64, 2), sampler_of_means(), two_rows);
}

BOOST_AUTO_TEST_CASE(quotients_give_the_law_of_derivatives_also_where_many_fall_back) {
  // At 1e6 single precision has steps of 1/16, so the energy often stays where it was. Without the
  // exact Gamma in its place the mean of x would be 0.14 off.
  const std::int64_t n = 2;
  const Outcome exact = outcome(exact_step(target(DType::f64, n, 0), smooth_sampler(0)), n, false);
  const Outcome wide =
      outcome(finite_difference_step(target(DType::f64, n, 0), smooth_sampler(0)), n, true);
  const Outcome narrow =
      outcome(finite_difference_step(target(DType::f32, n, 1e6), smooth_sampler(1e6)), n, true);
  BOOST_TEST(wide.fallbacks == 0);
  BOOST_TEST(narrow.fallbacks > 0.1);
  for (const Outcome& other : {wide, narrow}) {
    check_close(other.x, exact.x, 0.02);
    check_close(other.xx, exact.xx, 0.02);
    check_close(other.pp, exact.pp, 0.02);
  }
}

BOOST_AUTO_TEST_CASE(a_chain_that_stands_still_falls_back_everywhere) {
  // No force, no noise, no momentum: after the first step every difference is 0.
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {4}}, "parameter");
  graph.add_output("U", sum(0 * x).id);
  const Energy energy(std::move(graph));
  Chains chains(finite_difference_step(energy, smooth_sampler(0), {}, 0, {.temperature = 0}),
                {.chains = 2, .statistics = {"fallbacks"}});
  chains.advance([](std::int64_t) { return 0.1; });
  BOOST_TEST(chains.statistic("fallbacks").at(0) == 4);
  chains.advance([](std::int64_t) { return 0.1; });
  BOOST_TEST(chains.statistic("fallbacks").at(1) == 8);
  BOOST_TEST(chains.state("position").at(0) == 0);
}

BOOST_AUTO_TEST_CASE(an_input_that_a_network_does_not_see_is_no_reason_to_fall_back) {
  LearnedSampler sampler = smooth_sampler(0);
  sampler.curl.inputs[1].scale = 0;
  Chains chains(finite_difference_step(target(DType::f64, 2, 0), sampler),
                {.chains = 50, .seed = 5, .statistics = {"fallbacks"}});
  chains.start("position", {Start::Kind::normal, 0, 1});
  chains.start("momentum", {Start::Kind::normal, 0, 1});
  for (int t = 0; t < 5; ++t) {
    chains.advance([](std::int64_t) { return 0.05; });
    for (double count : chains.statistic("fallbacks").values<double>()) BOOST_TEST(count == 0);
  }
}

BOOST_AUTO_TEST_CASE(only_the_semi_implicit_integrator_is_defined) {
  BOOST_TEST(testing::error_text([] {
               finite_difference_step(target(DType::f64, 2, 0), smooth_sampler(0), {}, 0,
                                      {.integrator = Integrator::euler});
             }) ==
             "[sampler] finite differences are defined for the semi-implicit integrator only");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
