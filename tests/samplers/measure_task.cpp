#include "samplers/measure_task.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "engine/ops.hpp"
#include "errors.hpp"

namespace whorl {

namespace {

using testing::error_text;

constexpr std::int64_t n = 8;

// N(3, sd^2 I), with U = 0 in the middle.
Energy round_energy(double sd) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {n}}, "parameter");
  graph.add_output("U", (0.5 / (sd * sd) * sum(square(x - 3))).id);
  return Energy(std::move(graph));
}

const Start around{Start::Kind::uniform, 0, 6};

}  // namespace

BOOST_AUTO_TEST_SUITE(task_measurement)

// For a Gaussian, U - U_min is Gamma(n/2): mean n/2, variance n/2. p has variance 1, and g =
// (x-3)/sd^2 has variance 1/sd^2; the injected noise adds its own. About 3,200 independent states
// of 8 coordinates leave errors near 2%; the discretisation adds 1%.
BOOST_AUTO_TEST_CASE(a_gaussian_has_the_statistics_of_its_law) {
  const Pilot pilot{.step_size = 0.05, .friction = 1, .chains = 64, .steps = 2000};
  const TaskStatistics found =
      measure_task(round_energy(2), {.injected_noise = 0.3}, pilot, around, 1);
  BOOST_TEST(std::abs(found.energy_mean - 4) < 0.3);
  BOOST_TEST(std::abs(found.energy_sd - 2) < 0.2);
  BOOST_TEST(std::abs(found.momentum_rms - 1) < 0.03);
  BOOST_TEST(std::abs(found.gradient_rms - std::sqrt(0.25 + 0.09)) < 0.03);
}

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_bits_on_any_number_of_threads) {
  const Energy energy = round_energy(1);
  const Pilot pilot{.step_size = 0.05, .friction = 1, .chains = 4, .steps = 60};
  const TaskStatistics base = measure_task(energy, {}, pilot, around, 1);
  const TaskStatistics same = measure_task(energy, {}, pilot, around, 1, {}, 4);
  BOOST_TEST(same.energy_mean == base.energy_mean);
  BOOST_TEST(same.gradient_rms == base.gradient_rms);
  BOOST_TEST(measure_task(energy, {}, pilot, around, 2).energy_mean != base.energy_mean);
}

BOOST_AUTO_TEST_CASE(data_and_minibatches_reach_the_pilot) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {1}}, "parameter");
  const Value y = input(graph, "y", {DType::f64, {2}});
  graph.add_output("prior", (0.5 * sum(square(x))).id);
  graph.add_output("likelihood", (0.5 * sum(square(y - x))).id);
  const Energy energy(std::move(graph), 2);
  const Tensor table = Tensor::of<double>({4}, {1, 2, 3, 4});
  std::int64_t steps = 0;
  const TaskData data{[&](Chains& chains) { chains.bind("y", table); },
                      [&](std::int64_t step, std::span<std::int32_t> rows) {
                        rows[0] = static_cast<std::int32_t>(step % 4);
                        rows[1] = static_cast<std::int32_t>((step + 1) % 4);
                        ++steps;
                      }};
  const Pilot pilot{.step_size = 0.05, .friction = 1, .chains = 4, .steps = 200};
  const TaskStatistics found =
      measure_task(energy, {0, {4, 2, {"y"}}}, pilot, {Start::Kind::constant, 2, 0}, 1, data);
  BOOST_TEST(steps == 200);
  BOOST_TEST(found.energy_sd > 0);
}

// With sd 0.005 SGHMC is stable up to a step size near 0.01, so that 0.025 and 0.0125 fail.
BOOST_AUTO_TEST_CASE(a_narrow_target_is_measured_with_a_smaller_step_size) {
  const TaskStatistics found =
      measure_task(round_energy(0.005), {}, {.steps = 200}, {Start::Kind::constant, 3, 0}, 1);
  BOOST_TEST(found.pilot_step_size < 0.0125);
  BOOST_TEST(found.pilot_step_size >= 0.025 / 16);
  BOOST_TEST(std::abs(found.momentum_rms - 1) < 0.15);
  BOOST_TEST(std::abs(found.gradient_rms - 200) < 50);
  // And its own rule stays near that.
  LearnedSampler sampler;
  sampler.step_size_times_gradient_rms = 1e3;
  BOOST_TEST(sampler.step_size(found) == 4 * found.pilot_step_size);
  TaskStatistics at_once = found;
  at_once.pilot_step_size = sampler.pilot.step_size;
  BOOST_TEST(sampler.step_size(at_once) == 1);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_measured_is_one_sentence) {
  BOOST_TEST(error_text([] { measure_task(round_energy(1), {}, {.steps = 1}, around, 1); }) ==
             "[pilot] expected at least one chain and two steps: 16 and 1");
  BOOST_TEST(error_text([] { measure_task(round_energy(1), {}, {.step_size = 0}, around, 1); }) ==
             "[pilot] step size and friction must be positive: 0 and 1");
  BOOST_TEST(
      error_text(
          [] { measure_task(round_energy(1e-9), {}, {.step_size = 1, .steps = 200}, around, 1); })
          .starts_with("[pilot] the short run of SGHMC that measures the task failed with step "
                       "sizes from 1 down to 0.0009765625: the energy has grown to "));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
