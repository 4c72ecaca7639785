#include "samplers/proof.hpp"

#include <algorithm>
#include <limits>

#include "samplers/proof_checks.hpp"

namespace whorl {

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed:
      return "passed";
    case Verdict::failed:
      return "failed";
    case Verdict::undecided:
      return "undecided";
    case Verdict::skipped:
      break;
  }
  return "skipped";
}

bool Proof::holds() const {
  return std::all_of(checks.begin(), checks.end(), [](const Check& check) {
    return check.verdict == Verdict::passed || check.verdict == Verdict::skipped;
  });
}

const Check& Proof::check(std::string_view wanted) const {
  for (const Check& check : checks)
    if (check.name == wanted) return check;
  fail(ErrorKind::usage, "proof", "there is no check '{}'", wanted);
}

namespace {

struct Sampler {
  Dynamics dynamics;
  Recipe recipe;
};

Proof prove_sizes(const std::function<Sampler(std::int64_t size)>& sampler_of,
                  const ProofOptions& options) {
  if (options.sizes.empty() || options.points < 1 || options.draws < 1000)
    fail(ErrorKind::usage, "proof",
         "expected at least one size, one point and 1000 draws: {}, {} and {}",
         options.sizes.size(), options.points, options.draws);
  DifferenceChecks differences;
  StatisticalChecks statistics;
  bool quadratic = true;
  double growth = std::numeric_limits<double>::infinity();
  for (std::int64_t size : options.sizes) {
    const Sampler sampler = sampler_of(size);
    for (TestTarget::Kind kind : {TestTarget::Kind::gaussian, TestTarget::Kind::mixture}) {
      const TestTarget target(kind, size);
      Equation equation(target.energy(), sampler.dynamics, sampler.recipe);
      const std::optional<QuadraticLaw> law = equation.quadratic_law();
      differences.add(target, equation, law, options);
      quadratic = quadratic && law;
      if (!law) growth = std::min(growth, equation.least_growth());
      if (quadratic) statistics.add(target, equation, *law, sampler.recipe, options);
    }
  }

  Proof proof{differences.checks(), 0};
  const std::vector<Check> more = quadratic
                                      ? statistics.checks()
                                      : StatisticalChecks::skipped(
                                            "no exact draws: H - U is not a positive quadratic "
                                            "function of the variables alone");
  proof.checks.insert(proof.checks.end(), more.begin(), more.end());
  constexpr double wanted_growth = 5;
  if (!(growth >= wanted_growth))
    proof.checks.push_back({"law", growth, wanted_growth, true, Verdict::failed,
                            "how much H - U grows when a variable goes far out: exp(-H) cannot be "
                            "normalised"});
  if (quadratic) proof.false_alarm = static_cast<double>(more.size()) * false_alarm_rate;
  return proof;
}

}  // namespace

Proof prove(const Dynamics& dynamics, const ProofOptions& options) {
  return prove(dynamics, complete_recipe(dynamics), options);
}

Proof prove(const Dynamics& dynamics, const Recipe& recipe, const ProofOptions& options) {
  return prove_sizes([&](std::int64_t) { return Sampler{dynamics, recipe}; }, options);
}

Proof prove(const DynamicsOfSize& dynamics, const ProofOptions& options) {
  return prove_sizes(
      [&](std::int64_t size) {
        const Dynamics of_size = dynamics(size);
        return Sampler{of_size, complete_recipe(of_size)};
      },
      options);
}

}  // namespace whorl
