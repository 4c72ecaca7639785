// What it costs that a run leaves something behind: the same steps
//   bare        of the chains alone,
//   counted     with energies, temperatures and, for Gaussians, the moments of all states,
//   stored      with their draws in a file, and metrics every 100 steps,
//   saved       and a checkpoint on disk every half second, sixty times as often as usual.
// The targets are a Gaussian of 20 dimensions with 50 chains, where a step takes microseconds, and
// one of 2,000 with 20 chains.
#include <unistd.h>

#include <filesystem>

#include "bench/bench.hpp"
#include "driver/sample_settings.hpp"
#include "driver/sampling.hpp"
#include "samplers/builtin.hpp"
#include "storage/line_file.hpp"

namespace {

using namespace whorl;
using namespace whorl::driver;
namespace fs = std::filesystem;

struct Case {
  std::string name;
  std::int64_t dimension, chains, steps, thin;
};

enum class Part { bare, counted, stored, saved };

Step step_of(const Target& target) {
  return builtin_step("sghmc", target.energy, {}, target.gradient);
}

double bare_seconds(const Target& target, const Case& c) {
  const Step step = step_of(target);
  Chains chains(step, {.chains = c.chains, .steps_per_run = c.dimension < 100 ? 20 : 1});
  target.task_data(0).bind(chains);
  const double start = bench::seconds_now();
  while (chains.step() < c.steps) chains.advance([](std::int64_t) { return 0.01; });
  return bench::seconds_now() - start;
}

double run_seconds(const Target& target, const Case& c, Part part, const fs::path& folder) {
  const Step step = step_of(target);
  SamplingRun run(target, {&step, 1},
                  {.chains = c.chains,
                   .steps = c.steps,
                   .thin = c.thin,
                   .burn_in = 0,
                   .memory_budget = std::int64_t{1} << 33,
                   .step_size = [](std::int64_t) { return 0.01; },
                   .momentum = {}});
  DrawsLayout layout{c.chains, c.steps / c.thin, DType::f32, {}, run.draw_statistics(), {}};
  for (const Parameter& parameter : target.energy.parameters())
    layout.parameters.push_back({parameter.name, parameter.shape, parameter.offset});
  std::optional<DrawsWriter> writer;
  if (part >= Part::stored) {
    create_draws(folder / "draws.nc", layout);
    writer.emplace(folder / "draws.nc", layout);
  }
  LineFile metrics(folder / "metrics.jsonl");
  CheckpointFolder checkpoints(folder / "checkpoint");
  const double start = bench::seconds_now();
  double last = start;
  while (run.step() < c.steps) {
    run.advance();
    if (part < Part::stored) continue;
    run.keep(*writer);
    if (const auto found = run.measure(false))
      metrics.add(fmt::format("{{\"step\": {}, \"energy\": {}}}\n", found->step, found->energy));
    if (part < Part::saved || bench::seconds_now() < last + 0.5) continue;
    Checkpoint now;
    run.save(now);
    writer->sync();
    metrics.sync();
    checkpoints.save(now);
    last = bench::seconds_now();
  }
  return bench::seconds_now() - start;
}

}  // namespace

int main() {
  const fs::path folder = fs::temp_directory_path() / fmt::format("whorl-bench-{}", ::getpid());
  fs::create_directory(folder);
  for (const Case& c :
       {Case{"50 chains of 20 numbers, every state kept", 20, 50, 60'000, 1},
        Case{"20 chains of 2,000 numbers, one state in 100 kept", 2000, 20, 1'500, 100}}) {
    GaussianSettings settings;
    settings.dimension = c.dimension;
    settings.diagonal = 1;
    Target target = make_gaussian_target(settings, 1, std::int64_t{1} << 33);
    // The moments of 2,000 dimensions are not what is measured here.
    if (c.dimension > 100) target.gaussian.reset();
    double best[4] = {1e30, 1e30, 1e30, 1e30};
    for (int repeat = 0; repeat < 5; ++repeat) {
      best[0] = std::min(best[0], bare_seconds(target, c));
      for (Part part : {Part::counted, Part::stored, Part::saved}) {
        double& least = best[static_cast<int>(part)];
        least = std::min(least, run_seconds(target, c, part, folder));
      }
    }
    fmt::print("{}\n", c.name);
    const char* const names[] = {"bare", "counted", "stored", "saved"};
    for (int part = 0; part < 4; ++part)
      fmt::print("  {:<8} {:8.2f} us a step  {:5.2f} times bare\n", names[part],
                 1e6 * best[part] / static_cast<double>(c.steps), best[part] / best[0]);
  }
  fs::remove_all(folder);
}
