#include "engine/kernels/coordinate_net.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "engine/kernels/coordinate_net_layers.hpp"
#include "engine/kernels/coordinate_net_relu.hpp"

namespace whorl::net {

namespace {

// The relu kernels by number of varying inputs (1..4) and of derivatives (0..4); for the gradient,
// of derivatives by constant inputs.
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
      &relu_weights_gradient<T, 1 + i / (max_inputs + 1),
                             std::min(i % (max_inputs + 1),
                                      max_inputs - 1 - i / (max_inputs + 1))>...};
  return kernels[at];
}
template <class T>
int relu_index(const Inputs<T>& in, int derivatives) {
  assert(in.varying >= 1);
  return (in.varying - 1) * (max_inputs + 1) + derivatives;
}
template <class T>
int constant_derivatives(const Layout& net, const Inputs<T>& in) {
  int count = 0;
  for (int j = 0; j < net.wrt_count; ++j)
    count += in.constant[static_cast<std::size_t>(net.wrt[static_cast<std::size_t>(j)])];
  return count;
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
  return net.h1 * prepared_width + (is_hot(net) ? 0 : forward_rows(net));
}
std::int64_t gradient_scratch(const Layout& net) {
  return net.h1 * prepared_width + (is_hot(net) ? 0 : gradient_rows(net));
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
    if (net.layers == 2) continue;
    const T w = weights[net.w() + k];
    p[prepared_out] = w;
    for (int j = 0; j < net.wrt_count; ++j)
      p[prepared_out + 1 + j] = w * row[net.wrt[static_cast<std::size_t>(j)]];
  }
}

template <class T>
void forward(const Layout& net, const T* weights, const Inputs<T>& in, T* const* y,
             std::int64_t count, T* scratch) {
  if (is_hot(net)) {
    constexpr auto all = std::make_integer_sequence<int, relu_kernels>{};
    relu_forward_kernel<T>(relu_index(in, net.wrt_count), all)(net, weights, in, y, count, scratch);
    return;
  }
  with_activation(net.activation, [&](auto activation) {
    Layers<T, activation()>(net, weights, in, scratch).forward(y, count);
  });
}

template <class T>
void weights_gradient(const Layout& net, const T* weights, const Inputs<T>& in, const T* const* dy,
                      std::int64_t count, T* scratch, double* sums) {
  if (is_hot(net)) {
    constexpr auto all = std::make_integer_sequence<int, relu_kernels>{};
    const int at = relu_index(in, constant_derivatives(net, in));
    relu_gradient_kernel<T>(at, all)(net, weights, in, dy, count, scratch, sums);
    return;
  }
  with_activation(net.activation, [&](auto activation) {
    Layers<T, activation()>(net, weights, in, scratch).gradient(dy, count, sums);
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
