// What the benchmarks have in common: times as the best of many, printed beside a reference that is
// measured in the same run, because only such ratios mean something on a shared machine.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace whorl::bench {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The shortest of `count` timings of f, in seconds.
template <class F>
double best_of(int count, F&& f) {
  f();
  double best = 1e300;
  for (int i = 0; i < count; ++i) {
    const double start = seconds_now();
    f();
    best = std::min(best, seconds_now() - start);
  }
  return best;
}

// The same for two rivals, taken in turn, so that both meet the same noise.
template <class F, class G>
std::pair<double, double> best_of_both(int count, F&& f, G&& g) {
  f();
  g();
  std::pair best{1e300, 1e300};
  for (int i = 0; i < count; ++i) {
    const double start = seconds_now();
    f();
    const double middle = seconds_now();
    g();
    best.first = std::min(best.first, middle - start);
    best.second = std::min(best.second, seconds_now() - middle);
  }
  return best;
}

inline void report(std::string_view name, double engine, double reference, double scale,
                   std::string_view unit) {
  fmt::print("{:<44} engine {:>10.4f} {}   reference {:>10.4f} {}   ratio {:>6.2f}\n", name,
             engine * scale, unit, reference * scale, unit, engine / reference);
}

}  // namespace whorl::bench
