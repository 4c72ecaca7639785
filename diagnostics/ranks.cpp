#include "diagnostics/ranks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace whorl {

namespace {

constexpr int digit_bits = 11, digits = 3, low_bits = 64 - digits * digit_bits;
constexpr std::size_t digit_values = std::size_t{1} << digit_bits;

// The highest 33 bits of a number that grows with the double: its own bits, those of negative ones
// upside down.
std::uint64_t key_of(double value) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value), sign = std::uint64_t{1} << 63;
  return (bits & sign ? ~bits : bits | sign) >> low_bits;
}

std::size_t digit_of(double value, int digit) {
  return (key_of(value) >> (digit * digit_bits)) & (digit_values - 1);
}

// Draws that differ in none of those bits lie side by side; they are few, or equal.
void sort_runs(std::vector<SortedDraw>& draws) {
  const auto before = [](const SortedDraw& a, const SortedDraw& b) {
    return a.value < b.value || (a.value == b.value && a.index < b.index);
  };
  for (auto begin = draws.begin(), end = begin; begin != draws.end(); begin = end) {
    const std::uint64_t key = key_of(begin->value);
    while (end != draws.end() && key_of(end->value) == key) ++end;
    if (end - begin > 1 && !std::is_sorted(begin, end, before)) std::sort(begin, end, before);
  }
}

}  // namespace

// From the lowest digit to the highest. A digit that all share is passed over.
void sort_draws(std::vector<SortedDraw>& draws, std::vector<SortedDraw>& scratch) {
  std::vector<std::array<std::size_t, digit_values>> counts(digits);
  for (const SortedDraw& draw : draws)
    for (int digit = 0; digit < digits; ++digit) ++counts[digit][digit_of(draw.value, digit)];
  scratch.resize(draws.size());
  for (int digit = 0; digit < digits; ++digit) {
    std::array<std::size_t, digit_values>& places = counts[digit];
    if (std::find(places.begin(), places.end(), draws.size()) != places.end()) continue;
    std::size_t place = 0;
    for (std::size_t& p : places) {
      const std::size_t count = p;
      p = place;
      place += count;
    }
    for (const SortedDraw& draw : draws) scratch[places[digit_of(draw.value, digit)]++] = draw;
    draws.swap(scratch);
  }
  sort_runs(draws);
}

double quantile_of(std::span<const SortedDraw> sorted, double p) {
  double at = static_cast<double>(sorted.size() - 1) * p;
  // Where the place is a whole number but for rounding, the quantile is that very draw.
  const double whole = std::round(at);
  if (std::abs(at - whole) <= 4 * std::numeric_limits<double>::epsilon() * whole) at = whole;
  const std::size_t low = static_cast<std::size_t>(at), high = std::min(low + 1, sorted.size() - 1);
  const double a = sorted[low].value, b = sorted[high].value, part = at - static_cast<double>(low);
  // Rounded once, so that the two draws beside a median are equally far from it if they can be.
  return part == 0.5 ? std::midpoint(a, b) : std::lerp(a, b, part);
}

// Those below the centre come nearer from left to right, those above go away: two sorted rows.
void fold_sorted(std::span<const SortedDraw> sorted, double centre,
                 std::vector<SortedDraw>& folded) {
  folded.resize(sorted.size());
  const auto distance = [&](std::size_t i) { return std::abs(sorted[i].value - centre); };
  std::size_t right = static_cast<std::size_t>(
      std::partition_point(sorted.begin(), sorted.end(),
                           [&](const SortedDraw& draw) { return draw.value < centre; }) -
      sorted.begin());
  std::size_t left = right;
  for (SortedDraw& next : folded) {
    const bool from_left =
        right == sorted.size() || (left > 0 && distance(left - 1) < distance(right));
    const std::size_t from = from_left ? --left : right++;
    next = {distance(from), sorted[from].index};
  }
}

}  // namespace whorl
