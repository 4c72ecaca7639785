#include "engine/kernels/coordinate_net.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "engine/kernels/coordinate_net_relu.hpp"
#include "engine/kernels/coordinate_net_vector.hpp"
#include "engine/kernels/vmath.hpp"

namespace whorl::net {

namespace {

// A row: one number for each coordinate of a block.
constexpr int vectors_of(std::size_t size) { return block * static_cast<int>(size) / 32; }

// out = start + sum over k of coefficient(k) * rows[k], coordinate by coordinate.
template <class T, class Coefficient, class Row>
void combine(std::int64_t count, T start, Coefficient&& coefficient, Row&& row, T* out) {
  constexpr int width = 8;
  for (int first = 0; first < block; first += width * lanes<T>) {
    Vec<T> sum[width];
    for (int v = 0; v < width; ++v) sum[v] = splat<T>(start);
    for (std::int64_t k = 0; k < count; ++k) {
      const Vec<T> c = splat<T>(coefficient(k));
      const T* x = row(k) + first;
      for (int v = 0; v < width; ++v) sum[v] = fma<T>(c, load<T>(x + v * lanes<T>), sum[v]);
    }
    for (int v = 0; v < width; ++v) store<T>(out + first + v * lanes<T>, sum[v]);
  }
}

template <class T>
double row_total(const T* x) {
  Vec<T> sum{};
  for (int v = 0; v < vectors_of(sizeof(T)); ++v) sum += load<T>(x + v * lanes<T>);
  return static_cast<double>(total<T>(sum));
}
template <class T>
double row_dot(const T* x, const T* y) {
  Vec<T> sum{};
  for (int v = 0; v < vectors_of(sizeof(T)); ++v)
    sum = fma<T>(load<T>(x + v * lanes<T>), load<T>(y + v * lanes<T>), sum);
  return static_cast<double>(total<T>(sum));
}

// log(1 + e) for e in [0, 1]: 2 atanh(e / (2 + e)) by its series.
inline float log1p_of_fraction(float e) {
  const float s = e / (2.0f + e), z = s * s;
  float p = 2.0f / 15;
  p = std::fma(p, z, 2.0f / 13);
  p = std::fma(p, z, 2.0f / 11);
  p = std::fma(p, z, 2.0f / 9);
  p = std::fma(p, z, 2.0f / 7);
  p = std::fma(p, z, 2.0f / 5);
  p = std::fma(p, z, 2.0f / 3);
  return std::fma(p * z, s, 2.0f * s);
}
inline double log1p_of_fraction(double e) { return std::log1p(e); }

// s and s' of a row.
template <Activation activation, class T>
void activate(const T* __restrict h, T* __restrict a, T* __restrict slope) {
#pragma GCC ivdep
  for (int i = 0; i < block; ++i) {
    const T x = h[i];
    if constexpr (activation == Activation::relu) {
      a[i] = x < T(0) ? T(0) : x;
      slope[i] = x > T(0) ? T(1) : T(0);
    } else if constexpr (activation == Activation::tanh) {
      const T y = vmath::tanh(x);
      a[i] = y;
      slope[i] = std::fma(-y, y, T(1));
    } else {
      // softplus, and its slope 1 / (1 + e^-x) from the same exponential.
      const T e = vmath::exp(-std::fabs(x));
      a[i] = (x > T(0) ? x : T(0)) + log1p_of_fraction(e);
      slope[i] = (x >= T(0) ? T(1) : e) / (T(1) + e);
    }
  }
}

// s'' from s and s'.
template <Activation activation, class T>
T curvature(T a, T slope) {
  if constexpr (activation == Activation::relu) return T(0);
  if constexpr (activation == Activation::tanh) return T(-2) * a * slope;
  return slope * (T(1) - slope);
}

// Any activation, one or two layers, a block of coordinates at a time through rows in L1.
template <class T, Activation activation>
class General {
 public:
  General(const Layout& net, const T* weights, const Inputs<T>& in, T* scratch)
      : net_(net),
        weights_(weights),
        in_(in),
        prepared_(scratch),
        rows_(scratch + net.h1 * prepared_width) {}

