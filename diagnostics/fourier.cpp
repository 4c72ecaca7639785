#include "diagnostics/fourier.hpp"

#include <cmath>
#include <numbers>

namespace whorl {

namespace {

void transform_four(double* re, double* im) {
  const double a = re[0] + re[2], b = re[1] + re[3], c = re[0] - re[2], d = re[1] - re[3];
  const double e = im[0] + im[2], f = im[1] + im[3], g = im[0] - im[2], h = im[1] - im[3];
  re[0] = a + b, re[1] = a - b, re[2] = c + h, re[3] = c - h;
  im[0] = e + f, im[1] = e - f, im[2] = g - d, im[3] = g + d;
}

}  // namespace

// Every second factor of a level is one of the level before, and the next one is that times a
// constant: a factor has gone through log2(size) products at most.
Fourier::Fourier(std::int64_t size)
    : size_(size), cos_(static_cast<std::size_t>(size)), sin_(static_cast<std::size_t>(size)) {
  cos_[1] = 1;
  for (std::int64_t half = 2; half < size; half *= 2) {
    const double angle = -std::numbers::pi / static_cast<double>(half);
    const double c = std::cos(angle), s = std::sin(angle);
    for (std::int64_t j = half / 2; j < half; ++j) {
      cos_[2 * j] = cos_[j];
      sin_[2 * j] = sin_[j];
      cos_[2 * j + 1] = cos_[j] * c - sin_[j] * s;
      sin_[2 * j + 1] = cos_[j] * s + sin_[j] * c;
    }
  }
}

// Even k are the transform of z_t + z_{t+half}, odd k that of (z_t - z_{t+half}) exp(-pi i t/half).
// Depth first: a part that fits a cache is finished there.
void Fourier::transform(double* re, double* im, std::int64_t half) const {
  if (half == 2) return transform_four(re, im);
  const double *c = cos_.data() + half, *s = sin_.data() + half;
#pragma GCC ivdep
  for (std::int64_t t = 0; t < half; ++t) {
    const double x = re[t] - re[t + half], y = im[t] - im[t + half];
    re[t] += re[t + half];
    im[t] += im[t + half];
    re[t + half] = x * c[t] - y * s[t];
    im[t + half] = x * s[t] + y * c[t];
  }
  transform(re, im, half / 2);
  transform(re + half, im + half, half / 2);
}

std::int64_t Fourier::place(std::int64_t k) const {
  std::int64_t reversed = 0;
  for (std::int64_t bit = 1; bit < size_; bit *= 2, k /= 2) reversed = 2 * reversed + k % 2;
  return reversed;
}

}  // namespace whorl
