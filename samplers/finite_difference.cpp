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
  FiniteDifferences(const Energy& energy, const LearnedSampler& sampler, const TaskStatistics& task,
                    double first_step_size, const RecipeOptions& options)
      : sampler_(sampler),
        task_(task),
        options_(options),
        alpha_(alpha_of(sampler, first_step_size)),
        exact_(complete_recipe(learned_dynamics(sampler, task, first_step_size))),
        step_(energy, options.gradient) {
    const auto weighed = [&](bool wanted, Value all, Value prior) {
      return wanted ? weigh_prior(sampler, step_.size(), all, prior) : all;
    };
    const bool mean = sampler.energy_input == EnergyInput::mean_log_joint;
    energy_ = weighed(mean, step_.energy(), step_.prior());
    energy_gradient_ = weighed(mean, step_.gradient(), step_.prior_gradient());
    seen_gradient_ = weighed(sampler.mean_gradient, step_.gradient(), step_.prior_gradient());
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
    const Quotient slope = by_momentum(sampler_.curl, curl - curl_, p, momentum_);
    terms.correction = select(slope.usable, -slope.value, terms.correction);

    step_.update("position", moved(step_, options_, terms, step_.position(), 0, "position"));
    step_.update("momentum", p);
    step_.update("previous_momentum", momentum_);
    step_.update("previous_energy", energy_);
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
  LearnedInputs inputs(Value energy, Value momentum) {
    return task_inputs(step_, {wide(energy), momentum, seen_gradient_}, sampler_, task_);
  }
  Value curl_at(Value momentum) {
    return curl_of(sampler_, curl_part(step_, sampler_, inputs(energy_, momentum)));
  }
  Value part_at(Value momentum) {
    return diffusion_part(step_, sampler_, inputs(energy_, momentum));
  }

  // Where x is what a network sees.
  Quotient quotient(Value difference, Value below, const NetworkInput& input, Value x,
                    Value x_before) {
    // A network that does not look at an input does not change with it.
    if (input.scale == 0) return {fill_like(difference, 0), equal(x, x)};
    const Value seen = (x - input.shift) * input.scale;
    const Value seen_before = (x_before - input.shift) * input.scale;
    const Value usable =
        greater(abs(seen - seen_before), least_change(step_.dtype()) * (1 + abs(seen)));
    return {difference / select(usable, below, fill_like(below, 1)), usable};
  }
  Quotient by_momentum(const Network& network, Value difference, Value p, Value p_before) {
    return quotient(difference, p - p_before, network.inputs[1], inputs(energy_, p).momentum,
                    inputs(energy_, p_before).momentum);
  }
  Quotient by_energy(const Network& network, Value difference, Value u, Value u_before) {
    return quotient(difference, wide(u - u_before), network.inputs[0], inputs(u, momentum_).energy,
                    inputs(u_before, momentum_).energy);
  }

  Quotient momentum_correction() {
    const Quotient curl_by_energy =
        by_energy(sampler_.curl, curl_ - moved_curl_, energy_, previous_energy_);
    const Quotient curl_by_momentum =
        by_momentum(sampler_.curl, moved_curl_ - previous_curl_, momentum_, previous_momentum_);
    const Value part = part_at(momentum_);
    const Quotient part_by_momentum = by_momentum(
        sampler_.diffusion, part - part_at(previous_momentum_), momentum_, previous_momentum_);

    Value slope = part_by_momentum.value;
    if (alpha_ > 0) slope = slope + 2 * alpha_ * curl_ * curl_by_momentum.value;
    const Network& bounds = sampler_.diffusion;
    const Value d = unbounded_diffusion(sampler_, alpha_, curl_, part);
    if (bounds.low < bounds.high) {
      const Value inside = logical_and(at_least(d, bounds.low), at_most(d, bounds.high));
      slope = slope * cast(inside, step_.dtype());
    }
    if (sampler_.step_size_times_gradient_rms > 0)
      slope = slope * cast(less_equal(d, 1 / step_.step_size()), step_.dtype());
    return {curl_by_energy.value * energy_gradient_ + slope,
            logical_and(curl_by_energy.usable,
                        logical_and(curl_by_momentum.usable, part_by_momentum.usable))};
  }

  const LearnedSampler& sampler_;
  const TaskStatistics& task_;
  const RecipeOptions& options_;
  double alpha_;
  Recipe exact_;
  StepBuilder step_;
  // U as the networks see it, with its prior weighed, its gradient, and the gradient that D sees.
  Value energy_, energy_gradient_, seen_gradient_;
  Value momentum_, previous_momentum_, previous_energy_, previous_curl_, moved_curl_;
  Value started_;  // [n], the same everywhere
  Value curl_;     // Q_t
};

}  // namespace

Step finite_difference_step(const Energy& energy, const LearnedSampler& sampler,
                            const TaskStatistics& task, double first_step_size,
                            const RecipeOptions& options) {
  check(options);
  if (options.integrator != Integrator::semi_implicit)
    fail(ErrorKind::usage, "sampler",
         "finite differences are defined for the semi-implicit integrator only");
  return FiniteDifferences(energy, sampler, task, first_step_size, options).finish();
}

}  // namespace whorl
