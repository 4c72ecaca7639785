#include "driver/report/scale.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "driver/report/numbers.hpp"

namespace whorl::driver::report {

namespace {

constexpr double wild_share = 0.02;    // at either end
constexpr double wild_factor = 4;      // how much longer all are than the middle
constexpr double decades_factor = 30;  // between the largest and the smallest
// A double holds about 16 digits: beyond this many steps from zero, ticks would fall together.
constexpr double finest_step = 1e-12;

// 1, 2 or 5 times a power of ten.
double nice_step(double span, int about) {
  const double rough = span / std::max(about, 1);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough * 0.999) return factor * power;
  return 10 * power;
}

Limits usable(Scale::Kind kind, Limits limits) {
  constexpr double huge = std::numeric_limits<double>::max() / 4;
  if (limits.empty()) limits = {0, 1};
  limits.low = std::clamp(limits.low, -huge, huge);
  limits.high = std::clamp(limits.high, -huge, huge);
  if (kind == Scale::Kind::logarithmic) {
    if (limits.high <= 0) limits.high = 1;
    if (limits.low <= 0) limits.low = limits.high / 1e3;
    limits.low = std::max(limits.low, std::numeric_limits<double>::min() * 10);
    limits.high = std::max(limits.high, limits.low);
    if (limits.high < limits.low * 1.001) limits = {limits.low / 2, limits.high * 2};
    return limits;
  }
  const double size = std::max(std::abs(limits.low), std::abs(limits.high));
  if (limits.span() <= size * finest_step) {
    const double around = size > 0 ? size * 0.1 : 0.5;
    limits = {limits.low - around, limits.high + around};
  }
  return limits;
}

}  // namespace

void Limits::add(double x) {
  if (!std::isfinite(x)) return;
  if (empty()) {
    low = high = x;
  } else {
    low = std::min(low, x);
    high = std::max(high, x);
  }
}

Limits limits_of(std::span<const double> values) {
  Limits limits;
  for (double x : values) limits.add(x);
  return limits;
}

Limits robust_limits(std::vector<double> values) {
  std::erase_if(values, [](double x) { return !std::isfinite(x); });
  const Limits all = limits_of(values);
  if (values.size() < 20) return all;
  std::sort(values.begin(), values.end());
  const auto cut = static_cast<std::size_t>(wild_share * static_cast<double>(values.size()));
  const Limits middle{values[cut], values[values.size() - 1 - cut]};
  if (!(middle.span() > 0) || all.span() <= wild_factor * middle.span()) return all;
  const double room = 0.5 * middle.span();
  return {std::max(all.low, middle.low - room), std::min(all.high, middle.high + room)};
}

bool spans_decades(std::span<const double> values) {
  const Limits limits = limits_of(values);
  return !limits.empty() && limits.low > 0 && limits.high > decades_factor * limits.low;
}

Scale::Scale(Kind kind, Limits limits, double from, double to)
    : kind_(kind), limits_(usable(kind, limits)), from_(from), to_(to) {}

Scale Scale::rounded(Kind kind, Limits limits, double from, double to, int about) {
  limits = usable(kind, limits);
  if (kind == Kind::linear) {
    const double step = nice_step(limits.span(), about);
    limits = {std::floor(limits.low / step + 1e-9) * step,
              std::ceil(limits.high / step - 1e-9) * step};
  } else {
    // A little room is enough: whole decades would leave half of a drawing empty.
    const double room = std::pow(limits.high / limits.low, 0.04);
    limits = {limits.low / room, limits.high * room};
  }
  return Scale(kind, limits, from, to);
}

double Scale::operator()(double x) const {
  if (!std::isfinite(x)) return std::numeric_limits<double>::quiet_NaN();
  if (kind_ == Kind::linear) return from_ + (x - limits_.low) / limits_.span() * (to_ - from_);
  if (x <= 0) return std::numeric_limits<double>::quiet_NaN();
  return from_ + std::log(x / limits_.low) / std::log(limits_.high / limits_.low) * (to_ - from_);
}

std::vector<Tick> Scale::ticks(int about) const {
  // Within less than a decade, a logarithmic axis is as good as a linear one.
  if (kind_ == Kind::logarithmic && limits_.high > 8 * limits_.low) return decade_ticks(about);
  return linear_ticks(about);
}

std::vector<Tick> Scale::linear_ticks(int about) const {
  const double step = nice_step(limits_.span(), about);
  std::vector<Tick> ticks;
  const double slack = 1e-9 * step;
  for (double k = std::ceil((limits_.low - slack) / step); k * step <= limits_.high + slack; ++k) {
    ticks.push_back({k * step, tick_text(k * step, step)});
    if (ticks.size() > 100) break;  // where k + 1 is k
  }
  return ticks;
}

std::vector<Tick> Scale::decade_ticks(int about) const {
  const int first = static_cast<int>(std::floor(std::log10(limits_.low) - 1e-9));
  const int last = static_cast<int>(std::ceil(std::log10(limits_.high) + 1e-9));
  const int decades = last - first;
  const int every = std::max((decades + about - 1) / std::max(about, 1), 1);
  // Numbers that need no power of ten for any label are easier to read without.
  const bool plain = first >= -4 && last <= 6;
  std::vector<Tick> ticks;
  for (int e = first; e <= last; ++e)
    for (int digit = 1; digit <= 9; ++digit) {
      const double value = digit * std::pow(10, e);
      if (value < limits_.low * 0.9999 || value > limits_.high * 1.0001) continue;
      const bool labelled =
          digit == 1 ? e % every == 0
                     : (digit == 2 || digit == 5) && 3 * decades <= about + 2 && every == 1;
      if (labelled) {
        ticks.push_back({value, plain        ? number_text(value)
                                : digit == 1 ? power_of_ten(e)
                                             : std::to_string(digit) + "\u00d7" + power_of_ten(e)});
      } else if (every == 1) {
        ticks.push_back({value, ""});
      }
    }
  return ticks;
}

}  // namespace whorl::driver::report
