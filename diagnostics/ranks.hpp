// Draws in ascending order, and their ranks.
//
// Sorted once, by the bits of their values (a radix sort, O(n)), draws give quantiles, ranks, and
// by one merge the order of their distances from a value. Equal draws have equal ranks: the mean of
// the places that they take, 1 being the first.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace whorl {

struct SortedDraw {
  double value = 0;
  std::int64_t index = 0;  // where it was
};

// Sorts by value, equal ones by index; they come in the order of their indices, and are finite.
// `scratch` is given the size of `draws`, and what is in it afterwards is nobody's.
void sort_draws(std::vector<SortedDraw>& draws, std::vector<SortedDraw>& scratch);

// The quantile of sorted draws, interpolated: at (n - 1) p, counted from 0.
double quantile_of(std::span<const SortedDraw> sorted, double p);

// |value - centre| of sorted draws, sorted.
void fold_sorted(std::span<const SortedDraw> sorted, double centre,
                 std::vector<SortedDraw>& folded);

// f(draws, rank) for each run of equal draws among sorted ones.
template <class F>
void for_each_rank(std::span<const SortedDraw> sorted, F&& f) {
  for (std::size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    while (end < sorted.size() && sorted[end].value == sorted[begin].value) ++end;
    f(sorted.subspan(begin, end - begin), 0.5 * static_cast<double>(begin + 1 + end));
  }
}

}  // namespace whorl
