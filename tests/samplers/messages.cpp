// What a caller is told who describes an energy, a step or a sampler that cannot be.
#include <boost/test/unit_test.hpp>
#include <limits>

#include "engine/ops.hpp"
#include "errors.hpp"
#include "plain.hpp"
#include "samplers/chains.hpp"
#include "samplers/dynamics.hpp"

namespace whorl {

using namespace testing;

namespace {

const Type vec{DType::f64, {3}};

// An energy graph from its inputs to its outputs.
template <class F>
std::string energy_error(F&& build, double scale = 1) {
  return error_text([&] {
    Graph graph;
    build(graph);
    Energy(std::move(graph), scale);
  });
}

std::string recipe_error(std::vector<Variable> variables,
                         const std::function<Matrices(StepBuilder&, const Point&)>& matrices,
                         const RecipeOptions& options = {}) {
  return error_text([&] {
    recipe_step(wavy(DType::f64, 3), complete_recipe({std::move(variables), matrices}), options);
  });
}

Value ones(StepBuilder& step) { return fill(step.graph(), step.vector(), 1); }

// Rows [4, 3] with a prior and a likelihood.
Energy rows_energy() {
  Graph graph;
  const Value w = input(graph, "w", vec, "parameter");
  const Value x = input(graph, "rows", {DType::f64, {4, 3}});
  input(graph, "size", {DType::f64, {}});
  graph.add_output("prior", (0.5 * sum(square(w))).id);
  graph.add_output("likelihood", (0.5 * sum(square(matmul(x, w)))).id);
  return Energy(std::move(graph), 3);
}

std::string minibatch_error(const Minibatch& minibatch) {
  return error_text([&] {
    recipe_step(rows_energy(), complete_recipe(sgld_dynamics()), {.gradient = {0, minibatch}});
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(messages)

BOOST_AUTO_TEST_CASE(an_energy_has_parameters_of_one_float_type) {
  BOOST_TEST(energy_error([](Graph& g) {
               const Value x = input(g, "x", vec);
               g.add_output("U", sum(x).id);
             }) == "[energy] no input has the role \"parameter\", so there is nothing to sample");
  BOOST_TEST(energy_error([](Graph& g) {
               input(g, "k", {DType::i32, {3}}, "parameter");
             }) == "[energy] parameter 'k' is i32[3]; parameters are f32 or f64");
  BOOST_TEST(energy_error([](Graph& g) {
               input(g, "w", vec, "parameter");
               input(g, "b", {DType::f32, {}}, "parameter");
             }) == "[energy] parameter 'b' is f32 and parameter 'w' is f64; they must agree");
}

BOOST_AUTO_TEST_CASE(an_energy_is_one_scalar_or_a_prior_and_a_likelihood) {
  BOOST_TEST(energy_error([](Graph& g) {
               g.add_output("U", square(input(g, "x", vec, "parameter")).id);
             }) == "[energy] output 'U' is f64[3]; an energy is a scalar");
  BOOST_TEST(energy_error([](Graph& g) {
               const Value x = sum(input(g, "x", vec, "parameter"));
               g.add_output("prior", x.id);
               g.add_output("posterior", square(x).id);
             }) ==
             "[energy] expected one scalar output, or the two outputs 'prior' and 'likelihood'; "
             "the graph has 2 outputs");
  BOOST_TEST(
      energy_error(
          [](Graph& g) { g.add_output("U", sum(square(input(g, "x", vec, "parameter"))).id); },
          10) ==
      "[energy] minibatches need the outputs 'prior' and 'likelihood', so that only the "
      "likelihood is scaled; the graph has the single output 'U'");
}

BOOST_AUTO_TEST_CASE(data_have_names_of_their_own) {
  Graph graph;
  const Value x = input(graph, "x", vec, "parameter");
  const Value centre = input(graph, "position", vec);
  graph.add_output("U", sum(square(x - centre)).id);
  const Energy energy(std::move(graph));
  BOOST_TEST(
      error_text([&] { StepBuilder(energy, {}); }) ==
      "[energy] the data input 'position' has a name that the sampler uses itself; rename it");
}

BOOST_AUTO_TEST_CASE(a_minibatch_fits_the_energy) {
  BOOST_TEST(minibatch_error({12, 0, {"rows"}}) ==
             "[step] a minibatch has 0 rows, expected 1 to 12");
  BOOST_TEST(minibatch_error({12, 13, {"rows"}}) ==
             "[step] a minibatch has 13 rows, expected 1 to 12");
  BOOST_TEST(minibatch_error({12, 4, {"row"}}) ==
             "[step] the energy has no data input 'row', did you mean 'rows'?");
  BOOST_TEST(minibatch_error({12, 4, {"w"}}) == "[step] the energy has no data input 'w'");
  BOOST_TEST(minibatch_error({12, 6, {"rows"}}) ==
             "[step] the energy's input 'rows' is f64[4,3]; its first axis must be the 6 rows of a "
             "minibatch");
  BOOST_TEST(minibatch_error({12, 4, {"rows", "size"}}) ==
             "[step] the energy's input 'size' is f64[]; its first axis must be the 4 rows of a "
             "minibatch");
}

BOOST_AUTO_TEST_CASE(every_variable_of_a_step_gets_a_new_value) {
  const Energy energy = wavy(DType::f64, 3);
  BOOST_TEST(error_text([&] { StepBuilder(energy, {}).finish(); }) ==
             "[step] variable 'position' has no new value");
  BOOST_TEST(error_text([&] {
               StepBuilder step(energy, {});
               step.update("position", step.energy());
               step.finish();
             }) == "[step] variable 'position' is f64[3], its new value is f64[]");
}

BOOST_AUTO_TEST_CASE(entries_of_d_and_q_are_of_variables_and_of_their_type) {
  BOOST_TEST(recipe_error({}, [](StepBuilder& step, const Point&) {
               return Matrices{{}, {{"speed", ones(step)}}};
             }) == "[recipe] D or Q has an entry for 'speed', which is no variable of the sampler");
  BOOST_TEST(recipe_error({}, [](StepBuilder& step, const Point&) {
               return Matrices{{}, {{"position", fill(step.graph(), step.scalar(), 1)}}};
             }) == "[recipe] D[position][position] is f64[], expected f64[3]");
  BOOST_TEST(
      recipe_error({{"momentum"}}, [](StepBuilder& step, const Point&) {
        return Matrices{{{"momentum", "position", fill(step.graph(), step.scalar(), 1)}}, {}};
      }) == "[recipe] Q[momentum][position] is f64[], expected f64[3]");
}

BOOST_AUTO_TEST_CASE(d_is_seen_to_be_non_negative) {
  const std::string text = recipe_error({{"momentum"}}, [](StepBuilder& step, const Point& point) {
    const Value d = point.variables.at("momentum") + 3;
    step.graph().set_name(d.id, "friction");
    return Matrices{{}, {{"momentum", d}}};
  });
  BOOST_TEST(text.starts_with("[recipe] D[momentum][momentum] must not be negative, and node "));
  BOOST_TEST(text.substr(text.find("'friction'")) ==
             "'friction' (add) is not seen to be so; end it with softplus, square, exp, abs, relu "
             "or a clamp from 0");
}

BOOST_AUTO_TEST_CASE(q_is_antisymmetric_and_couples_coordinates) {
  BOOST_TEST(recipe_error({{"momentum"}}, [](StepBuilder& step, const Point&) {
               return Matrices{{{"momentum", "momentum", ones(step)}}, {}};
             }) == "[recipe] Q[momentum][momentum] must be zero: Q is antisymmetric");
  BOOST_TEST(recipe_error({{"momentum"}, {"heat", true}, {"cold", true}}, [](StepBuilder& step,
                                                                             const Point&) {
               return Matrices{{{"heat", "cold", ones(step)}}, {}};
             }) == "[recipe] Q[heat][cold] couples two variables that a chain has once");
}

BOOST_AUTO_TEST_CASE(a_correction_that_would_need_the_hessian_is_refused) {
  BOOST_TEST(recipe_error({{"momentum"}},
                          [](StepBuilder&, const Point& point) {
                            return Matrices{{{"momentum", "position", tanh(point.gradient)}}, {}};
                          }) ==
             "[recipe] Q[momentum][position] depends on the gradient: Gamma_momentum = d Q / d "
             "position would need the Hessian of the energy");
  BOOST_TEST(recipe_error({},
                          [](StepBuilder&, const Point& point) {
                            return Matrices{{}, {{"position", square(point.gradient)}}};
                          }) ==
             "[recipe] D[position][position] depends on the gradient: Gamma_position = d D / d "
             "position would need the Hessian of the energy");
  // The prior may be looked at, its gradient not.
  const auto of_the_prior = [](Value Point::*part) {
    return error_text([&] {
      const Dynamics dynamics{{{"momentum"}}, [&](StepBuilder&, const Point& point) {
                                return Matrices{{{"momentum", "position", tanh(point.*part)}}, {}};
                              }};
      recipe_step(rows_energy(), complete_recipe(dynamics));
    });
  };
  BOOST_TEST(of_the_prior(&Point::prior) == "");
  BOOST_TEST(of_the_prior(&Point::prior_gradient) ==
             "[recipe] Q[momentum][position] depends on the gradient: Gamma_momentum = d Q / d "
             "position would need the Hessian of the energy");
  BOOST_TEST(recipe_error({{"momentum"}, {"heat", true}}, [](StepBuilder&, const Point& point) {
               return Matrices{{}, {{"heat", mean(square(point.variables.at("heat")))}}};
             }) == "[recipe] D[heat][heat] depends on heat, which a chain has once");
}

BOOST_AUTO_TEST_CASE(an_entry_of_d_or_q_is_given_once) {
  BOOST_TEST(recipe_error({{"momentum"}}, [](StepBuilder& step, const Point&) {
               return Matrices{{}, {{"momentum", ones(step)}, {"momentum", ones(step)}}};
             }) == "[recipe] D[momentum][momentum] is given twice");
  BOOST_TEST(recipe_error({{"momentum"}}, [](StepBuilder& step, const Point&) {
               return Matrices{
                   {{"momentum", "position", ones(step)}, {"position", "momentum", ones(step)}},
                   {}};
             }) == "[recipe] Q[position][momentum] is given twice");
}

BOOST_AUTO_TEST_CASE(a_kinetic_energy_is_a_function_of_the_variables_that_shows_its_slope) {
  using Variables = std::map<std::string, Value, std::less<>>;
  const auto with_kinetic = [](const std::function<Value(const Variables&)>& kinetic) {
    return error_text([&] {
      Dynamics dynamics = sghmc_dynamics(1);
      dynamics.kinetic = kinetic;
      recipe_step(wavy(DType::f64, 3), complete_recipe(dynamics));
    });
  };
  BOOST_TEST(with_kinetic([](const Variables& z) {
               return sum(square(z.at("momentum") * z.at("position")));
             }) ==
             "[recipe] the kinetic energy depends on the position: the law of the position would "
             "then be exp(-U) times the integral of exp(-K)");
  const std::string hidden =
      with_kinetic([](const Variables& z) { return sum(square(stop_gradient(z.at("momentum")))); });
  BOOST_TEST(hidden.ends_with(" (stop_gradient) hides a part of the kinetic energy from dK/dp"),
             hidden);

  Graph graph;
  const Value p = input(graph, "momentum", vec), u = input(graph, "energy", vec);
  graph.add_output("D", fill_like(p, 1).id);
  graph.add_output("Q", fill_like(p, 1).id);
  graph.add_output("K", sum(square(p + u)).id);
  BOOST_TEST(error_text([&] { graph_dynamics({{"momentum"}}, graph); }) ==
             "[sampler] K depends on 'energy'; it is a function of the variables alone");
}

BOOST_AUTO_TEST_CASE(the_last_state_of_a_run_is_looked_at_when_asked) {
  // Four times as far at every step, and the energy is a fourth power: finite in f32 for longer
  // than its energy is.
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {1}}, "parameter");
  graph.add_output("U", sum(square(square(x))).id);
  RecipeOptions options;
  options.temperature = 0;
  Chains chains(recipe_step(Energy(std::move(graph)), complete_recipe(sgld_dynamics()), options),
                {.chains = 2});
  chains.start("position", {Start::Kind::constant, 1e4, 0});
  chains.advance([](std::int64_t) { return 1e-1; });
  BOOST_TEST(error_text([&] {
               chains.statistics_now();
             }).starts_with("[sample] the energy is not finite at step 1 in chain 0: first in "));
}

BOOST_AUTO_TEST_CASE(temperature_and_noise_estimate_are_checked) {
  const auto with = [](const RecipeOptions& options) {
    return error_text(
        [&] { recipe_step(wavy(DType::f64, 3), complete_recipe(sgld_dynamics()), options); });
  };
  BOOST_TEST(with({.temperature = -1}) == "[sampler] the temperature must be in [0, 1e6]: -1");
  BOOST_TEST(with({.temperature = std::numeric_limits<double>::quiet_NaN()}) ==
             "[sampler] the temperature must be in [0, 1e6]: nan");
  BOOST_TEST(with({.noise_estimate = -2}) ==
             "[sampler] the noise estimate must be finite and not negative: -2");
  BOOST_TEST(with({.noise_estimate = std::numeric_limits<double>::infinity()}) ==
             "[sampler] the noise estimate must be finite and not negative: inf");
}

BOOST_AUTO_TEST_CASE(a_sampler_graph_has_known_inputs_and_outputs) {
  const auto with = [](std::string_view input_name, std::string_view output_name) {
    return error_text([&] {
      Graph graph;
      const Value x = input(graph, input_name, vec);
      graph.add_output(output_name, square(x).id);
      recipe_step(wavy(DType::f64, 3), complete_recipe(graph_dynamics({{"momentum"}}, graph)));
    });
  };
  BOOST_TEST(with("speed", "D") ==
             "[sampler] input 'speed' is not a variable, 'energy', 'gradient' or 'size'");
  BOOST_TEST(with("momentum", "E") ==
             "[sampler] output 'E' is unknown; expected D, D.VARIABLE, Q, Q.ROW.COLUMN or K");
}

BOOST_AUTO_TEST_CASE(a_learned_sampler_is_checked) {
  const auto with = [](const std::function<void(LearnedSampler&)>& spoil) {
    LearnedSampler sampler;
    sampler.curl.inputs.resize(2);
    sampler.diffusion.inputs.resize(3);
    draw_weights(sampler, 1);
    spoil(sampler);
    return error_text([&] { learned_dynamics(sampler); });
  };
  BOOST_TEST(with([](LearnedSampler&) {}) == "");
  BOOST_TEST(with([](LearnedSampler& s) { s.curl.inputs.resize(3); }) ==
             "[sampler] the curl network has 3 inputs, expected 2");
  BOOST_TEST(with([](LearnedSampler& s) {
               s.diffusion.hidden = {1, 2, 3};
             }) == "[sampler] the diffusion network has 3 hidden layers, expected 1 or 2");
  BOOST_TEST(with([](LearnedSampler& s) { s.curl.hidden = {0}; }) ==
             "[sampler] the curl network has a layer of 0 units, expected 1 to 4096");
  BOOST_TEST(with([](LearnedSampler& s) { s.curl.weights.pop_back(); }) ==
             "[sampler] the curl network has 40 weights, its layers need 41");
  BOOST_TEST(with([](LearnedSampler& s) {
               s.curl.weights[3] = std::numeric_limits<double>::infinity();
             }) == "[sampler] the curl network has a weight that is not finite");
  BOOST_TEST(with([](LearnedSampler& s) {
               s.diffusion.inputs[2].shift = std::numeric_limits<double>::quiet_NaN();
             }) ==
             "[sampler] the diffusion network has an input scale or shift that is not finite");
  BOOST_TEST(with([](LearnedSampler& s) {
               s.curl.low = 2;
               s.curl.high = 1;
             }) == "[sampler] the curl network's output has scale 1 and clamp [2, 1]");
  BOOST_TEST(with([](LearnedSampler& s) { s.beta = std::numeric_limits<double>::infinity(); }) ==
             "[sampler] alpha, beta and c must be finite: inf");
  BOOST_TEST(with([](LearnedSampler& s) { s.trained_size = -7; }) ==
             "[sampler] it was trained on a model of -7 weights");
  BOOST_TEST(with([](LearnedSampler& s) { s.c = -1; }) ==
             "[sampler] alpha and c must not be negative: 0 and -1");
}

BOOST_AUTO_TEST_CASE(chains_say_what_they_do_not_have) {
  const Step step = recipe_step(wavy(DType::f64, 3), complete_recipe(sghmc_dynamics(1)));
  BOOST_TEST(error_text([&] { Chains(step, {.chains = 0}); }) ==
             "[unroll] expected at least one chain and one step: 0 and 1");
  BOOST_TEST(error_text([&] { Chains(step, {.statistics = {"heat"}}); }) ==
             "[chains] the sampler has no statistic 'heat'");
  Chains chains(step, {.chains = 2});
  BOOST_TEST(error_text([&] { chains.state("momentun"); }) ==
             "[chains] the sampler has no variable 'momentun', did you mean 'momentum'?");
  BOOST_TEST(error_text([&] { chains.set("momentum", Tensor(vec)); }) ==
             "[chains] variable 'momentum' is f64[2,3], the values given are f64[3]");
  const Step batched = recipe_step(rows_energy(), complete_recipe(sgld_dynamics()),
                                   {.gradient = {0, {12, 4, {"rows"}}}});
  Chains rows(batched, {});
  BOOST_TEST(error_text([&] { rows.advance([](std::int64_t) { return 0.1; }); }) ==
             "[chains] the step has minibatches, and no rows are given for them");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
