// The field lists of what sampler and experiment files both hold: learned samplers and how a
// variable starts.
#pragma once

#include <fmt/ranges.h>

#include <array>

#include "graphs/file/fields.hpp"
#include "samplers/learned.hpp"
#include "samplers/step.hpp"

namespace whorl::graphs {

// Training draws the weights, so only finished samplers have them.
enum class Weights { present, absent };

inline const Names<Transform> transform_names{{"none", Transform::none},
                                              {"absolute", Transform::absolute},
                                              {"softplus", Transform::softplus},
                                              {"square", Transform::square},
                                              {"tanh", Transform::tanh}};
inline const Names<EnergyInput> energy_input_names{{"raw", EnergyInput::raw},
                                                   {"standardised", EnergyInput::standardised},
                                                   {"asinh", EnergyInput::asinh},
                                                   {"mean_log_joint", EnergyInput::mean_log_joint}};
// What coordinate_net knows.
const Names<std::string>& activation_names();

// Makes a step of the sampler for a small target, with small networks. Throws the graph Error of
// the samplers, without a place, when it is none.
void try_learned(LearnedSampler sampler);

struct NormalStart {
  double mean = 0, sd = 0;
};
template <class Io>
void describe(const Io& io, NormalStart& start) {
  io.required("sd");
  io.value("mean", start.mean);
  io.value("sd", start.sd, not_negative);
}

struct UniformStart {
  double low = 0, high = 0;
};
template <class Io>
void describe(const Io& io, UniformStart& start) {
  io.required("low");
  io.required("high");
  io.value("low", start.low);
  io.value("high", start.high);
  if constexpr (Io::reading) {
    if (!(start.low < start.high))
      io.refuse("high", "is {}, expected more than low {}", start.high, start.low);
  }
}

template <class Io>
void describe(const Io& io, Start& start) {
  using Kind = Start::Kind;
  io.exactly_one({"constant", "normal", "uniform"});
  std::optional<double> constant;
  std::optional<NormalStart> normal;
  std::optional<UniformStart> uniform;
  if constexpr (!Io::reading) {
    if (start.kind == Kind::constant) constant = start.a;
    if (start.kind == Kind::normal) normal = {start.a, start.b};
    if (start.kind == Kind::uniform) uniform = {start.a, start.b};
  }
  io.value("constant", constant);
  io.part("normal", normal);
  io.part("uniform", uniform);
  if (constant) start = {Kind::constant, *constant, 0};
  if (normal) start = {Kind::normal, normal->mean, normal->sd};
  if (uniform) start = {Kind::uniform, uniform->low, uniform->high};
}

struct NamedInput {
  std::string name;
  NetworkInput input;
};
template <class Io>
void describe(const Io& io, NamedInput& named) {
  io.required("name");
  io.value("name", named.name);
  io.value("scale", named.input.scale);
  io.value("shift", named.input.shift);
  if (!Io::reading && named.input.low == 0 && named.input.high == 0) return;
  io.value("low", named.input.low);
  io.value("high", named.input.high);
  if constexpr (Io::reading) {
    if (named.input.low > named.input.high)
      io.refuse("low", "is {}, expected at most high, {}", named.input.low, named.input.high);
  }
}

// The inputs have their order; their names are there to be read.
template <class Io>
void describe_inputs(const Io& io, Network& network, std::size_t inputs) {
  static constexpr std::array<const char*, 3> names{"energy", "momentum", "gradient"};
  std::vector<NamedInput> named;
  if constexpr (!Io::reading)
    for (std::size_t i = 0; i < network.inputs.size(); ++i)
      named.push_back({names[i], network.inputs[i]});
  io.part("inputs", named);
  if constexpr (Io::reading) {
    network.inputs.assign(inputs, {});
    if (named.empty()) return;
    for (std::size_t i = 0; i < std::min(named.size(), inputs); ++i) {
      if (named[i].name != names[i])
        io.entry("inputs", static_cast<int>(i))
            .refuse("name", "is '{}', expected '{}'; the order is {}", named[i].name, names[i],
                    fmt::join(names.begin(), names.begin() + inputs, ", "));
      network.inputs[i] = named[i].input;
    }
    if (named.size() != inputs)
      io.refuse("inputs", "are {}, expected {}: {}", named.size(), inputs,
                fmt::join(names.begin(), names.begin() + inputs, ", "));
  }
}

template <class Io>
void describe(const Io& io, Network& network, std::size_t inputs, Weights weights) {
  io.value("hidden", network.hidden, {.low = 1, .high = 4096});
  io.choice("activation", network.activation, activation_names());
  describe_inputs(io, network, inputs);
  io.choice("transform", network.transform, transform_names);
  io.value("scale", network.scale);
  if constexpr (Io::reading) {
    if (network.hidden.size() > 2)
      io.refuse("hidden", "has {} layers, expected 1 or 2", network.hidden.size());
    if (io.has("low") != io.has("high"))
      io.refuse(io.has("low") ? "low" : "high", "is given alone: low and high clamp together");
  }
  if (Io::reading || network.low < network.high) {
    io.value("low", network.low);
    io.value("high", network.high);
  }
  if (weights == Weights::present) {
    io.required("weights");
    io.value("weights", network.weights);
  }
  if constexpr (Io::reading) {
    if (io.has("high") && !(network.low < network.high))
      io.refuse("high", "is {}, expected more than low {}", network.high, network.low);
    const auto found = static_cast<std::int64_t>(network.weights.size());
    if (weights == Weights::present && found != network.weight_count())
      io.refuse("weights", "has {} numbers, expected {} for {} inputs and hidden layers of [{}]",
                found, network.weight_count(), inputs, fmt::join(network.hidden, ", "));
    if (weights == Weights::absent && io.has("weights"))
      io.refuse("weights", "must be left out: training draws them");
  }
}

// Whether its output cannot be negative.
inline bool keeps_sign(const Network& network) {
  if (network.low < network.high && network.low >= 0) return true;
  return network.scale >= 0 && network.transform != Transform::none &&
         network.transform != Transform::tanh;
}

template <class Io>
void describe(const Io& io, Pilot& pilot) {
  io.value("step_size", pilot.step_size, positive);
  io.value("friction", pilot.friction, positive);
  io.value("chains", pilot.chains, Range{.low = 1, .high = 10'000});
  // Its second half is measured.
  io.value("steps", pilot.steps, Range{.low = 2, .high = 10'000'000, .below = true});
  if constexpr (Io::reading) {
    if (pilot.step_size * pilot.friction >= 2)
      load_error(io.place(),
                 "the pilot's step size {} times its friction {} is not below 2, so its momentum "
                 "would grow",
                 pilot.step_size, pilot.friction);
  }
}

template <class Io>
void describe(const Io& io, TaskStatistics& statistics) {
  io.value("energy_mean", statistics.energy_mean);
  io.value("energy_sd", statistics.energy_sd, positive);
  io.value("momentum_rms", statistics.momentum_rms, positive);
  io.value("gradient_rms", statistics.gradient_rms, positive);
}

template <class Io>
void describe(const Io& io, LearnedSampler& sampler, Weights weights) {
  io.required("curl");
  io.required("diffusion");
  io.part("curl", sampler.curl, std::size_t{2}, weights);
  io.part("diffusion", sampler.diffusion, std::size_t{3}, weights);
  if constexpr (Io::reading) {
    if (io.has("alpha") && io.has("alpha_times_step_size"))
      io.refuse("alpha_times_step_size", "and alpha cannot both be given");
  }
  const bool by_step_size = sampler.alpha_times_step_size > 0;
  if (Io::reading || !by_step_size) io.value("alpha", sampler.alpha, not_negative);
  io.value("beta", sampler.beta);
  io.value("c", sampler.c, not_negative);
  if (Io::reading || by_step_size)
    io.value("alpha_times_step_size", sampler.alpha_times_step_size, positive);
  io.choice("energy_input", sampler.energy_input, energy_input_names);
  io.value("scale_momentum", sampler.scale_momentum);
  io.value("scale_gradient", sampler.scale_gradient);
  if (Io::reading || sampler.mean_gradient) io.value("mean_gradient", sampler.mean_gradient);
  if (Io::reading || sampler.trained_size > 0)
    io.value("trained_size", sampler.trained_size, count);
  if constexpr (Io::reading) {
    if (io.has("largest_step_size") && !io.has("step_size_times_gradient_rms"))
      io.refuse("largest_step_size",
                "is given without step_size_times_gradient_rms, which it bounds");
  }
  if (Io::reading || sampler.step_size_times_gradient_rms > 0) {
    io.value("step_size_times_gradient_rms", sampler.step_size_times_gradient_rms, positive);
    io.value("largest_step_size", sampler.largest_step_size, positive);
  }
  io.part("pilot", sampler.pilot);
  io.part("statistics", sampler.statistics);
  if constexpr (Io::reading) {
    if (!keeps_sign(sampler.diffusion))
      io.refuse("diffusion",
                "may make D negative: its transform must be absolute, softplus or square with a "
                "scale of at least 0, or low must be at least 0");
    located(
        io.place(), [] { return "the sampler"; }, [&] { try_learned(sampler); });
  }
}

}  // namespace whorl::graphs
