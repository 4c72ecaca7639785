// Schedule: the step size as a function of the step number, counted from 0.
//
//   constant     value
//   phases       the value of the last phase that has begun
//   polynomial   a (b + t)^-gamma                                    Welling and Teh (2011)
//   cyclical     high/2 (1 + cos(pi (t mod period) / period))        Zhang et al. (2020)
//
// Invariant: every step size is positive and finite.
// Thread safety: immutable.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

namespace whorl {

class Schedule {
 public:
  struct Phase {
    std::int64_t from;  // its first step
    double value;
  };

  // All throw a usage Error that names the number which is out of range.
  static Schedule constant(double value);
  static Schedule phases(std::vector<Phase> phases);  // the first one from step 0
  static Schedule polynomial(double a, double b, double gamma);
  static Schedule cyclical(std::int64_t period, double high);

  double at(std::int64_t step) const;
  // The largest step size of all steps.
  double largest() const;

 private:
  struct Polynomial {
    double a, b, gamma;
  };
  struct Cyclical {
    std::int64_t period;
    double high;
  };
  using Rule = std::variant<std::vector<Phase>, Polynomial, Cyclical>;

  explicit Schedule(Rule rule) : rule_(std::move(rule)) {}

  Rule rule_;
};

}  // namespace whorl
