// Sequences of different lengths: one a step, several graphs that take turns.
#include <boost/test/unit_test.hpp>
#include <numeric>

#include "engine/ops.hpp"
#include "errors.hpp"
#include "samplers/chains.hpp"
#include "samplers/dynamics.hpp"
#include "samplers/measure_task.hpp"

namespace whorl {

namespace {

using boost::test_tools::tolerance;
using testing::error_text;

// Sequences of 1, 4 and 2 frames.
const std::vector<double> frames{0.5, -1, 2, 0.25, 3, -2, 1.5};
const std::vector<std::int32_t> starts{0, 1, 5, 7};
constexpr std::int64_t count = 3;

// Frames ~ N(x, 1), x ~ N(0, 1), with room for `size` frames of which `length` count.
SizedEnergy energy_for(std::int64_t size, bool by_frame = false) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {1}}, "parameter");
  const Value y = input(graph, "y", {DType::f64, {size}});
  const Value length = input(graph, "length", {DType::i32, {}});
  const Value time = iota(graph, {DType::i32, {size}}, 0);
  const Value losses = 0.5 * square(y - x);
  graph.add_output("prior", (0.5 * sum(square(x))).id);
  graph.add_output("likelihood", sum(select(less(time, length), losses, fill_like(losses, 0))).id);
  return {Energy(std::move(graph), 2),
          {0,
           {.rows = static_cast<std::int64_t>(frames.size()),
            .size = size,
            .inputs = {"y"},
            .length = "length",
            .sequences = by_frame ? count : 0}}};
}

Step sgld_for(const SizedEnergy& energy) {
  return recipe_step(energy.energy, complete_recipe(sgld_dynamics()),
                     {.gradient = energy.gradient});
}

void tell_sequence(std::int64_t step, std::span<std::int32_t> into) {
  const auto s = static_cast<std::size_t>(step % count);
  into[0] = starts[s + 1] - starts[s];
  for (std::size_t t = 1; t < into.size(); ++t)
    into[t] = starts[s] + std::min(static_cast<std::int32_t>(t), into[0]) - 1;
}

std::size_t turn(std::int64_t step) { return step % count == 1 ? 1 : 0; }

// Binds the data, and begins at 0.7.
void begin(Chains& chains) {
  chains.bind("y", Tensor::of<double>({7}, frames));
  chains.start("position", {Start::Kind::constant, 0.7, 0});
}

double still(std::int64_t) { return 1e-300; }

// U(0.7) of a sequence with the given scale.
double plain_energy(std::int64_t s, double scale) {
  double likelihood = 0;
  for (std::int32_t t = starts[static_cast<std::size_t>(s)];
       t < starts[static_cast<std::size_t>(s) + 1]; ++t) {
    const double difference = frames[static_cast<std::size_t>(t)] - 0.7;
    likelihood += 0.5 * difference * difference;
  }
  return 0.5 * 0.49 + scale * likelihood;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sequences)

BOOST_AUTO_TEST_CASE(a_sequence_is_scaled_to_all_frames_by_its_own_length) {
  for (std::int64_t size : {4, 9}) {
    Chains chains(sgld_for(energy_for(size)), {});
    begin(chains);
    for (std::int64_t s = 0; s < count; ++s) {
      chains.advance(still, tell_sequence);
      const auto at = static_cast<std::size_t>(s);
      BOOST_TEST(
          chains.statistic("energy").at(0) == plain_energy(s, 7.0 / (starts[at + 1] - starts[at])),
          tolerance(1e-13));
    }
  }
}

// With weights by frame the mean of all minibatches is the whole: prior once, every frame once.
BOOST_AUTO_TEST_CASE(the_mean_over_sequences_is_the_energy_of_all_frames) {
  Chains chains(sgld_for(energy_for(4, true)), {.statistics = {"gradient"}});
  begin(chains);
  double energy = 0, gradient = 0;
  for (std::int64_t s = 0; s < count; ++s) {
    chains.advance(still, tell_sequence);
    energy += chains.statistic("energy").at(0) / count;
    gradient += chains.statistic("gradient").at(0) / count;
  }
  double all = 0.5 * 0.49;
  for (double y : frames) all += 0.5 * (y - 0.7) * (y - 0.7);
  BOOST_TEST(energy == all, tolerance(1e-13));
  BOOST_TEST(gradient == 8 * 0.7 - std::accumulate(frames.begin(), frames.end(), 0.0),
             tolerance(1e-13));
}

