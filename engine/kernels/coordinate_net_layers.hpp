// Networks of any activation and of one or two layers, a block of coordinates at a time through
// rows in the first-level cache. See coordinate_net.hpp for the formulas and the names.
//
// Thread safety: an object belongs to one thread; it writes to the scratch that it is given.
#pragma once

#include <algorithm>

#include "engine/kernels/coordinate_net.hpp"
#include "engine/kernels/coordinate_net_rows.hpp"
#include "engine/kernels/coordinate_net_vector.hpp"
#include "engine/kernels/vmath.hpp"

namespace whorl::net {

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

// Numbers of scratch behind the prepared weights.
inline std::int64_t forward_rows(const Layout& net) { return (2 * net.h1 + 2 * net.h2) * block; }
inline std::int64_t gradient_rows(const Layout& net) { return (5 * net.h1 + 2 * net.h2) * block; }

template <class T, Activation activation>
class Layers {
 public:
  Layers(const Layout& net, const T* weights, const Inputs<T>& in, T* scratch)
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
  // The rows of unit k of the first layer; A takes the place of e, which is not needed after it.
  T* a1(std::int64_t k) const { return rows_ + k * block; }
  T* slope1(std::int64_t k) const { return rows_ + (net_.h1 + k) * block; }
  T* q(std::int64_t k) const { return rows_ + (2 * net_.h1 + k) * block; }
  T* e(std::int64_t k) const { return rows_ + (3 * net_.h1 + k) * block; }
  T* big_a(std::int64_t k) const { return e(k); }
  T* big_r(std::int64_t k) const { return rows_ + (4 * net_.h1 + k) * block; }
  // Those of unit m of the second layer: h, a and then r, and Q and then u. The forward pass has
  // no rows between the layers.
  T* r(std::int64_t m, int before = 5) const { return rows_ + (before * net_.h1 + m) * block; }
  T* u(std::int64_t m) const { return r(net_.h2 + m); }
  const T* w1(int i) const { return weights_ + i; }  // a column, in steps of `inputs`
  T w(std::int64_t m) const { return weights_[net_.w() + m]; }
  // W2 as a matrix [m, k], and transposed.
  Strided<T> w2() const { return {weights_ + net_.w2(), net_.h1, 1}; }
  Strided<T> w2_back() const { return {weights_ + net_.w2(), 1, net_.h1}; }
  int wrt(int j) const { return net_.wrt[static_cast<std::size_t>(j)]; }

  static void multiply(const T* a, const T* b, T* out) {
#pragma GCC ivdep
    for (int i = 0; i < block; ++i) out[i] = a[i] * b[i];
  }

  void first_layer(std::int64_t at) {
    T h[block];
    for (std::int64_t k = 0; k < net_.h1; ++k) {
      const T* p = prepared_ + k * prepared_width;
      combine_few<T>(in_.varying, p[0], p + 1, in_.x.data(), at, h);
      activate<activation>(h, a1(k), slope1(k));
    }
  }

  void read_out_one(T* const* y, std::int64_t at) {
    const T* out = prepared_ + prepared_out;
    combine_rows<T, 1>(net_.h1, weights_ + net_.b(), {out, 0, prepared_width}, a1(0), y[0] + at);
    for (int j = 0; j < net_.wrt_count; ++j)
      combine_rows<T, 1>(net_.h1, nullptr, {out + 1 + j, 0, prepared_width}, slope1(0),
                         y[1 + j] + at);
  }

