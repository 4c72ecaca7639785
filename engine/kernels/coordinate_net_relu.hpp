// The hot case of coordinate_net: one hidden layer of relu units, which is straight between its
// corners. Everything stays in registers; the number of varying inputs and of derivatives is known
// to the compiler, the number of hidden units is a loop.
//
// With on_k = (h_k > 0) the derivatives are sums of constants, sum_k on_k w_k W_kj. Their own
// derivative by the weights needs only, for each unit k,
//
//   s_0 = sum on_k y_0     s_i = sum on_k (y_0 x_i + y_j)   (y_j if input i stands at wrt_j)
//
// because y_0 a_k = on_k y_0 (b_k + sum_i W_ki x_i): by W_ki it is w_k s_i, by b_k it is w_k s_0,
// and by w_k it is b_k s_0 + sum_i W_ki s_i.
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

// What is summed over coordinates for each hidden unit, masked by on_k: y_0, then y_0 x_i + y_j for
// each varying input i (y_j if i stands at wrt_j), then y_j for each j whose input is constant.
template <class T, int nx>
struct ReluTerms {
  static constexpr std::int64_t chunk = 8 * block;  // stays in L1; partial sums are short
  alignas(64) T together[nx][chunk];
  const T* term[1 + max_inputs];
  int extra = 0;                     // terms after the first 1 + nx
  int extra_input[max_inputs] = {};  // the constant inputs that they belong to

  ReluTerms(const Layout& net, const Inputs<T>& in, const T* const* dy, std::int64_t begin,
            std::int64_t count) {
    term[0] = dy[0] + begin;
    const T* plus[nx] = {};
    for (int j = 0; j < net.wrt_count; ++j) {
      const int i = net.wrt[static_cast<std::size_t>(j)];
      const T* y = dy[1 + j] + begin;
      int v = 0;
      while (v < nx && in.index[static_cast<std::size_t>(v)] != i) ++v;
      if (v < nx) {
        plus[v] = y;
      } else {
        extra_input[extra] = i;
        term[1 + nx + extra++] = y;
      }
    }
    for (int v = 0; v < nx; ++v) {
      const T* x = in.x[static_cast<std::size_t>(v)] + begin;
      term[1 + v] = together[v];
      for (std::int64_t at = 0; at < count; at += lanes<T>) {
        const Vec<T> rest = plus[v] != nullptr ? load<T>(plus[v] + at) : Vec<T>{};
        store<T>(together[v] + at, fma<T>(load<T>(term[0] + at), load<T>(x + at), rest));
      }
    }
  }
};

// Adds the sums of `terms` terms for each of `units` hidden units, which share the loads. A unit's
// sums stand in groups of `relu_sums_width`.
inline constexpr int relu_sums_width = 1 + max_inputs;
template <class T, int nx, int terms, int units>
void relu_sums(const T* const* x, const T* const* term, std::int64_t count, const T* prepared,
               double* sums) {
  using V = Vec<T>;
  constexpr int padded = (units * terms + 3) / 4 * 4;
  V sum[padded];
  repeat<padded>([&](auto i) { sum[i] = V{}; });
  for (std::int64_t at = 0; at < count; at += lanes<T>) {
    V mask[units];
    repeat<units>([&](auto u) {
      const T* p = prepared + u * prepared_width;
      V h = splat<T>(p[0]);
      repeat<nx>([&](auto i) { h = fma<T>(splat<T>(p[1 + i]), load<T>(x[i] + at), h); });
      mask[u] = (V)(h <= V{});
    });
    repeat<terms>([&](auto t) {
      const V y = load<T>(term[t] + at);
      repeat<units>([&](auto u) { sum[u * terms + t] += unless<T>((Mask<T>)mask[u], y); });
    });
  }
  double total[padded] = {};
  repeat<padded / 4>([&](auto i) {
    const V four[4] = {sum[4 * i], sum[4 * i + 1], sum[4 * i + 2], sum[4 * i + 3]};
    add_totals<T>(four, total + 4 * i);
  });
  repeat<units>([&](auto u) {
    repeat<terms>([&](auto t) { sums[u * relu_sums_width + t] = total[u * terms + t]; });
  });
}

// Adds one unit's sums to the derivative by its weights.
template <class T, int nx>
void add_relu_unit(const Layout& net, const T* weights, const Inputs<T>& in,
                   const ReluTerms<T, nx>& terms, std::int64_t k, const double* s, double* sums) {
  const double wk = weights[net.w() + k];
  const T* row = weights + k * net.inputs;
  double by_x[max_inputs] = {};
  for (int i = 0; i < net.inputs; ++i)
    if (in.constant[static_cast<std::size_t>(i)])
      by_x[i] = s[0] * static_cast<double>(in.value[static_cast<std::size_t>(i)]);
  for (int v = 0; v < nx; ++v) by_x[in.index[static_cast<std::size_t>(v)]] = s[1 + v];
  for (int e = 0; e < terms.extra; ++e) by_x[terms.extra_input[e]] += s[1 + nx + e];
  double by_w = s[0] * static_cast<double>(weights[net.b1() + k]);
  for (int i = 0; i < net.inputs; ++i) {
    by_w += by_x[i] * static_cast<double>(row[i]);
    sums[k * net.inputs + i] += wk * by_x[i];
  }
  sums[net.b1() + k] += wk * s[0];
  sums[net.w() + k] += by_w;
}

template <class T, int nx, int extra>
void relu_weights_gradient(const Layout& net, const T* weights, const Inputs<T>& in,
                           const T* const* dy, std::int64_t count, const T* prepared,
                           double* sums) {
  constexpr int units = 2, terms = 1 + nx + extra;
  for (std::int64_t begin = 0; begin < count; begin += ReluTerms<T, nx>::chunk) {
    const std::int64_t n =
        begin + ReluTerms<T, nx>::chunk < count ? ReluTerms<T, nx>::chunk : count - begin;
    const ReluTerms<T, nx> all(net, in, dy, begin, n);
    const T* x[nx];
    for (int v = 0; v < nx; ++v) x[v] = in.x[static_cast<std::size_t>(v)] + begin;
    Vec<T> y0{};
    for (std::int64_t at = 0; at < n; at += lanes<T>) y0 += load<T>(all.term[0] + at);
    sums[net.b()] += static_cast<double>(total<T>(y0));
    double s[units * relu_sums_width];
    std::int64_t k = 0;
    for (; k + units <= net.h1; k += units) {
      relu_sums<T, nx, terms, units>(x, all.term, n, prepared + k * prepared_width, s);
      for (int u = 0; u < units; ++u)
        add_relu_unit<T, nx>(net, weights, in, all, k + u, s + u * relu_sums_width, sums);
    }
    for (; k < net.h1; ++k) {
      relu_sums<T, nx, terms, 1>(x, all.term, n, prepared + k * prepared_width, s);
      add_relu_unit<T, nx>(net, weights, in, all, k, s, sums);
    }
  }
}

}  // namespace whorl::net
