#include "samplers/chains.hpp"

#include <xmmintrin.h>

#include <boost/test/unit_test.hpp>

#include "engine/ops.hpp"
#include "samplers/dynamics.hpp"
#include "samplers/learned.hpp"

namespace whorl {

namespace {

// U = |x - 3|^2 / 2.
Energy round_energy(DType dtype, std::int64_t n) {
  Graph graph;
  const Value x = input(graph, "x", {dtype, {n}}, "parameter");
  graph.add_output("U", (0.5 * sum(square(x - 3))).id);
  return Energy(std::move(graph));
}

LearnedSampler small_sampler() {
  LearnedSampler sampler;
  sampler.curl.inputs.resize(2);
  sampler.diffusion.inputs.resize(3);
  sampler.diffusion.transform = Transform::softplus;
  sampler.c = 0.5;
  draw_weights(sampler, 1);
  return sampler;
}

Tensor run(const Step& step, const ChainsOptions& options, std::int64_t steps) {
  Chains chains(step, options);
  chains.start("position", {Start::Kind::uniform, 0, 6});
  while (chains.step() < steps) chains.advance([](std::int64_t) { return 0.1; });
  return chains.state("position").clone();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(chains)

BOOST_AUTO_TEST_CASE(draws_do_not_depend_on_threads_nor_on_how_steps_are_grouped) {
  const Energy energy = round_energy(DType::f32, 7);
  const std::vector<Dynamics> all{sgld_dynamics(), sghmc_dynamics(1), sgnht_dynamics(1),
                                  sgnht_dynamics(1, true), learned_dynamics(small_sampler())};
  for (const Dynamics& dynamics : all) {
    const Step step = recipe_step(energy, complete_recipe(dynamics));
    const Tensor base = run(step, {.chains = 33, .seed = 5}, 24);
    for (int threads : {1, 2, 4, 8})
      for (std::int64_t group : {1, 6})
        BOOST_TEST(
            run(step, {.chains = 33, .steps_per_run = group, .seed = 5, .threads = threads}, 24)
                .same_bits(base));
    BOOST_TEST(!run(step, {.chains = 33, .seed = 6}, 24).same_bits(base));
  }
}

// A host may round as it likes, and finds its own mode again.
BOOST_AUTO_TEST_CASE(the_rounding_mode_of_the_host_changes_nothing_and_is_left_alone) {
  const Energy energy = round_energy(DType::f32, 7);
  const Step step = recipe_step(energy, complete_recipe(sghmc_dynamics(1)));
  const ChainsOptions options{.chains = 33, .steps_per_run = 6, .seed = 5, .threads = 2};
  const Tensor base = run(step, options, 24);
  const unsigned int usual = _mm_getcsr();
  for (unsigned int mode : {_MM_ROUND_UP | 0u, _MM_ROUND_DOWN | 0u, _MM_ROUND_TOWARD_ZERO | 0u,
                            _MM_FLUSH_ZERO_ON | 0u}) {
    _mm_setcsr(usual | mode);
    const Tensor found = run(step, options, 24);
    const unsigned int left = _mm_getcsr();
    _mm_setcsr(usual);
    BOOST_TEST(found.same_bits(base), mode);
    // But for the bits that remember what happened.
    BOOST_TEST((left & ~_MM_EXCEPT_MASK) == ((usual | mode) & ~_MM_EXCEPT_MASK));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
