// The checks of a proof, each gathered over several test energies. See proof.hpp for what they say.
//
// Thread safety: one thread at a time.
#pragma once

#include "samplers/proof.hpp"
#include "samplers/proof_equation.hpp"
#include "samplers/proof_target.hpp"

namespace whorl {

// The largest value seen, and where.
struct Worst {
  double value = 0;
  std::string where;

  // A value that is not a number is as bad as can be.
  void see(double candidate, std::string_view place);
};

// How many differences were taken, and how many were left out for a kink.
struct Kinks {
  std::int64_t differences = 0, left_out = 0;

  bool too_many() const;
  std::string text() const;  // "", or "; 3 of 4000 differences met a kink"
};

// correction, stationarity, diffusion and curl.
class DifferenceChecks {
 public:
  // `law` is that of the variables, when it is known: it gives the widths of differences.
  void add(const TestTarget& target, Equation& equation, const std::optional<QuadraticLaw>& law,
           const ProofOptions& options);
  std::vector<Check> checks() const;

 private:
  Worst correction_, stationarity_, curl_, negative_diffusion_{-HUGE_VAL, {}};
  Kinks correction_kinks_, stationarity_kinks_;
};

// generator and step.
class StatisticalChecks {
 public:
  void add(const TestTarget& target, Equation& equation, const QuadraticLaw& law,
           const Recipe& recipe, const ProofOptions& options);
  std::vector<Check> checks() const;
  // Both, skipped for a reason.
  static std::vector<Check> skipped(std::string_view reason);

 private:
  // The largest |z| of a mean that should be zero.
  struct Statistic {
    Worst worst;
    std::int64_t functions = 0;
    double resolution = HUGE_VAL;  // the smallest standard error, relative to the noise's share
  };
  static Check check(std::string name, const Statistic& statistic, std::string_view what);

  Statistic generator_, step_;
};

inline constexpr double false_alarm_rate = 5e-9;  // of one statistical check
// The limit of |z| for the largest of `count` normal variables, for that rate.
double normal_limit(std::int64_t count);

}  // namespace whorl
