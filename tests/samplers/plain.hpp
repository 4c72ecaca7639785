// The samplers once more, as plain programs in long double with derivatives written by hand.
//
// They share nothing with the engine but the Philox numbers. A state is a map from a variable's
// name to its numbers in one chain.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "samplers/adam.hpp"
#include "samplers/hmc.hpp"
#include "samplers/learned.hpp"
#include "samplers/psgld.hpp"
#include "samplers/santa.hpp"

namespace whorl::testing {

using Real = long double;
using Numbers = std::vector<Real>;
using PlainState = std::map<std::string, Numbers>;

// Where a step stands, and the random numbers there, of the engine's dtype.
struct PlainMoment {
  DType dtype;
  std::uint64_t seed;
  std::int64_t step, chain;
  Real eta;

  Numbers normals(std::int64_t stream, std::size_t n) const;
  Real uniform(std::int64_t stream) const;
};

using PlainSampler = std::function<void(PlainState&, const PlainMoment&)>;

// U = sum_i (a_i x_i^2 + cos x_i)/2 + (sum x)^2/20 with a_i = 1 + i/4: coupled, not Gaussian.
Energy wavy(DType dtype, std::int64_t n);
Real wavy_energy(const Numbers& x);
Numbers wavy_gradient(const Numbers& x);
// The same law, with the outputs prior = sum_i a_i x_i^2 / 2 and likelihood, which is the rest.
Energy wavy_parts(DType dtype, std::int64_t n);
Real wavy_prior(const Numbers& x);
Numbers wavy_prior_gradient(const Numbers& x);

PlainSampler plain_sgld();
PlainSampler plain_sghmc(Real friction, bool euler = false);
PlainSampler plain_sgnht(Real friction, bool per_coordinate);
PlainSampler plain_psgld(const PsgldOptions& options);
PlainSampler plain_santa(const SantaOptions& options);
PlainSampler plain_adam(const AdamOptions& options);
PlainSampler plain_sgdm(Real decay);
PlainSampler plain_hmc(const HmcOptions& options);

// relu networks with the transform `absolute` or none; energy_input is asinh or mean_log_joint, the
// momentum is scaled, and the gradient scaled or a mean.
PlainSampler plain_learned(const LearnedSampler& sampler, const TaskStatistics& task, Real noise);
PlainSampler plain_finite_difference(const LearnedSampler& sampler, const TaskStatistics& task);

}  // namespace whorl::testing