  // The derivatives go back through the second layer, once for all inputs.
  void read_out_two(T* const* y, std::int64_t at) {
    T* a2 = r(0, 2);
    T* r2 = r(net_.h2, 2);
    T h[block];
    combine<T>(net_.h2, net_.h1, weights_ + net_.b2(), w2(), a1(0), a2);
    for (std::int64_t m = 0; m < net_.h2; ++m) {
      T* row = r2 + m * block;
      std::copy_n(a2 + m * block, block, h);
      activate<activation>(h, a2 + m * block, row);
      const T wm = w(m);
      for (int i = 0; i < block; ++i) row[i] *= wm;
    }
    combine_rows<T, 1>(net_.h2, weights_ + net_.b(), {weights_ + net_.w(), 0, 1}, a2, y[0] + at);
    if (net_.wrt_count == 0) return;
    combine<T>(net_.h1, net_.h2, nullptr, w2_back(), r2, a1(0));
    for (std::int64_t k = 0; k < net_.h1; ++k) multiply(slope1(k), a1(k), a1(k));
    for (int j = 0; j < net_.wrt_count; ++j)
      combine_rows<T, 1>(net_.h1, nullptr, {w1(wrt(j)), 0, net_.inputs}, a1(0), y[1 + j] + at);
  }

  // q_k and e_k.
  void direction(const T* const* y) {
    for (std::int64_t k = 0; k < net_.h1; ++k) {
      T factors[max_inputs];
      for (int j = 0; j < net_.wrt_count; ++j) factors[j] = w1(wrt(j))[k * net_.inputs];
      combine_few<T>(net_.wrt_count, T(0), factors, y + 1, 0, q(k));
      multiply(slope1(k), q(k), e(k));
    }
  }

  void second_layer(const T* const* y, double* sums) {
    const bool directed = net_.wrt_count > 0;
    combine<T>(net_.h2, net_.h1, weights_ + net_.b2(), w2(), a1(0), r(0));
    if (directed) {
      combine<T>(net_.h2, net_.h1, nullptr, w2(), e(0), u(0));
    } else {
      std::fill_n(u(0), net_.h2 * block, T(0));
    }
    T h[block], slope[block], by_w[block];
    for (std::int64_t m = 0; m < net_.h2; ++m) {
      T* am = r(m);
      T* um = u(m);
      std::copy_n(am, block, h);
      activate<activation>(h, am, slope);
      const T wm = w(m);
#pragma GCC ivdep
      for (int i = 0; i < block; ++i) {
        const T a = am[i], big_q = um[i];
        by_w[i] = std::fma(y[0][i], a, slope[i] * big_q);
        um[i] = wm * std::fma(y[0][i], slope[i], curvature<activation>(a, slope[i]) * big_q);
        am[i] = wm * slope[i];
      }
      sums[net_.w() + m] += row_total(by_w);
      sums[net_.b2() + m] += row_total(um);
      add_dots<T>(net_.h1, um, a1(0), directed ? am : nullptr, e(0),
                  sums + net_.w2() + m * net_.h1);
    }
    combine<T>(net_.h1, net_.h2, nullptr, w2_back(), u(0), big_a(0));
    if (directed) combine<T>(net_.h1, net_.h2, nullptr, w2_back(), r(0), big_r(0));
  }

  void reverse_first_layer(const T* const* y, std::int64_t at, double* sums) {
    T v[block], rs[block], one_a[block], one_r[block];
    for (std::int64_t k = 0; k < net_.h1; ++k) {
      const T *a = a1(k), *slope = slope1(k), *qk = q(k);
      const T *ak = big_a(k), *rk = big_r(k);
      if (net_.layers == 1) {
        const T wk = w(k);
        for (int i = 0; i < block; ++i) one_a[i] = wk * y[0][i];
        std::fill_n(one_r, block, wk);
        sums[net_.w() + k] += row_dot(y[0], a) + row_total(e(k));
        ak = one_a;
        rk = one_r;
      }
      if (net_.wrt_count == 0) {
        multiply(ak, slope, v);
      } else {
#pragma GCC ivdep
        for (int i = 0; i < block; ++i) {
          rs[i] = rk[i] * slope[i];
          v[i] = std::fma(ak[i], slope[i], curvature<activation>(a[i], slope[i]) * rk[i] * qk[i]);
        }
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

  const Layout& net_;
  const T* weights_;
  const Inputs<T>& in_;
  const T* prepared_;
  T* rows_;
};

}  // namespace whorl::net
