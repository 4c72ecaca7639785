// The chains of reference/summary.py, to the same bits: integers, and single roundings.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace whorl::testing {

struct FixedChains {
  std::int64_t chains = 0, length = 0;
  std::vector<double> draws;  // [chains, length]
};

class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t integer() {  // 32 bits
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return state_ >> 32;
  }
  double bell() {  // nearly normal: twelve uniform numbers less 6, exact
    std::uint64_t sum = 0;
    for (int i = 0; i < 12; ++i) sum += integer();
    return static_cast<double>(sum) / 4294967296.0 - 6;
  }

 private:
  std::uint64_t state_;
};

inline FixedChains walk(double phi, std::int64_t chains, std::int64_t length, std::uint64_t seed) {
  FixedChains result{chains, length, {}};
  for (std::int64_t c = 0; c < chains; ++c) {
    Numbers numbers(seed + static_cast<std::uint64_t>(c));
    double x = numbers.bell();
    for (std::int64_t t = 0; t < length; ++t) {
      result.draws.push_back(x);
      x = phi * x + numbers.bell();
    }
  }
  return result;
}

// f(chain, draw, x) in the place of each x.
inline FixedChains each(FixedChains chains, const std::function<double(int, int, double)>& f) {
  for (std::size_t i = 0; i < chains.draws.size(); ++i) {
    const int at = static_cast<int>(i), length = static_cast<int>(chains.length);
    chains.draws[i] = f(at / length, at % length, chains.draws[i]);
  }
  return chains;
}

inline FixedChains heavy_tails() {
  const FixedChains pairs = walk(0, 4, 2000, 60);
  FixedChains result{4, 1000, {}};
  for (std::size_t i = 0; i < pairs.draws.size(); i += 2)
    result.draws.push_back(pairs.draws[i] / pairs.draws[i + 1]);
  return result;
}

inline FixedChains fixed_chains(std::string_view name) {
  if (name == "independent") return walk(0, 4, 1000, 10);
  if (name == "correlated") return walk(0.95, 4, 1000, 20);
  if (name == "slow") return walk(0.998, 2, 3000, 30);
  if (name == "anticorrelated") return walk(-0.75, 4, 1000, 40);
  if (name == "one_elsewhere")
    return each(walk(0, 4, 500, 50), [](int c, int, double x) { return c == 0 ? x + 2 : x; });
  if (name == "one_wider")
    return each(walk(0, 4, 500, 55), [](int c, int, double x) { return c == 3 ? x * 3 : x; });
  if (name == "heavy_tails") return heavy_tails();
  if (name == "drifting")
    return each(walk(0, 3, 400, 70), [](int, int t, double x) { return x + t / 256.0; });
  if (name == "discrete")
    return each(walk(0.5, 4, 300, 80), [](int, int, double x) { return std::floor(2 * x); });
  if (name == "binary")
    return each(walk(0.5, 4, 300, 85), [](int, int, double x) { return x > 0.25 ? 1.0 : 0.0; });
  if (name == "odd_length") return walk(0.5, 3, 501, 90);
  if (name == "one_chain") return walk(0.3, 1, 200, 100);
  if (name == "far_away")
    return each(walk(0.6, 2, 300, 110), [](int, int, double x) { return x + 67108864.0; });
  if (name == "twelve_draws") return walk(0, 6, 12, 115);
  if (name == "seven_draws") return walk(0, 5, 7, 120);
  if (name == "six_draws") return walk(0, 4, 6, 130);
  if (name == "four_draws") return walk(0, 4, 4, 140);
  throw std::invalid_argument("no such chains");
}

}  // namespace whorl::testing
