#include "samplers/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/error.hpp"

namespace whorl {

namespace {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};

void check_size(double value) {
  if (!(value > 0) || !std::isfinite(value))
    fail(ErrorKind::usage, "schedule", "a step size must be positive and finite: {}", value);
}

}  // namespace

Schedule Schedule::constant(double value) { return phases({{0, value}}); }

Schedule Schedule::phases(std::vector<Phase> phases) {
  if (phases.empty() || phases[0].from != 0)
    fail(ErrorKind::usage, "schedule", "the first phase must begin at step 0: {}",
         phases.empty() ? "there is none" : std::to_string(phases[0].from));
  for (std::size_t i = 0; i < phases.size(); ++i) {
    check_size(phases[i].value);
    if (i > 0 && phases[i].from <= phases[i - 1].from)
      fail(ErrorKind::usage, "schedule", "phases must be in order of their steps: {} after {}",
           phases[i].from, phases[i - 1].from);
  }
  return Schedule(std::move(phases));
}

Schedule Schedule::polynomial(double a, double b, double gamma) {
  check_size(a);
  if (!(b > 0) || !std::isfinite(b))
    fail(ErrorKind::usage, "schedule", "b of a (b + t)^-gamma must be positive and finite: {}", b);
  if (!(gamma >= 0 && gamma <= 1))
    fail(ErrorKind::usage, "schedule", "gamma of a (b + t)^-gamma must be in [0, 1]: {}", gamma);
  check_size(a * std::pow(b, -gamma));
  return Schedule(Polynomial{a, b, gamma});
}

Schedule Schedule::cyclical(std::int64_t period, double high) {
  if (period < 1)
    fail(ErrorKind::usage, "schedule", "the period of a cycle must be positive: {}", period);
  check_size(high);
  return Schedule(Cyclical{period, high});
}

double Schedule::at(std::int64_t step) const {
  return std::visit(
      Overloaded{[&](const std::vector<Phase>& phases) {
                   const auto after = std::upper_bound(
                       phases.begin(), phases.end(), step,
                       [](std::int64_t t, const Phase& phase) { return t < phase.from; });
                   return std::prev(after)->value;
                 },
                 [&](const Polynomial& rule) {
                   return rule.a * std::pow(rule.b + static_cast<double>(step), -rule.gamma);
                 },
                 // (1 + cos x)/2 = sin^2((pi - x)/2), which does not vanish at the end of a cycle.
                 [&](const Cyclical& rule) {
                   const double progress =
                       static_cast<double>(step % rule.period) / static_cast<double>(rule.period);
                   const double root = std::sin(std::numbers::pi / 2 * (1 - progress));
                   return rule.high * root * root;
                 }},
      rule_);
}

double Schedule::largest() const {
  const auto* phases = std::get_if<std::vector<Phase>>(&rule_);
  if (phases == nullptr) return at(0);
  return std::max_element(phases->begin(), phases->end(),
                          [](const Phase& a, const Phase& b) { return a.value < b.value; })
      ->value;
}

}  // namespace whorl
