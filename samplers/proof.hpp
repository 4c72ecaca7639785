// prove: whether a sampler leaves exp(-H) invariant, shown on test energies without any tuning.
//
//   const Proof proof = prove(dynamics);
//   proof.holds(), proof.checks                // one row for each of
//
//   correction    Gamma against fourth-order differences of D and Q themselves
//   stationarity  the Fokker-Planck equation: -div(f pi) + sum d2(D pi) = 0, by differences of the
//                 drift f and the D that the step uses
//   diffusion     D >= 0, and there is a D
//   curl          dH' (D + Q) dH = dH' D dH: Q is antisymmetric, as used
//   generator     E_pi[f . grad phi + D : hess phi] = 0 for exact draws of pi and several phi
//   step          the same of one real step from exact draws: with m(eta) = E[phi(z') - phi(z)],
//                 4 m(eta/2) - m(eta) = eta E[L phi] + O(eta^3). Noise comes in pairs of opposite
//                 sign, so that odd powers of sqrt(eta) cancel within a pair
//
// All in f64 at temperature 1, with exact gradients, for two laws of the position (a correlated
// Gaussian and a mixture of two) in each of `sizes` dimensions. The first four have no randomness
// but the choice of points: a right sampler passes. The last two are statistical, each with a false
// alarm of 5e-9: the limit of z grows with the number of functions that it looks at.
//
// A difference across a kink (of relu, abs, a clamp) is wrong. It is seen by comparing several
// widths, left out and counted; when more than 5% are left out the check is undecided. The
// statistical checks need exact draws of the other variables too, so H - U must be quadratic in
// them; else they are skipped with the reason.
// Thread safety: free functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "samplers/recipe.hpp"

namespace whorl {

// `undecided`: the check could not see enough. `skipped`: it does not apply to this sampler.
enum class Verdict { passed, failed, undecided, skipped };
std::string_view name(Verdict verdict);

struct Check {
  std::string name;
  double value = 0, limit = 0;
  bool at_least = false;  // value >= limit is wanted, instead of value <= limit
  Verdict verdict = Verdict::passed;
  std::string explanation;  // one line
};

struct Proof {
  std::vector<Check> checks;
  double false_alarm = 0;  // the probability that a right sampler fails, at most

  // Nothing failed, and nothing that applies was left undecided.
  bool holds() const;
  // Throws a usage Error for a name that is not there.
  const Check& check(std::string_view name) const;
};

struct ProofOptions {
  std::vector<std::int64_t> sizes{1, 2, 10};
  std::int64_t points = 200;    // for differences, of each energy; fewer in many dimensions
  std::int64_t draws = 100000;  // for the statistical checks; fewer when a draw is expensive
  std::uint64_t seed = 1;
  Integrator integrator = Integrator::semi_implicit;
};

// The recipe is the one that is derived from D and Q, or any other that claims to be it. Throws a
// graph Error where the recipe does.
Proof prove(const Dynamics& dynamics, const ProofOptions& options = {});
Proof prove(const Dynamics& dynamics, const Recipe& recipe, const ProofOptions& options = {});

// For samplers that are written for one number of coordinates, such as graphs: called with each of
// `sizes`; the dynamics must be in f64.
using DynamicsOfSize = std::function<Dynamics(std::int64_t size)>;
Proof prove(const DynamicsOfSize& dynamics, const ProofOptions& options = {});

}  // namespace whorl
