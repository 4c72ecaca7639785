// The element of a given rank, by bisection.
//
// Numbers become integer keys of the same order. A range of keys that holds the rank is halved by
// counting, which is one compare and one add for a vector of keys and has no branch that depends on
// the data. The last few keys are sorted out one by one. -0 comes before +0; NaN have no
// place. Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <type_traits>

namespace whorl {

namespace detail {

template <class T>
using SelectKey = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

// Floating-point numbers are stored as sign and magnitude: the order of negative ones is reversed.
// The map is its own inverse.
template <class Key>
Key ordered(Key bits) {
  return bits ^ (bits >> (8 * sizeof(Key) - 1) & std::numeric_limits<Key>::max());
}

template <class Key>
std::int64_t count_up_to(const Key* keys, std::int64_t n, Key limit) {
  constexpr std::int64_t piece = 4096;  // counted in a Key
  std::int64_t total = 0;
  for (std::int64_t begin = 0; begin < n; begin += piece) {
    const std::int64_t end = std::min(begin + piece, n);
    Key count = 0;
    for (std::int64_t i = begin; i < end; ++i) count += keys[i] <= limit ? 1 : 0;
    total += count;
  }
  return total;
}

// Moves the keys in [low, high] to the front and returns how many there are, which should be few:
// it looks at whole groups first.
template <class Key>
std::int64_t keep_between(Key* keys, std::int64_t n, Key low, Key high) {
  constexpr std::int64_t group = 64;
  std::int64_t kept = 0;
  for (std::int64_t begin = 0; begin < n; begin += group) {
    const std::int64_t end = std::min(begin + group, n);
    Key found = 0;
    for (std::int64_t i = begin; i < end; ++i)
      found |= static_cast<Key>(keys[i] >= low) & static_cast<Key>(keys[i] <= high);
    if (found == 0) continue;
    for (std::int64_t i = begin; i < end; ++i)
      if (keys[i] >= low && keys[i] <= high) keys[kept++] = keys[i];
  }
  return kept;
}

// The key at `rank`; the keys are moved about.
template <class Key>
Key select_key(Key* keys, std::int64_t n, std::int64_t rank) {
  Key low = keys[0], high = keys[0];
  for (std::int64_t i = 0; i < n; ++i) {
    const Key key = keys[i];
    low = key < low ? key : low;
    high = key > high ? key : high;
  }
  // The key lies in [low, high]; `under` keys are below, `upto` are not above.
  std::int64_t under = 0, upto = n;
  while (low < high && upto - under > std::max<std::int64_t>(16, n / 128)) {
    const Key middle = std::midpoint(low, high);
    const std::int64_t count = count_up_to(keys, n, middle);
    if (rank < count) {
      high = middle;
      upto = count;
    } else {
      low = middle + 1;
      under = count;
    }
  }
  if (low == high) return low;
  n = keep_between(keys, n, low, high);
  std::nth_element(keys, keys + rank - under, keys + n);
  return keys[rank - under];
}

}  // namespace detail

// The element that stands at `rank` when the n elements of x, none of which is NaN, are sorted.
// `scratch` has room for n elements.
template <class T>
T select_rank(const T* x, std::int64_t n, std::int64_t rank, T* scratch) {
  using Key = detail::SelectKey<T>;
  const auto ordered = [](Key bits) {
    return std::is_integral_v<T> ? bits : detail::ordered(bits);
  };
  Key* keys = reinterpret_cast<Key*>(scratch);
  for (std::int64_t i = 0; i < n; ++i) keys[i] = ordered(std::bit_cast<Key>(x[i]));
  return std::bit_cast<T>(ordered(detail::select_key(keys, n, rank)));
}

}  // namespace whorl
