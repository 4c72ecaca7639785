#include "engine/random.hpp"

#include <Random123/philox.h>

#include <algorithm>
#include <cassert>
#include <numeric>

#include "engine/kernels/philox.hpp"
#include "engine/kernels/philox_normal.hpp"

namespace whorl {

namespace {

using philox::Place;

Place place(const RandomCoordinates& at) {
  return {static_cast<std::uint32_t>(at.seed), static_cast<std::uint32_t>(at.seed >> 32), at.stream,
          at.chain, at.step};
}

std::uint64_t joined(std::uint32_t low, std::uint32_t high) {
  return static_cast<std::uint64_t>(high) << 32 | low;
}

// A draw makes the numbers of n neighbouring blocks from their words, `per_block` of each.
struct NormalFloat {
  using T = float;
  static constexpr int per_block = 4;
  template <int n>
  static void make(const std::uint32_t (&w)[4][n], T* out) {
    // Word by word before they are interleaved: every loop is then one straight vector loop.
    T z[4][n];
    for (int j = 0; j < 4; j += 2)
      for (int i = 0; i < n; ++i) {
        const auto [a, b] = philox::normals(w[j][i], w[j + 1][i]);
        z[j][i] = a;
        z[j + 1][i] = b;
      }
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < 4; ++j) out[4 * i + j] = z[j][i];
  }
};

struct NormalDouble {
  using T = double;
  static constexpr int per_block = 2;
  template <int n>
  static void make(const std::uint32_t (&w)[4][n], T* out) {
    for (int i = 0; i < n; ++i) {
      const auto [a, b] = philox::normals(joined(w[0][i], w[1][i]), joined(w[2][i], w[3][i]));
      out[2 * i] = a;
      out[2 * i + 1] = b;
    }
  }
};

struct UniformFloat {
  using T = float;
  static constexpr int per_block = 4;
  template <int n>
  static void make(const std::uint32_t (&w)[4][n], T* out) {
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < 4; ++j) out[4 * i + j] = philox::uniform(w[j][i]);
  }
};

struct UniformDouble {
  using T = double;
  static constexpr int per_block = 2;
  template <int n>
  static void make(const std::uint32_t (&w)[4][n], T* out) {
    for (int i = 0; i < n; ++i) {
      out[2 * i] = philox::uniform(joined(w[0][i], w[1][i]));
      out[2 * i + 1] = philox::uniform(joined(w[2][i], w[3][i]));
    }
  }
};

template <class Draw, int n>
void make_blocks(const Place& at, std::uint32_t first, typename Draw::T* out) {
  std::uint32_t words[4][n];
  philox::blocks(at, first, words);
  Draw::template make<n>(words, out);
}

// Sixteen blocks at a time go straight to their place; eight at a time are cut at the ends.
template <class Draw>
void fill(const RandomCoordinates& at, std::int64_t first, std::span<typename Draw::T> out) {
  using T = typename Draw::T;
  assert(first >= 0 && first + static_cast<std::int64_t>(out.size()) <= max_random_elements<T>);
  constexpr std::size_t whole = 16 * Draw::per_block, cut = 8 * Draw::per_block;
  const Place where = place(at);
  auto block = static_cast<std::uint32_t>(first / Draw::per_block);
  auto skip = static_cast<std::size_t>(first % Draw::per_block);
  for (std::size_t done = 0; done < out.size();) {
    if (skip == 0 && out.size() - done >= whole) {
      make_blocks<Draw, 16>(where, block, out.data() + done);
      done += whole;
      block += 16;
    } else {
      T numbers[cut];
      make_blocks<Draw, 8>(where, block, numbers);
      const std::size_t count = std::min(cut - skip, out.size() - done);
      std::copy_n(numbers + skip, count, out.data() + done);
      done += count;
      block += 8;
      skip = 0;
    }
  }
}

// Which blocks of which chains follow each other, sixteen at a time, where chains are shorter.
class ShortChains {
 public:
  static constexpr int together = 16;

  ShortChains(std::uint32_t blocks, std::uint32_t chain, std::uint32_t block)
      : chain_(chain), at_(block) {
    for (std::uint32_t i = 0, b = 0, c = 0; i < 2 * together; ++i) {
      block_[i] = b;
      later_[i] = c;
      const bool last = ++b == blocks;
      b = last ? 0 : b;
      c += last;
    }
  }
  void next(std::uint32_t (&block)[together], std::uint32_t (&chain)[together]) {
    for (std::uint32_t i = 0; i < together; ++i) {
      block[i] = block_[at_ + i];
      chain[i] = chain_ + later_[at_ + i];
    }
    chain_ += later_[at_ + together];
    at_ = block_[at_ + together];
  }

 private:
  std::uint32_t block_[2 * together], later_[2 * together];  // counted from block 0 of a chain
  std::uint32_t chain_, at_;
};

