// Nanoseconds per random number: ours in a block that fits the cache, against MKL's generator and
// against one number at a time from Random123's words. Only ratios within one run count.
#include "engine/random.hpp"

#include <fmt/core.h>
#include <mkl_vsl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <vector>

namespace {

constexpr int n = 16384;

// The best of many runs, in nanoseconds per number.
template <class Run>
double best(Run&& run) {
  double seconds = 1e9;
  for (int i = 0; i < 200; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    seconds = std::min(seconds, took.count());
  }
  return seconds / n * 1e9;
}

template <class T>
void scalar_normals(const whorl::RandomCoordinates& at, std::vector<T>& out) {
  for (std::size_t i = 0; i + 1 < out.size(); i += 2) {
    const auto w = whorl::Philox::words(at, static_cast<std::uint32_t>(i / 2));
    const T u = (static_cast<T>(w[0] >> 9) + T(0.5)) / T(1 << 23);
    const T t = static_cast<T>(w[1]) * static_cast<T>(2 * std::numbers::pi / 4294967296.0);
    const T r = std::sqrt(T(-2) * std::log(u));
    out[i] = r * std::cos(t);
    out[i + 1] = r * std::sin(t);
  }
}

void report(const char* what, double ours, double other) {
  fmt::print("{:<28} {:8.2f} ns {:8.2f} x\n", what, other, other / ours);
}

template <class T, class Mkl>
void compare(const char* type, Mkl&& mkl) {
  std::vector<T> out(n);
  const whorl::RandomCoordinates at{1, 2, 3, 4};
  const double ours = best([&] { whorl::fill_normal<T>(at, 0, out); });
  fmt::print("{} normals\n", type);
  report("ours", ours, ours);
  report("ours, in tiles of 256", ours, best([&] {
           for (std::size_t i = 0; i < n; i += 256)
             whorl::fill_normal<T>(at, static_cast<std::int64_t>(i) + 2, {out.data() + i, 256});
         }));
  report("scalar, C library", ours, best([&] { scalar_normals(at, out); }));
  VSLStreamStatePtr stream = nullptr;
  vslNewStream(&stream, VSL_BRNG_PHILOX4X32X10, 1);
  report("MKL Philox, ICDF", ours,
         best([&] { mkl(VSL_RNG_METHOD_GAUSSIAN_ICDF, stream, out.data()); }));
  report("MKL Philox, Box-Muller", ours,
         best([&] { mkl(VSL_RNG_METHOD_GAUSSIAN_BOXMULLER2, stream, out.data()); }));
  vslDeleteStream(&stream);
  const double uniform = best([&] { whorl::fill_uniform<T>(at, 0, out); });
  report("ours, uniform", ours, uniform);
}

}  // namespace

int main() {
  compare<float>("f32", [](int method, VSLStreamStatePtr stream, float* out) {
    vsRngGaussian(method, stream, n, out, 0, 1);
  });
  compare<double>("f64", [](int method, VSLStreamStatePtr stream, double* out) {
    vdRngGaussian(method, stream, n, out, 0, 1);
  });
}
