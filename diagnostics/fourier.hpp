// Fourier: the discrete Fourier transform of a power of two complex numbers, in place.
//
//   Z_k = sum_t z_t exp(-2 pi i k t / size)
//
// The result is left where the butterflies put it: Z_k is at place(k), the bits of k in reverse.
// Who only squares it need not sort it. Bits depend on the numbers and the size alone.
// Thread safety: immutable after construction.
#pragma once

#include <cstdint>
#include <vector>

namespace whorl {

class Fourier {
 public:
  explicit Fourier(std::int64_t size);  // a power of two, 4 or more

  // `re` and `im` are `size` numbers each.
  void transform(double* re, double* im) const { transform(re, im, size_ / 2); }
  std::int64_t place(std::int64_t k) const;

 private:
  void transform(double* re, double* im, std::int64_t half) const;

  std::int64_t size_;
  // exp(-pi i j / half) is at [half + j], for each half = 1, 2, 4, .. and j < half.
  std::vector<double> cos_, sin_;
};

}  // namespace whorl
