#include "interrupted.hpp"

#include <whorl/engine/ops.hpp>
#include <whorl/samplers/chains.hpp>
#include <whorl/samplers/dynamics.hpp>
#include <whorl/storage/checkpoint.hpp>
#include <whorl/storage/draws_file.hpp>

using namespace whorl;

namespace {

constexpr std::int64_t size = 3, count = 8, steps = 200;

// SGHMC on N(0, 1).
Step make_step() {
  Graph graph;
  const Value w = input(graph, "w", {DType::f32, {size}}, "parameter");
  graph.add_output("U", (0.5 * sum(square(w))).id);
  return recipe_step(Energy(std::move(graph)), complete_recipe(sghmc_dynamics(1)));
}

DrawsLayout layout() {
  return {.chains = count,
          .draws = steps,
          .dtype = DType::f32,
          .parameters = {{"w", {size}, 0}},
          .statistics = {},
          .attributes = {{"inference_library", "whorl"}}};
}

// Goes on until so many steps are made, and leaves a checkpoint.
void advance(Chains& chains, std::int64_t until, const std::string& folder) {
  DrawsWriter writer(folder + "/draws.nc", layout());
  while (chains.step() < until) {
    chains.advance([](std::int64_t) { return 0.1; });
    writer.put(chains.step() - 1, chains.step(), chains.state("position"));
  }
  writer.sync();
  Checkpoint checkpoint;
  checkpoint.step = chains.step();
  for (auto& [name, tensor] : chains.save()) checkpoint.tensors.emplace(name, tensor);
  CheckpointFolder(folder + "/checkpoint").save(checkpoint);
}

}  // namespace

std::vector<double> uninterrupted_draws(const std::string& folder) {
  create_draws(folder + "/draws.nc", layout());
  Chains chains(make_step(), {.chains = count, .seed = 7});
  advance(chains, steps, folder);
  return DrawsReader(folder + "/draws.nc").read(0, 0, size);
}

std::vector<double> interrupted_draws(const std::string& folder) {
  create_draws(folder + "/draws.nc", layout());
  {
    Chains chains(make_step(), {.chains = count, .seed = 7});
    advance(chains, steps / 3, folder);
  }
  // As if by another process: nothing but the files is left.
  std::vector<std::string> notes;
  const Checkpoint checkpoint = *CheckpointFolder(folder + "/checkpoint").newest(notes);
  Chains chains(make_step(), {.chains = count, .seed = 7});
  chains.load(checkpoint.tensors);
  advance(chains, steps, folder);
  return DrawsReader(folder + "/draws.nc").read(0, 0, size);
}
