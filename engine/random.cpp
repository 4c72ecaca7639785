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

// Counts through the blocks of one chain after the other.
struct BlockCounter {
  std::uint32_t block, chain, blocks;

  void next() {
    const bool last = ++block == blocks;
    block = last ? 0 : block;
    chain += last;
  }
};

// Blocks of several chains side by side, for chains that are too short to fill the vectors alone.
// Where chains are whole numbers of blocks, the blocks' numbers follow each other in `out`; where
// they are not, the last block of each is cut.
template <class Draw>
void fill_short_rows(const RandomCoordinates& at, std::int64_t row, std::int64_t begin,
                     std::span<typename Draw::T> out) {
  using T = typename Draw::T;
  constexpr int lanes = 16;
  constexpr std::int64_t each = Draw::per_block;
  const Place where = place(at);
  const std::int64_t blocks = (row + each - 1) / each, size = std::ssize(out);
  std::int64_t element = begin % row;  // the next one's place in its chain
  BlockCounter counter{static_cast<std::uint32_t>(element / each),
                       at.chain + static_cast<std::uint32_t>(begin / row),
                       static_cast<std::uint32_t>(blocks)};
  for (std::int64_t done = 0; done < size;) {
    std::uint32_t block[lanes], chain[lanes], words[4][lanes];
    for (int i = 0; i < lanes; ++i, counter.next()) {
      block[i] = counter.block;
      chain[i] = counter.chain;
    }
    philox::blocks(where, block, chain, words);
    if (row % each == 0 && element % each == 0 && size - done >= lanes * each) {
      Draw::template make<lanes>(words, out.data() + done);
      done += lanes * each;
      continue;
    }
    T numbers[lanes * each];
    Draw::template make<lanes>(words, numbers);
    for (int i = 0; i < lanes && done < size; ++i) {
      const std::int64_t from = element % each;
      const std::int64_t count = std::min({each - from, row - element, size - done});
      std::copy_n(numbers + i * each + from, count, out.data() + done);
      done += count;
      element = element + count == row ? 0 : element + count;
    }
  }
}

template <class Draw>
void fill_rows(const RandomCoordinates& at, std::int64_t row, std::int64_t begin,
               std::span<typename Draw::T> out) {
  if (row <= 32 * Draw::per_block && row < static_cast<std::int64_t>(out.size()))
    return fill_short_rows<Draw>(at, row, begin, out);
  RandomCoordinates here = at;
  for (std::int64_t done = 0; done < static_cast<std::int64_t>(out.size());) {
    const std::int64_t element = (begin + done) % row;
    const auto count = std::min<std::size_t>(static_cast<std::size_t>(row - element),
                                             out.size() - static_cast<std::size_t>(done));
    here.chain = at.chain + static_cast<std::uint32_t>((begin + done) / row);
    fill<Draw>(here, element, out.subspan(static_cast<std::size_t>(done), count));
    done += static_cast<std::int64_t>(count);
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
void fill_normal_rows(const RandomCoordinates& at, std::int64_t row, std::int64_t begin,
                      std::span<float> out) {
  fill_rows<NormalFloat>(at, row, begin, out);
}
template <>
void fill_normal_rows(const RandomCoordinates& at, std::int64_t row, std::int64_t begin,
                      std::span<double> out) {
  fill_rows<NormalDouble>(at, row, begin, out);
}
template <>
void fill_uniform_rows(const RandomCoordinates& at, std::int64_t row, std::int64_t begin,
                       std::span<float> out) {
  fill_rows<UniformFloat>(at, row, begin, out);
}
template <>
void fill_uniform_rows(const RandomCoordinates& at, std::int64_t row, std::int64_t begin,
                       std::span<double> out) {
  fill_rows<UniformDouble>(at, row, begin, out);
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