BOOST_AUTO_TEST_CASE(graphs_that_take_turns_make_the_draws_of_the_largest_one) {
  const std::vector<Step> both{sgld_for(energy_for(2)), sgld_for(energy_for(4))};
  const auto step_size = [](std::int64_t) { return 0.01; };
  for (int threads : {1, 2}) {
    const ChainsOptions options{.chains = 3, .seed = 4, .threads = threads};
    Chains one(both[1], options), turns(both, options);
    for (Chains* each : {&one, &turns}) begin(*each);
    turns.choose(turn);
    for (int step = 0; step < 30; ++step) {
      for (Chains* each : {&one, &turns}) each->advance(step_size, tell_sequence);
      BOOST_TEST(turns.state("position").same_bits(one.state("position")));
      BOOST_TEST(turns.statistic("energy").same_bits(one.statistic("energy")));
    }
    BOOST_TEST(turns.statistics_now(tell_sequence)
                   .at("energy")
                   .same_bits(one.statistics_now(tell_sequence).at("energy")));
  }
}

BOOST_AUTO_TEST_CASE(a_pilot_over_graphs_that_take_turns_measures_what_the_largest_does) {
  const SizedEnergy both[] = {energy_for(2), energy_for(4)};
  const Pilot pilot{.step_size = 0.05, .friction = 2, .chains = 4, .steps = 60};
  const Start start{Start::Kind::constant, 0.7, 0};
  TaskData data{[](Chains& chains) { begin(chains); }, tell_sequence};
  const TaskStatistics one = measure_task({&both[1], 1}, pilot, start, 3, data);
  data.bind = [](Chains& chains) {
    begin(chains);
    chains.choose(turn);
  };
  const TaskStatistics turns = measure_task(both, pilot, start, 3, data);
  BOOST_TEST(turns.energy_mean == one.energy_mean);
  BOOST_TEST(turns.energy_sd == one.energy_sd);
  // One graph makes many steps in a run, and momenta are seen at the end of runs.
  BOOST_TEST(turns.momentum_rms == one.momentum_rms, tolerance(0.3));
  BOOST_TEST(turns.gradient_rms == one.gradient_rms);
}

BOOST_AUTO_TEST_CASE(graphs_that_take_turns_share_their_memory) {
  const std::vector<Step> both{sgld_for(energy_for(1000)), sgld_for(energy_for(2000))};
  const ChainsOptions options{.chains = 100};
  BOOST_TEST(Chains(both, options).memory_bytes() <
             Chains(both[0], options).memory_bytes() + Chains(both[1], options).memory_bytes());
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
  const SizedEnergy small = energy_for(2), large = energy_for(4);
  const std::vector<Step> both{sgld_for(small), sgld_for(large)};
  BOOST_TEST(error_text([&] { Chains(both, {.steps_per_run = 2}); }) ==
             "[chains] steps that take turns are made one by one, not 2 in a run");
  BOOST_TEST(error_text([&] { Chains(std::span<const Step>{}, {}); }) ==
             "[chains] there is no step to make");
  const std::vector<Step> other{
      both[0],
      recipe_step(large.energy, complete_recipe(sghmc_dynamics(1)), {.gradient = large.gradient})};
  BOOST_TEST(error_text([&] { Chains(other, {}); }) ==
             "[chains] steps that take turns must have the same state");
  Chains chains(both, {});
  begin(chains);
  chains.choose([](std::int64_t) { return 2; });
  BOOST_TEST(error_text([&] { chains.advance(still, tell_sequence); }) ==
             "[chains] step 0 is to be made by step 2 of 2");
  // Nothing was run, and nothing is lost.
  chains.choose({});
  chains.advance(still, tell_sequence);
  const double energy = chains.statistic("energy").at(0);
  chains.choose([](std::int64_t) { return 7; });
  BOOST_TEST(error_text([&] { chains.statistics_now(tell_sequence); }) ==
             "[chains] step 1 is to be made by step 7 of 2");
  BOOST_TEST(chains.statistic("energy").at(0) == energy);
  Graph single;
  const Value x = input(single, "x", {DType::f64, {1}}, "parameter");
  const Value y = input(single, "y", {DType::f64, {4}});
  input(single, "length", {DType::i32, {}});
  single.add_output("u", sum(square(y - x)).id);
  BOOST_TEST(error_text([&] {
               sgld_for({Energy(single), large.gradient});
             }) ==
             "[step] sequences need an energy with the outputs 'prior' and 'likelihood', because "
             "every sequence scales its likelihood");
  BOOST_TEST(error_text([&] {
               measure_task(std::span<const SizedEnergy>{}, {}, {Start::Kind::constant, 0, 0}, 1);
             }) == "[pilot] there is no energy to measure");
  SizedEnergy nameless = energy_for(4);
  nameless.gradient.minibatch.length = "frames";
  BOOST_TEST(error_text([&] { sgld_for(nameless); }) ==
             "[step] sequences need the data input 'frames' i32[], the number of frames of the one "
             "that a step sees");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
