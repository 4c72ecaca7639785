#include "samplers/finite_difference.hpp"

#include <limits>

#include "engine/ops.hpp"

namespace whorl {

namespace {

// A change of a network's input that is too small for a quotient, in units of 1 + |input|.
double least_change(DType dtype) {
  return 64 * (dtype == DType::f32 ? double{std::numeric_limits<float>::epsilon()}
                                   : std::numeric_limits<double>::epsilon());
}

Value at_least(Value x, double low) { return greater_equal(x, fill_like(x, low)); }
Value at_most(Value x, double high) { return less_equal(x, fill_like(x, high)); }

class FiniteDifferences {
 public:
  FiniteDifferences(const Energy& energy, const LearnedSampler& sampler, const TaskScale& task,
                    const RecipeOptions& options)
      : sampler_(sampler),
        task_(task),
        options_(options),
        exact_(complete_recipe(learned_dynamics(sampler, task))),
        step_(energy, options.gradient) {
    momentum_ = step_.state("momentum", step_.vector(), exact_.variables[0].start);
    previous_momentum_ = step_.state("previous_momentum", step_.vector());
    previous_energy_ = step_.state("previous_energy", step_.scalar());
    previous_curl_ = step_.state("previous_curl", step_.vector());
    moved_curl_ = step_.state("moved_curl", step_.vector());
    started_ = at_least(wide(step_.state("started", step_.scalar())), 1);
    curl_ = curl_at(momentum_);
  }

  Step finish() {
    State now{{step_.position(), momentum_}, step_.energy(), step_.gradient()};
    Terms terms = exact_.terms(step_, now, 1);
    const Quotient of_momentum = momentum_correction();
    terms.correction =
        select(logical_and(started_, of_momentum.usable), of_momentum.value, terms.correction);
    const Value p = moved(step_, options_, terms, momentum_, 1, "momentum");

    now.z[1] = p;
    terms = exact_.terms(step_, now, 0);
    const Value curl = curl_at(p);
    const Quotient slope = quotient(curl - curl_, p, momentum_, seen_momentum(sampler_.curl, p),
                                    seen_momentum(sampler_.curl, momentum_));
    terms.correction = select(slope.usable, -slope.value, terms.correction);

    step_.update("position", moved(step_, options_, terms, step_.position(), 0, "position"));
    step_.update("momentum", p);
    step_.update("previous_momentum", momentum_);
    step_.update("previous_energy", step_.energy());
    step_.update("previous_curl", curl_);
    step_.update("moved_curl", curl);
    step_.update("started", fill(step_.graph(), step_.scalar(), 1));
    step_.statistic("fallbacks", count(logical_and(started_, logical_not(of_momentum.usable))) +
                                     count(logical_not(slope.usable)));
    return step_.finish();
  }

 private:
  struct Quotient {
    Value value;
    Value usable;  // whether the difference below was large enough
  };

  Value wide(Value x) { return broadcast(x, step_.vector().shape); }
  Value count(Value condition) { return sum(cast(condition, step_.dtype())); }
  Value curl_at(Value momentum) {
    return learned_curl(step_, sampler_, task_, wide(step_.energy()), momentum);
  }
  Value diffusion_part_at(Value momentum) {
    return learned_diffusion_part(step_, sampler_, task_, wide(step_.energy()), momentum,
                                  step_.gradient());
  }

  // What the network sees of a momentum and of an energy.
  Value seen_momentum(const Network& network, Value p) const {
    const NetworkInput& input = network.inputs[1];
    return (p * task_.momentum_scale - input.shift) * input.scale;
  }
  Value seen_energy(const Network& network, Value u) const {
    const NetworkInput& input = network.inputs[0];
    return ((u - task_.energy_shift) * task_.energy_scale - input.shift) * input.scale;
  }

  Quotient quotient(Value difference, Value x, Value x_before, Value seen, Value seen_before) {
    const Value limit = least_change(step_.dtype()) * (1 + abs(seen));
    const Value usable = greater(abs(seen - seen_before), limit);
    const Value below = x - x_before;
    return {difference / select(usable, below, fill_like(below, 1)), usable};
  }

  Quotient momentum_correction() {
    const Value u = wide(step_.energy()), u_before = wide(previous_energy_);
    const Value p = momentum_, p_before = previous_momentum_;
    const Quotient curl_by_energy =
        quotient(curl_ - moved_curl_, u, u_before, seen_energy(sampler_.curl, u),
                 seen_energy(sampler_.curl, u_before));
    const Quotient curl_by_momentum =
        quotient(moved_curl_ - previous_curl_, p, p_before, seen_momentum(sampler_.curl, p),
                 seen_momentum(sampler_.curl, p_before));
    const Value part = diffusion_part_at(p);
    const Quotient part_by_momentum =
        quotient(part - diffusion_part_at(p_before), p, p_before,
                 seen_momentum(sampler_.diffusion, p), seen_momentum(sampler_.diffusion, p_before));

    Value slope = part_by_momentum.value;
    if (sampler_.alpha > 0) slope = slope + 2 * sampler_.alpha * curl_ * curl_by_momentum.value;
    const Network& bounds = sampler_.diffusion;
    if (bounds.low < bounds.high) {
      const Value d = unbounded_diffusion(sampler_, curl_, part);
      const Value inside = logical_and(at_least(d, bounds.low), at_most(d, bounds.high));
      slope = slope * cast(inside, step_.dtype());
    }
    return {curl_by_energy.value * step_.gradient() + slope,
            logical_and(curl_by_energy.usable,
                        logical_and(curl_by_momentum.usable, part_by_momentum.usable))};
  }

  const LearnedSampler& sampler_;
  const TaskScale& task_;
  const RecipeOptions& options_;
  Recipe exact_;
  StepBuilder step_;
  Value momentum_, previous_momentum_, previous_energy_, previous_curl_, moved_curl_;
  Value started_;  // [n], the same everywhere
  Value curl_;     // Q_t
};

}  // namespace

Step finite_difference_step(const Energy& energy, const LearnedSampler& sampler,
                            const TaskScale& task, const RecipeOptions& options) {
  check(options);
  if (options.integrator != Integrator::semi_implicit)
    fail(ErrorKind::usage, "sampler",
         "finite differences are defined for the semi-implicit integrator only");
  return FiniteDifferences(energy, sampler, task, options).finish();
}

}  // namespace whorl
