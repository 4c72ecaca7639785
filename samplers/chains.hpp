// Chains: K chains of a sampler, moved forward in memory that is allocated once.
//
//   Chains chains(step, {.chains = 50, .seed = 1});
//   chains.start("position", {Start::Kind::uniform, 0, 6});
//   chains.advance([](std::int64_t) { return 0.025; });
//   chains.state("position")        // [K, n]
//
// One plan makes `steps_per_run` steps, so that small models do not pay for the way in and out.
// Steps that differ in nothing but the size of the data that they see can take turns: each has a
// plan, and all share one memory.
// Draws depend on the seed and the step number only, not on threads or on how steps are grouped.
// A chain diverges when its energy is not finite, or grows beyond a million times what is usual: it
// then leaves before the numbers overflow. That stops the run with a numeric Error that names
// chain, step and node; or, with `drop_diverged`, the chain is given up and the others go on. Its
// place is taken by a copy of another chain, which nobody counts. Thread safety: one thread at a
// time.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/executor.hpp"
#include "engine/random.hpp"
#include "samplers/unroll.hpp"

namespace whorl {

// Fills [K, ...] with a variable's beginning; the coordinates' chain is the row.
void fill_start(const Start& start, const RandomCoordinates& coordinates, Tensor& values);
// The stream that the beginning of state variable k is drawn from.
constexpr std::uint32_t start_stream(std::size_t k) {
  return static_cast<std::uint32_t>(Streams::start + static_cast<std::int64_t>(k));
}

// A seed as the input `seed` of a step, i32[2].
Tensor seed_tensor(std::uint64_t seed);

struct ChainsOptions {
  std::int64_t chains = 1;
  std::int64_t steps_per_run = 1;
  std::uint64_t seed = 0;
  int threads = 1;
  // Whether the path of a run is kept: path() is then [steps_per_run, K, n].
  bool keep_path = false;
  // Statistics to keep beside the energy, by name: the step's own, and for each chain
  //   kinetic_temperature          mean of p^2
  //   configurational_temperature  mean of theta dU/dtheta, whose expectation is T, too
  std::vector<std::string> statistics = {};
  bool drop_diverged = false;
  // The most bytes that plan and states may take; 0: no limit. More is a memory Error, before
  // anything is allocated.
  std::int64_t memory_budget = 0;
};

// A chain that was given up.
struct Divergence {
  std::int64_t chain = 0, step = 0;
  std::string what;
};

class Chains {
 public:
  Chains(const Step& step, const ChainsOptions& options);
  // Steps that take turns: see choose(). Throws a usage Error unless they have the same state and
  // steps_per_run is 1.
  Chains(std::span<const Step> steps, const ChainsOptions& options);
  Chains(Chains&&) noexcept;
  Chains& operator=(Chains&&) noexcept;
  ~Chains();

  const ChainsOptions& options() const;
  // The number of steps made.
  std::int64_t step() const;
  // Data of the energy, or a parameter of the sampler that replaces its own; read in place.
  void bind(std::string_view input, const Tensor& tensor);
  // Which of the steps makes a step, by its number; the first one unless this is said.
  void choose(std::function<std::size_t(std::int64_t)> which);

  // Puts a variable to its beginning, or to values of the caller's [K, ...].
  void start(std::string_view variable, const Start& start);
  void set(std::string_view variable, const Tensor& values);
  void set_step(std::int64_t step);

  // Makes steps_per_run steps. `step_size` gives eta by step number; `batch`, for steps with
  // minibatches, fills in the rows of a step.
  void advance(const std::function<double(std::int64_t)>& step_size,
               const std::function<void(std::int64_t, std::span<std::int32_t>)>& batch = {});

  // A statistic [K] of the state as it is now, as the next step would find it. A step tells only of
  // the state that it begins with, so the last one of a run needs this.
  std::map<std::string, Tensor> statistics_now(
      const std::function<void(std::int64_t, std::span<std::int32_t>)>& batch = {});

  // The chains that were given up. A caller who knows better may give up one more, or stop: it is
  // treated as every other divergence.
  const std::vector<Divergence>& divergences() const;
  bool alive(std::int64_t chain) const;
  void diverged(std::int64_t chain, std::string_view what);

  // Everything that the steps to come depend on, beside data, seed and step sizes, which are the
  // caller's. load() throws a checkpoint Error that names what does not fit.
  std::map<std::string, Tensor> save() const;
  void load(const std::map<std::string, Tensor, std::less<>>& saved);

  // After the last step; valid until the next advance.
  const Tensor& state(std::string_view variable) const;
  // The positions after each step of the last run.
  const Tensor& path() const;
  // [steps_per_run, K, ...]: as each step of the last run began.
  const Tensor& statistic(std::string_view name) const;

  std::int64_t memory_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace whorl
