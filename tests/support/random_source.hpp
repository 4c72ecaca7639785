// RandomSource: a small seeded generator for tests; the same numbers on every machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace whorl::testing {

class RandomSource {
 public:
  explicit RandomSource(std::uint64_t seed) : state_(seed) {}
  explicit RandomSource(std::string_view text) : state_(0) {
    for (char c : text) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  }

  // SplitMix64.
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  // In [low, high).
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(high - low));
  }
  bool chance(double probability) { return uniform() < probability; }

 private:
  std::uint64_t state_;
};

}  // namespace whorl::testing
