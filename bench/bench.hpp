// What the benchmarks have in common: times as the best of many, printed beside a reference that is
// measured in the same run, because only such ratios mean something on a shared machine.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

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

// The shortest time of each step of a plan in `count` runs of an executor that profiles, in
// seconds: what a mean would tell of a shared machine is how busy the others are.
template <class Profiled>
std::vector<double> best_profile(int count, Profiled& executor) {
  std::vector<double> before(executor.plan().steps.size(), 0.0), best(before.size(), 1e300);
  for (int i = 0; i < count; ++i) {
    executor.run();
    const auto profile = executor.profile();
    for (std::size_t at = 0; at < best.size(); ++at) {
      best[at] = std::min(best[at], profile[at].seconds - before[at]);
      before[at] = profile[at].seconds;
    }
  }
  return best;
}

inline void report(std::string_view name, double engine, double reference, double scale,
                   std::string_view unit) {
  fmt::print("{:<44} engine {:>10.4f} {}   reference {:>10.4f} {}   ratio {:>6.2f}\n", name,
             engine * scale, unit, reference * scale, unit, engine / reference);
}

}  // namespace whorl::bench
