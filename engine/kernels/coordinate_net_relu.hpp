// The hot case of coordinate_net: one hidden layer of relu units, which is straight between its
// corners. Everything stays in registers; the number of varying inputs and of derivatives is known
// to the compiler, the number of hidden units is a loop.
//
// With on_k = (h_k > 0) the derivatives are sums of constants, sum_k on_k w_k W_kj. Their own
// derivative by the weights needs only, for each unit k,
//
//   s0 = sum on_k y_0     sx_i = sum on_k y_0 x_i     sy_j = sum on_k y_j
//
// because y_0 a_k = on_k y_0 (b_k + sum_i W_ki x_i).
#pragma once

#include "engine/kernels/coordinate_net.hpp"
#include "engine/kernels/coordinate_net_vector.hpp"

namespace whorl::net {

// A number that is NaN stays one: relu keeps it, and it counts as "on".
template <class T, int nx, int nw>
void relu_forward(const Layout& net, const T* weights, const Inputs<T>& in, T* const* y,
                  std::int64_t count, const T* prepared) {
  using V = Vec<T>;
  // Vectors at a time, as many as there are registers for: hides the latency of fma, shares the
  // weights.
  constexpr int width = nx + nw <= 2 ? 4 : 2;
  static_assert(block % (width * lanes<T>) == 0);
  const T bias = weights[net.b()];
  for (std::int64_t at = 0; at < count; at += width * lanes<T>) {
    V f[width], d[nw + 1][width], x[nx][width];
    repeat<width>([&](auto v) {
      f[v] = splat<T>(bias);
      repeat<nw>([&](auto j) { d[j][v] = V{}; });
      repeat<nx>([&](auto i) { x[i][v] = load<T>(in.x[i] + at + v * lanes<T>); });
    });
    for (std::int64_t k = 0; k < net.h1; ++k) {
      const T* p = prepared + k * prepared_width;
      repeat<width>([&](auto v) {
        V h = splat<T>(p[0]);
        repeat<nx>([&](auto i) { h = fma<T>(splat<T>(p[1 + i]), x[i][v], h); });
        const Mask<T> off = h <= V{};
        f[v] = fma<T>(splat<T>(p[prepared_out]), unless<T>(off, h), f[v]);
        repeat<nw>([&](auto j) { d[j][v] += unless<T>(off, splat<T>(p[prepared_out + 1 + j])); });
      });
    }
    repeat<width>([&](auto v) {
      store<T>(y[0] + at + v * lanes<T>, f[v]);
      repeat<nw>([&](auto j) { store<T>(y[1 + j] + at + v * lanes<T>, d[j][v]); });
    });
  }
}

// What is summed for one hidden unit.
template <class T, int nx, int nw>
struct ReluSums {
  T s0, sx[nx], sy[nw + 1];
};

// `units` hidden units share the loads of the inputs.
template <class T, int nx, int nw, int units>
void relu_sums(const Inputs<T>& in, const T* const* dy, std::int64_t begin, std::int64_t end,
               const T* prepared, ReluSums<T, nx, nw>* sums) {
  using V = Vec<T>;
  V s0[units], sx[units][nx], sy[units][nw + 1];
  repeat<units>([&](auto u) {
    s0[u] = V{};
    repeat<nx>([&](auto i) { sx[u][i] = V{}; });
    repeat<nw>([&](auto j) { sy[u][j] = V{}; });
  });
  for (std::int64_t at = begin; at < end; at += lanes<T>) {
    const V y0 = load<T>(dy[0] + at);
    V x[nx], y0x[nx], y[nw + 1];
    repeat<nx>([&](auto i) {
      x[i] = load<T>(in.x[i] + at);
      y0x[i] = y0 * x[i];
    });
    repeat<nw>([&](auto j) { y[j] = load<T>(dy[1 + j] + at); });
    repeat<units>([&](auto u) {
      const T* p = prepared + u * prepared_width;
      V h = splat<T>(p[0]);
      repeat<nx>([&](auto i) { h = fma<T>(splat<T>(p[1 + i]), x[i], h); });
      const Mask<T> off = h <= V{};
      s0[u] += unless<T>(off, y0);
      repeat<nx>([&](auto i) { sx[u][i] += unless<T>(off, y0x[i]); });
      repeat<nw>([&](auto j) { sy[u][j] += unless<T>(off, y[j]); });
    });
  }
  repeat<units>([&](auto u) {
    sums[u].s0 = total<T>(s0[u]);
    repeat<nx>([&](auto i) { sums[u].sx[i] = total<T>(sx[u][i]); });
    repeat<nw>([&](auto j) { sums[u].sy[j] = total<T>(sy[u][j]); });
  });
}

// Adds one unit's sums to the derivative by its weights.
template <class T, int nx, int nw>
void add_relu_unit(const Layout& net, const T* weights, const Inputs<T>& in, std::int64_t k,
                   const ReluSums<T, nx, nw>& s, double* sums) {
  const double wk = weights[net.w() + k], s0 = s.s0;
  const T* row = weights + k * net.inputs;
  double by_x[max_inputs] = {};
  for (int i = 0; i < net.inputs; ++i)
    if (in.constant[static_cast<std::size_t>(i)])
      by_x[i] = s0 * static_cast<double>(in.value[static_cast<std::size_t>(i)]);
  for (int i = 0; i < nx; ++i) by_x[in.index[static_cast<std::size_t>(i)]] = s.sx[i];
  double by_w = s0 * static_cast<double>(weights[net.b1() + k]);
  for (int i = 0; i < net.inputs; ++i) by_w += by_x[i] * static_cast<double>(row[i]);
  for (int j = 0; j < nw; ++j) {
    const double sy = s.sy[j];
    const int i = net.wrt[static_cast<std::size_t>(j)];
    by_w += sy * static_cast<double>(row[i]);
    by_x[i] += sy;
  }
  for (int i = 0; i < net.inputs; ++i) sums[k * net.inputs + i] += wk * by_x[i];
  sums[net.b1() + k] += wk * s0;
  sums[net.w() + k] += by_w;
}

template <class T, int nx, int nw>
void relu_weights_gradient(const Layout& net, const T* weights, const Inputs<T>& in,
                           const T* const* dy, std::int64_t count, const T* prepared,
                           double* sums) {
  constexpr std::int64_t chunk = 8 * block;  // stays in L1; partial sums are short
  constexpr int units = 2;
  for (std::int64_t begin = 0; begin < count; begin += chunk) {
    const std::int64_t end = begin + chunk < count ? begin + chunk : count;
    Vec<T> y0{};
    for (std::int64_t at = begin; at < end; at += lanes<T>) y0 += load<T>(dy[0] + at);
    sums[net.b()] += static_cast<double>(total<T>(y0));
    ReluSums<T, nx, nw> s[units];
    std::int64_t k = 0;
    for (; k + units <= net.h1; k += units) {
      relu_sums<T, nx, nw, units>(in, dy, begin, end, prepared + k * prepared_width, s);
      for (int u = 0; u < units; ++u) add_relu_unit<T, nx, nw>(net, weights, in, k + u, s[u], sums);
    }
    for (; k < net.h1; ++k) {
      relu_sums<T, nx, nw, 1>(in, dy, begin, end, prepared + k * prepared_width, s);
      add_relu_unit<T, nx, nw>(net, weights, in, k, s[0], sums);
    }
  }
}

}  // namespace whorl::net
