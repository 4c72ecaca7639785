#include "graphs/file/small_step.hpp"

#include "engine/ops.hpp"
#include "samplers/energy.hpp"

namespace whorl::graphs {

void make_small_step(const Dynamics& dynamics) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {small_size}}, "parameter");
  graph.add_output("U", sum(square(x)).id);
  recipe_step(Energy(std::move(graph)), complete_recipe(dynamics));
}

}  // namespace whorl::graphs