  void forward(T* const* y, std::int64_t count) {
    for (std::int64_t at = 0; at < count; at += block) {
      first_layer(at);
      if (net_.layers == 1) {
        read_out_one(y, at);
      } else {
        read_out_two(y, at);
      }
    }
  }

  void gradient(const T* const* dy, std::int64_t count, double* sums) {
    for (std::int64_t at = 0; at < count; at += block) {
      const T* y[1 + max_inputs];
      for (int m = 0; m <= net_.wrt_count; ++m) y[m] = dy[m] + at;
      first_layer(at);
      direction(y);
      sums[net_.b()] += row_total(y[0]);
      if (net_.layers == 2) second_layer(y, sums);
      reverse_first_layer(y, at, sums);
    }
  }

 private:
  // The rows of unit k: s, s', q and e of the first layer, u and r of the second.
  T* a1(std::int64_t k) const { return rows_ + k * block; }
  T* slope1(std::int64_t k) const { return rows_ + (net_.h1 + k) * block; }
  T* q(std::int64_t k) const { return rows_ + (2 * net_.h1 + k) * block; }
  T* e(std::int64_t k) const { return rows_ + (3 * net_.h1 + k) * block; }
  T* u(std::int64_t m) const { return rows_ + (4 * net_.h1 + m) * block; }
  T* r(std::int64_t m) const { return rows_ + (4 * net_.h1 + net_.h2 + m) * block; }
  T w1(std::int64_t k, int i) const { return weights_[k * net_.inputs + i]; }
  T w2(std::int64_t m, std::int64_t k) const { return weights_[net_.w2() + m * net_.h1 + k]; }
  T w(std::int64_t m) const { return weights_[net_.w() + m]; }

  void first_layer(std::int64_t at) {
    T h[block];
    for (std::int64_t k = 0; k < net_.h1; ++k) {
      const T* p = prepared_ + k * prepared_width;
      combine<T>(
          in_.varying, p[0], [&](std::int64_t i) { return p[1 + i]; },
          [&](std::int64_t i) { return in_.x[static_cast<std::size_t>(i)] + at; }, h);
      activate<activation>(h, a1(k), slope1(k));
    }
  }

  void read_out_one(T* const* y, std::int64_t at) {
    combine<T>(
        net_.h1, weights_[net_.b()], [&](std::int64_t k) { return w(k); },
        [&](std::int64_t k) { return a1(k); }, y[0] + at);
    for (int j = 0; j < net_.wrt_count; ++j)
      combine<T>(
          net_.h1, T(0), [&](std::int64_t k) { return w(k) * w1(k, wrt(j)); },
          [&](std::int64_t k) { return slope1(k); }, y[1 + j] + at);
  }

  void read_out_two(T* const* y, std::int64_t at) {
    T out[1 + max_inputs][block];
    std::fill_n(out[0], block, weights_[net_.b()]);
    for (int j = 0; j < net_.wrt_count; ++j) std::fill_n(out[1 + j], block, T(0));
    T a[block], slope[block], tangent[block];
    for (std::int64_t m = 0; m < net_.h2; ++m) {
      second_unit(m, a, slope);
      const T wm = w(m);
      for (int i = 0; i < block; ++i) out[0][i] = std::fma(wm, a[i], out[0][i]);
      for (int j = 0; j < net_.wrt_count; ++j) {
        combine<T>(
            net_.h1, T(0), [&](std::int64_t k) { return w2(m, k) * w1(k, wrt(j)); },
            [&](std::int64_t k) { return slope1(k); }, tangent);
        T* d = out[1 + j];
        for (int i = 0; i < block; ++i) d[i] = std::fma(wm * slope[i], tangent[i], d[i]);
      }
    }
    for (int j = 0; j <= net_.wrt_count; ++j) std::copy_n(out[j], block, y[j] + at);
  }

  void second_unit(std::int64_t m, T* a, T* slope) {
    T h[block];
    combine<T>(
        net_.h1, weights_[net_.b2() + m], [&](std::int64_t k) { return w2(m, k); },
        [&](std::int64_t k) { return a1(k); }, h);
    activate<activation>(h, a, slope);
  }

