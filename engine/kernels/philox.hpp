// Philox4x32-10 for many counters at once.
//
// The same words as Random123's philox4x32 (tests/engine/random.cpp compares them), 8 counters to a
// vector register pair. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace whorl::philox {

// The key and those words of the counter that a range of elements shares.
struct Place {
  std::uint32_t key_low, key_high;
  std::uint32_t stream, chain, step;
};

// Four counters, each word in the low half of a 64-bit lane: that is how AVX2 multiplies 32 bits by
// 32 bits without losing the upper half. The upper halves are ignored.
using Lanes = std::uint64_t __attribute__((vector_size(32)));

inline Lanes splat(std::uint64_t x) { return Lanes{x, x, x, x}; }

inline Lanes product(Lanes x, std::uint32_t factor) {
#ifdef __AVX2__
  return (Lanes)_mm256_mul_epu32((__m256i)x, (__m256i)splat(factor));
#else
  return (x & splat(0xffffffffu)) * splat(factor);
#endif
}

// The counters of n blocks, n a multiple of 8: of every 8 the even ones and the odd ones are
// groups of their own, so that their words interleave.
template <int n>
struct Counters {
  static_assert(n % 8 == 0);
  static constexpr int groups = n / 4;
  Lanes c0[groups], c1[groups], c2[groups], c3[groups];

  // The words that the place gives.
  explicit Counters(const Place& at) {
    for (int g = 0; g < groups; ++g) {
      c1[g] = splat(at.stream);
      c2[g] = splat(at.chain);
      c3[g] = splat(at.step);
    }
  }
  // Turns them into random words: words[j][i] is word j of block i.
  void encrypt(const Place& at, std::uint32_t (&words)[4][n]) {
    std::uint32_t key0 = at.key_low, key1 = at.key_high;
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      for (int g = 0; g < groups; ++g) {
        const Lanes p0 = product(c0[g], 0xd2511f53u), p1 = product(c2[g], 0xcd9e8d57u);
        c0[g] = (p1 >> 32) ^ c1[g] ^ splat(key0);
        c2[g] = (p0 >> 32) ^ c3[g] ^ splat(key1);
        c1[g] = p1;
        c3[g] = p0;
      }
      key0 += 0x9e3779b9u;
      key1 += 0xbb67ae85u;
    }
    store(c0, words[0]);
    store(c1, words[1]);
    store(c2, words[2]);
    store(c3, words[3]);
  }

 private:
  static void store(const Lanes* c, std::uint32_t* to) {
    for (int g = 0; g < groups; g += 2) {
      const Lanes joined = (c[g] & splat(0xffffffffu)) | (c[g + 1] << 32);
      std::memcpy(to + 4 * g, &joined, sizeof joined);
    }
  }
};

// words[j][i] is word j of block first + i.
template <int n>
inline void blocks(const Place& at, std::uint32_t first, std::uint32_t (&words)[4][n]) {
  Counters<n> counters(at);
  for (int g = 0; g < counters.groups; ++g) {
    const std::uint32_t b = first + static_cast<std::uint32_t>(8 * (g / 2) + g % 2);
    counters.c0[g] = Lanes{b, b + 2, b + 4, b + 6};
  }
  counters.encrypt(at, words);
}

// words[j][i] is word j of block[i] of chain[i]; the place's own chain does not count.
template <int n>
inline void blocks(const Place& at, const std::uint32_t (&block)[n],
                   const std::uint32_t (&chain)[n], std::uint32_t (&words)[4][n]) {
  Counters<n> counters(at);
  for (int g = 0; g < counters.groups; g += 2) {
    Lanes b, c;
    std::memcpy(&b, block + 4 * g, sizeof b);
    std::memcpy(&c, chain + 4 * g, sizeof c);
    counters.c0[g] = b;
    counters.c0[g + 1] = b >> 32;
    counters.c2[g] = c;
    counters.c2[g + 1] = c >> 32;
  }
  counters.encrypt(at, words);
}

}  // namespace whorl::philox