template <class Draw>
void fill_short_chains(const RandomCoordinates& at, std::int64_t per_chain, std::int64_t first,
                       std::span<typename Draw::T> out) {
  constexpr std::int64_t each = Draw::per_block;
  constexpr int together = ShortChains::together;
  const Place where = place(at);
  ShortChains chains(static_cast<std::uint32_t>((per_chain + each - 1) / each),
                     at.chain + static_cast<std::uint32_t>(first / per_chain),
                     static_cast<std::uint32_t>(first % per_chain / each));
  std::int64_t skip = first % per_chain % each, done = 0;
  const auto size = static_cast<std::int64_t>(out.size());
  while (done < size) {
    std::uint32_t block[together], chain[together], words[4][together];
    chains.next(block, chain);
    philox::blocks(where, block, chain, words);
    if (per_chain % each == 0 && skip == 0 && size - done >= together * each) {
      Draw::template make<together>(words, out.data() + done);
      done += together * each;
      continue;
    }
    typename Draw::T numbers[together * each];
    Draw::template make<together>(words, numbers);
    for (int i = 0; i < together && done < size; ++i) {
      const std::int64_t have = std::min(each, per_chain - block[i] * each);
      const std::int64_t count = std::min(have - skip, size - done);
      std::copy_n(numbers + i * each + skip, count, out.data() + done);
      done += count;
      skip = 0;
    }
  }
}

template <class Draw>
void fill_chains(RandomCoordinates at, std::int64_t per_chain, std::int64_t first,
                 std::span<typename Draw::T> out) {
  if (out.empty()) return;
  if (per_chain < 16 * Draw::per_block) return fill_short_chains<Draw>(at, per_chain, first, out);
  at.chain += static_cast<std::uint32_t>(first / per_chain);
  first %= per_chain;
  while (!out.empty()) {
    const auto count = std::min(static_cast<std::size_t>(per_chain - first), out.size());
    fill<Draw>(at, first, out.first(count));
    out = out.subspan(count);
    ++at.chain;
    first = 0;
  }
}

}  // namespace

Philox::Words Philox::words(const Words& counter) const {
  const philox4x32_ctr_t from{{counter[0], counter[1], counter[2], counter[3]}};
  const philox4x32_key_t key{
      {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)}};
  const philox4x32_ctr_t to = philox4x32(from, key);
  return {to.v[0], to.v[1], to.v[2], to.v[3]};
}

template <>
void fill_normal(const RandomCoordinates& at, std::int64_t first, std::span<float> out) {
  fill<NormalFloat>(at, first, out);
}
template <>
void fill_normal(const RandomCoordinates& at, std::int64_t first, std::span<double> out) {
  fill<NormalDouble>(at, first, out);
}
template <>
void fill_uniform(const RandomCoordinates& at, std::int64_t first, std::span<float> out) {
  fill<UniformFloat>(at, first, out);
}
template <>
void fill_uniform(const RandomCoordinates& at, std::int64_t first, std::span<double> out) {
  fill<UniformDouble>(at, first, out);
}

template <>
void fill_normal_chains(const RandomCoordinates& at, std::int64_t per_chain, std::int64_t first,
                        std::span<float> out) {
  fill_chains<NormalFloat>(at, per_chain, first, out);
}
template <>
void fill_normal_chains(const RandomCoordinates& at, std::int64_t per_chain, std::int64_t first,
                        std::span<double> out) {
  fill_chains<NormalDouble>(at, per_chain, first, out);
}
template <>
void fill_uniform_chains(const RandomCoordinates& at, std::int64_t per_chain, std::int64_t first,
                         std::span<float> out) {
  fill_chains<UniformFloat>(at, per_chain, first, out);
}
template <>
void fill_uniform_chains(const RandomCoordinates& at, std::int64_t per_chain, std::int64_t first,
                         std::span<double> out) {
  fill_chains<UniformDouble>(at, per_chain, first, out);
}

// Lemire 2019: the upper half of a 64-bit word times n is the result. It is fair once the lower
// halves below 2^64 mod n are refused; a refusal has a probability below n / 2^64.
std::uint64_t uniform_index(const RandomCoordinates& at, std::uint32_t element, std::uint64_t n) {
  assert(n > 0);
  __extension__ using Wide = unsigned __int128;
  const Philox philox(at.seed);
  Philox::Words words = philox.words({element, at.stream, at.chain, at.step});
  while (true) {
    for (std::size_t j = 0; j < 4; j += 2) {
      const Wide product = static_cast<Wide>(joined(words[j], words[j + 1])) * n;
      const auto low = static_cast<std::uint64_t>(product);
      if (low >= n || low >= (0 - n) % n) return static_cast<std::uint64_t>(product >> 64);
    }
    words = philox.words(words);
  }
}

// Fisher and Yates, from the front: place i takes what stands at a place in [i, n).
std::vector<std::int32_t> permutation(const RandomCoordinates& at, std::int32_t n) {
  assert(n >= 0);
  std::vector<std::int32_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = 0; i + 1 < order.size(); ++i)
    std::swap(order[i],
              order[i + uniform_index(at, static_cast<std::uint32_t>(i), order.size() - i)]);
  return order;
}

}  // namespace whorl