  // q_k and e_k.
  void direction(const T* const* y) {
    for (std::int64_t k = 0; k < net_.h1; ++k) {
      combine<T>(
          net_.wrt_count, T(0), [&](std::int64_t j) { return w1(k, wrt(static_cast<int>(j))); },
          [&](std::int64_t j) { return y[1 + j]; }, q(k));
      const T* slope = slope1(k);
      const T* from = q(k);
      T* to = e(k);
#pragma GCC ivdep
      for (int i = 0; i < block; ++i) to[i] = slope[i] * from[i];
    }
  }

  void second_layer(const T* const* y, double* sums) {
    T a[block], slope[block], big_q[block], by_w[block];
    for (std::int64_t m = 0; m < net_.h2; ++m) {
      second_unit(m, a, slope);
      combine<T>(
          net_.h1, T(0), [&](std::int64_t k) { return w2(m, k); },
          [&](std::int64_t k) { return e(k); }, big_q);
      const T wm = w(m);
      T* um = u(m);
      T* rm = r(m);
#pragma GCC ivdep
      for (int i = 0; i < block; ++i) {
        by_w[i] = std::fma(y[0][i], a[i], slope[i] * big_q[i]);
        rm[i] = wm * slope[i];
        um[i] = wm * std::fma(y[0][i], slope[i], curvature<activation>(a[i], slope[i]) * big_q[i]);
      }
      sums[net_.w() + m] += row_total(by_w);
      sums[net_.b2() + m] += row_total(um);
      double* row = sums + net_.w2() + m * net_.h1;
      for (std::int64_t k = 0; k < net_.h1; ++k) row[k] += row_dot(um, a1(k)) + row_dot(rm, e(k));
    }
  }

  void reverse_first_layer(const T* const* y, std::int64_t at, double* sums) {
    T big_a[block], big_r[block], v[block], rs[block];
    for (std::int64_t k = 0; k < net_.h1; ++k) {
      const T* a = a1(k);
      const T* slope = slope1(k);
      const T* qk = q(k);
      if (net_.layers == 1) {
        const T wk = w(k);
        for (int i = 0; i < block; ++i) big_a[i] = wk * y[0][i];
        std::fill_n(big_r, block, wk);
        sums[net_.w() + k] += row_dot(y[0], a) + row_total(e(k));
      } else {
        const auto column = [&](std::int64_t m) { return w2(m, k); };
        combine<T>(
            net_.h2, T(0), column, [&](std::int64_t m) { return u(m); }, big_a);
        combine<T>(
            net_.h2, T(0), column, [&](std::int64_t m) { return r(m); }, big_r);
      }
      for (int i = 0; i < block; ++i) {
        rs[i] = big_r[i] * slope[i];
        v[i] =
            std::fma(big_a[i], slope[i], curvature<activation>(a[i], slope[i]) * big_r[i] * qk[i]);
      }
      add_first_layer(k, v, rs, y, at, sums);
    }
  }

  void add_first_layer(std::int64_t k, const T* v, const T* rs, const T* const* y, std::int64_t at,
                       double* sums) {
    const double by_bias = row_total(v);
    double* row = sums + k * net_.inputs;
    sums[net_.b1() + k] += by_bias;
    for (int i = 0; i < net_.inputs; ++i)
      if (in_.constant[static_cast<std::size_t>(i)])
        row[i] += by_bias * static_cast<double>(in_.value[static_cast<std::size_t>(i)]);
    for (int i = 0; i < in_.varying; ++i) {
      const auto n = static_cast<std::size_t>(i);
      row[in_.index[n]] += row_dot(v, in_.x[n] + at);
    }
    for (int j = 0; j < net_.wrt_count; ++j) row[wrt(j)] += row_dot(rs, y[1 + j]);
  }

  int wrt(int j) const { return net_.wrt[static_cast<std::size_t>(j)]; }

