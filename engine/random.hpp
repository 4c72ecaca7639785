// Random numbers as a function of coordinates, without any state.
//
// Every number is made from one block of Philox4x32-10 (Salmon et al. 2011), a keyed bijection of
// 128-bit counters. The key is the seed; the counter's four words are
//
//   (block, stream, chain, step)
//
// where `block` counts groups of neighbouring elements. So a number depends on (seed, stream, step,
// chain, element) only: any range of elements, any subset of chains and any resumed run gets the
// same bits. Two uses that must be independent need different streams.
//
//   normal, f32    a block makes the elements 4b .. 4b+3: two Box-Muller pairs, one word for each
//                  radius and each angle; the largest magnitude is sqrt(66 ln 2) = 6.76
//   normal, f64    a block makes the elements 2b and 2b+1, from two words each; the largest is 9.49
//   uniform, f32   four elements a block: (k + 1/2) / 2^23 with the upper 23 bits k of a word
//   uniform, f64   two elements a block: (k + 1/2) / 2^52 with the upper 52 bits k of two words
//   index          a block for each element, see uniform_index
//
// Normals are never zero and never infinite; uniforms lie in the open interval (0, 1).
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace whorl {

struct RandomCoordinates {
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;
  std::uint32_t step = 0;
  std::uint32_t chain = 0;
};

// The bijection itself.
class Philox {
 public:
  using Words = std::array<std::uint32_t, 4>;

  explicit Philox(std::uint64_t seed) : seed_(seed) {}

  Words words(const Words& counter) const;
  static Words words(const RandomCoordinates& at, std::uint32_t block) {
    return Philox(at.seed).words({block, at.stream, at.chain, at.step});
  }

 private:
  std::uint64_t seed_;
};

// How many elements one chain may have: 2^32 blocks.
template <class T>
inline constexpr std::int64_t max_random_elements = (std::int64_t{16} / sizeof(T)) << 32;

// Elements [first, first + out.size()) of a chain, for T = float and double. All of them must lie
// below max_random_elements<T>.
template <class T>
void fill_normal(const RandomCoordinates& at, std::int64_t first, std::span<T> out);
template <class T>
void fill_uniform(const RandomCoordinates& at, std::int64_t first, std::span<T> out);

// The same of the chains at.chain, at.chain + 1, ... that stand one after the other with per_chain
// elements each; `first` counts from the start of at.chain.
template <class T>
void fill_normal_chains(const RandomCoordinates& at, std::int64_t per_chain, std::int64_t first,
                        std::span<T> out);
template <class T>
void fill_uniform_chains(const RandomCoordinates& at, std::int64_t per_chain, std::int64_t first,
                         std::span<T> out);

// One element.
template <class T = double>
T normal(const RandomCoordinates& at, std::int64_t element) {
  T value;
  fill_normal<T>(at, element, {&value, 1});
  return value;
}
template <class T = double>
T uniform(const RandomCoordinates& at, std::int64_t element) {
  T value;
  fill_uniform<T>(at, element, {&value, 1});
  return value;
}

// An integer in [0, n), every one equally likely; n > 0. Numbers that would favour some results are
// thrown away: the next candidate comes from the block whose counter is this block's output.
std::uint64_t uniform_index(const RandomCoordinates& at, std::uint32_t element, std::uint64_t n);

// 0 .. n-1 in an order that depends on the coordinates only, all orders equally likely.
std::vector<std::int32_t> permutation(const RandomCoordinates& at, std::int32_t n);

}  // namespace whorl
