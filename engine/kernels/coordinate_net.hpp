// The kernels of coordinate_net: a small MLP and its derivatives, for blocks of coordinates.
//
// With the activation s, inputs x_i, hidden units k (first layer) and m (second layer, if any):
//
//   h1_k = b1_k + sum_i W1_ki x_i        a1_k = s(h1_k)
//   h2_m = b2_m + sum_k W2_mk a1_k       a2_m = s(h2_m)
//   f = b + sum_m w_m a2_m               (one layer: a1 instead of a2)
//   df/dx_j = sum_m w_m s'(h2_m) sum_k W2_mk s'(h1_k) W1_kj
//
// The derivative of sum over coordinates of (y_0 f + sum_j y_j df/dx_j) by the weights, where y are
// given numbers, is one reverse pass: sum_j y_j d/dx_j is a single directional derivative, which
// enters the first layer as q_k = sum_j y_j W1_kj. With e_k = s'(h1_k) q_k, Q_m = sum_k W2_mk e_k:
//
//   by w_m     y_0 a2_m + s'(h2_m) Q_m                                 by b   y_0
//   by b2_m    u_m = w_m (y_0 s'(h2_m) + s''(h2_m) Q_m)
//   by W2_mk   u_m a1_k + r_m e_k                  with r_m = w_m s'(h2_m)
//   by b1_k    v_k = A_k s'(h1_k) + s''(h1_k) R_k q_k
//                                                  with A_k = sum_m W2_mk u_m, R_k = sum_m W2_mk
//                                                  r_m
//   by W1_ki   v_k x_i, and y_j R_k s'(h1_k) more for the input i that stands at wrt_j
//
// (one layer: A_k = w_k y_0, R_k = w_k, and by w_k it is y_0 a1_k + e_k).
//
// Inputs that are constant over a run of coordinates are folded into the bias once for the run.
// Thread safety: every function writes only to what it is given.
#pragma once

#include <array>
#include <cstdint>

namespace whorl::net {

inline constexpr int max_inputs = 4;
// Kernels take coordinates in blocks of this many; shorter blocks are padded by the caller.
inline constexpr int block = 64;

enum class Activation { relu, tanh, softplus };

// Where everything stands in the flat vector of weights: W1 [h1, inputs] row by row, b1 [h1], then
// (two layers) W2 [h2, h1], b2 [h2], then w [width of the last layer], b [1].
struct Layout {
  Activation activation = Activation::relu;
  int inputs = 1;
  int layers = 1;
  std::int64_t h1 = 1, h2 = 0;
  int wrt_count = 0;
  std::array<int, max_inputs> wrt{};

  std::int64_t last() const { return layers == 1 ? h1 : h2; }
  std::int64_t b1() const { return h1 * inputs; }
  std::int64_t w2() const { return b1() + h1; }
  std::int64_t b2() const { return w2() + h2 * h1; }
  std::int64_t w() const { return b2() + h2; }
  std::int64_t b() const { return w() + last(); }
  std::int64_t size() const { return b() + 1; }
};

// The inputs over one run: pointers to those that vary, numbers for those that do not.
template <class T>
struct Inputs {
  int varying = 0;
  std::array<int, max_inputs> index{};      // which inputs vary
  std::array<const T*, max_inputs> x{};     // their values
  std::array<bool, max_inputs> constant{};  // by input
  std::array<T, max_inputs> value{};        // of a constant input
};

// The weights of the first layer prepared for a run, one group of `prepared_width` numbers for each
// unit: the bias with the constant inputs in it, then the weights of the varying inputs; with one
// layer, from `prepared_out` on, also w and the products of w with the weights of the inputs in
// `wrt`.
inline constexpr int prepared_out = 1 + max_inputs;
inline constexpr int prepared_width = prepared_out + 1 + max_inputs;
template <class T>
void prepare(const Layout& net, const T* weights, const Inputs<T>& in, T* prepared);

// Numbers of type T that a kernel needs beside its arguments.
std::int64_t forward_scratch(const Layout& net);
std::int64_t gradient_scratch(const Layout& net);

// y[0] = f and y[1 + j] = df/dx at wrt_j, for `count` coordinates, a multiple of `block`.
// `scratch` begins with what prepare() wrote.
template <class T>
void forward(const Layout& net, const T* weights, const Inputs<T>& in, T* const* y,
             std::int64_t count, T* scratch);

// Adds the derivative by the weights to `sums`, net.size() numbers.
template <class T>
void weights_gradient(const Layout& net, const T* weights, const Inputs<T>& in, const T* const* dy,
                      std::int64_t count, T* scratch, double* sums);

}  // namespace whorl::net
