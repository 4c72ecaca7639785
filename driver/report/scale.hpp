// Scale: where a number lies on an axis, linear or logarithmic, and which ticks the axis gets.
//
// Invariants: low < high, both finite, and positive where the scale is logarithmic.
// Thread safety: immutable.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace whorl::driver::report {

// An interval of numbers; empty until the first finite one is added.
struct Limits {
  double low = 1, high = -1;

  bool empty() const { return low > high; }
  void add(double x);  // NaN and infinities are passed over
  double span() const { return high - low; }
};
Limits limits_of(std::span<const double> values);
// The interval that a few wild values do not stretch: that of all of them, or where that is many
// times as long as what the middle 96% take, of those alone.
Limits robust_limits(std::vector<double> values);
// Whether all are positive and over so many decades that a logarithmic axis shows more.
bool spans_decades(std::span<const double> values);

struct Tick {
  double value = 0;
  std::string label;  // "" for one between those with labels
};

class Scale {
 public:
  enum class Kind { linear, logarithmic };

  // Numbers low and high lie at pixels `from` and `to`. Limits that are empty, of no length or, for
  // a logarithm, not positive are widened to some that will do.
  Scale(Kind kind, Limits limits, double from, double to);
  // The same with limits that are moved out to the next ticks, of which there are `about` so many.
  static Scale rounded(Kind kind, Limits limits, double from, double to, int about);

  double operator()(double x) const;  // NaN for a number that has no place
  Kind kind() const { return kind_; }
  const Limits& limits() const { return limits_; }
  std::vector<Tick> ticks(int about) const;

 private:
  std::vector<Tick> linear_ticks(int about) const;
  std::vector<Tick> decade_ticks(int about) const;

  Kind kind_;
  Limits limits_;
  double from_, to_;
};

}  // namespace whorl::driver::report