  const Layout& net_;
  const T* weights_;
  const Inputs<T>& in_;
  const T* prepared_;
  T* rows_;
};

// The relu kernels by number of varying inputs (1..4) and of derivatives (0..4).
template <class T>
using ReluForward = void (*)(const Layout&, const T*, const Inputs<T>&, T* const*, std::int64_t,
                             const T*);
template <class T>
using ReluGradient = void (*)(const Layout&, const T*, const Inputs<T>&, const T* const*,
                              std::int64_t, const T*, double*);
constexpr int relu_kernels = max_inputs * (max_inputs + 1);

template <class T, int... i>
ReluForward<T> relu_forward_kernel(int at, std::integer_sequence<int, i...>) {
  static constexpr ReluForward<T> kernels[] = {
      &relu_forward<T, 1 + i / (max_inputs + 1), i % (max_inputs + 1)>...};
  return kernels[at];
}
template <class T, int... i>
ReluGradient<T> relu_gradient_kernel(int at, std::integer_sequence<int, i...>) {
  static constexpr ReluGradient<T> kernels[] = {
      &relu_weights_gradient<T, 1 + i / (max_inputs + 1), i % (max_inputs + 1)>...};
  return kernels[at];
}
template <class T>
int relu_index(const Layout& net, const Inputs<T>& in) {
  assert(in.varying >= 1);
  return (in.varying - 1) * (max_inputs + 1) + net.wrt_count;
}

bool is_hot(const Layout& net) { return net.layers == 1 && net.activation == Activation::relu; }

// Calls f with the activation as a compile-time constant.
template <class F>
void with_activation(Activation activation, F&& f) {
  switch (activation) {
    case Activation::relu:
      return f(std::integral_constant<Activation, Activation::relu>{});
    case Activation::tanh:
      return f(std::integral_constant<Activation, Activation::tanh>{});
    case Activation::softplus:
      return f(std::integral_constant<Activation, Activation::softplus>{});
  }
}

}  // namespace

std::int64_t forward_scratch(const Layout& net) {
  return net.h1 * prepared_width + (is_hot(net) ? 0 : 2 * net.h1 * block);
}
std::int64_t gradient_scratch(const Layout& net) {
  return net.h1 * prepared_width + (is_hot(net) ? 0 : (4 * net.h1 + 2 * net.h2) * block);
}

template <class T>
void prepare(const Layout& net, const T* weights, const Inputs<T>& in, T* prepared) {
  for (std::int64_t k = 0; k < net.h1; ++k) {
    const T* row = weights + k * net.inputs;
    T* p = prepared + k * prepared_width;
    T bias = weights[net.b1() + k];
    for (std::size_t i = 0; i < static_cast<std::size_t>(net.inputs); ++i)
      if (in.constant[i]) bias = std::fma(row[i], in.value[i], bias);
    p[0] = bias;
    for (int i = 0; i < in.varying; ++i) p[1 + i] = row[in.index[static_cast<std::size_t>(i)]];
  }
}

template <class T>
void forward(const Layout& net, const T* weights, const Inputs<T>& in, T* const* y,
             std::int64_t count, T* scratch) {
  if (is_hot(net)) {
    constexpr auto all = std::make_integer_sequence<int, relu_kernels>{};
    relu_forward_kernel<T>(relu_index(net, in), all)(net, weights, in, y, count, scratch);
    return;
  }
  with_activation(net.activation, [&](auto activation) {
    General<T, activation()>(net, weights, in, scratch).forward(y, count);
  });
}

template <class T>
void weights_gradient(const Layout& net, const T* weights, const Inputs<T>& in, const T* const* dy,
                      std::int64_t count, T* scratch, double* sums) {
  if (is_hot(net)) {
    constexpr auto all = std::make_integer_sequence<int, relu_kernels>{};
    relu_gradient_kernel<T>(relu_index(net, in), all)(net, weights, in, dy, count, scratch, sums);
    return;
  }
  with_activation(net.activation, [&](auto activation) {
    General<T, activation()>(net, weights, in, scratch).gradient(dy, count, sums);
  });
}

template void prepare(const Layout&, const float*, const Inputs<float>&, float*);
template void prepare(const Layout&, const double*, const Inputs<double>&, double*);
template void forward(const Layout&, const float*, const Inputs<float>&, float* const*,
                      std::int64_t, float*);
template void forward(const Layout&, const double*, const Inputs<double>&, double* const*,
                      std::int64_t, double*);
template void weights_gradient(const Layout&, const float*, const Inputs<float>&,
                               const float* const*, std::int64_t, float*, double*);
template void weights_gradient(const Layout&, const double*, const Inputs<double>&,
                               const double* const*, std::int64_t, double*, double*);

}  // namespace whorl::net
