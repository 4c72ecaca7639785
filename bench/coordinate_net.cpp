// Nanoseconds per coordinate of coordinate_net (value and two derivatives) and of its derivative by
// the weights, for 20 chains of 33,450 coordinates and 10 hidden units, against loops written by
// hand for exactly that network. Only ratios within one run count.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "engine/evaluate.hpp"
#include "engine/floating_point.hpp"
#include "engine/ops.hpp"
#include "engine/random.hpp"

using namespace whorl;

namespace {

constexpr std::int64_t chains = 20, dims = 33450, n = chains * dims;
constexpr int hidden = 10;

template <class Run>
double best(int count, Run&& run) {
  double seconds = 1e9;
  for (int i = 0; i < count; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    seconds = std::min(seconds, took.count());
  }
  return seconds;
}

Tensor normals(const Shape& shape, std::uint32_t stream) {
  Tensor tensor({DType::f32, shape});
  fill_normal<float>({1, stream, 0, 0}, 0, tensor.values<float>());
  return tensor;
}

// One op, prepared once and run by its kernels, as an executor does on one thread.
class Prepared {
 public:
  Prepared(const OpDef& op, std::vector<Tensor> inputs, Attributes attributes)
      : inputs_(std::move(inputs)) {
    for (const Tensor& x : inputs_) {
      types_.push_back(x.type());
      pointers_.push_back(x.raw());
    }
    site_ = {&op, types_, std::move(attributes), {}};
    site_.out = op.infer(site_);
    output = Tensor(site_.out);
    scratch_ = allocate_storage(op.scratch(site_));
  }
  void run() {
    const OpDef& op = *site_.op;
    const Call call{&site_, pointers_.data(), output.raw(), scratch_.get()};
    const std::size_t kernel = op.kernel_index(site_);
    op.forward[kernel](call, 0, op.units(site_));
    if (op.finish[kernel] != nullptr) op.finish[kernel](call);
  }
  Tensor output;

 private:
  std::vector<Tensor> inputs_;
  std::vector<Type> types_;
  std::vector<const void*> pointers_;
  Site site_;
  std::shared_ptr<void> scratch_;
};

Attributes net_attributes(const OpDef& op, const std::string& activation,
                          std::vector<std::int64_t> widths) {
  return make_attributes(op.name, op.attrs(),
                         {{"hidden", std::move(widths)},
                          {"activation", activation},
                          {"wrt", std::vector<std::int64_t>{0, 1}}});
}

// Plain loops that the compiler can turn into vector code: blocks of coordinates, the hidden units
// outside, u folded into the bias.
void by_hand(const float* w, const float* u, const float* p, float* y) {
  constexpr int block = 128;
  for (std::int64_t c = 0; c < chains; ++c)
    for (std::int64_t at = 0; at < dims; at += block) {
      const int count = static_cast<int>(std::min<std::int64_t>(block, dims - at));
      const float* x = p + c * dims + at;
      float f[block], du[block], dp[block];
      std::fill_n(f, block, w[4 * hidden]);
      std::fill_n(du, block, 0.0f);
      std::fill_n(dp, block, 0.0f);
      for (int k = 0; k < hidden; ++k) {
        const float wu = w[2 * k], wp = w[2 * k + 1], wo = w[3 * hidden + k];
        const float bias = std::fma(wu, u[c], w[2 * hidden + k]);
        for (int i = 0; i < count; ++i) {
          const float h = std::fma(wp, x[i], bias);
          f[i] = std::fma(wo, h > 0 ? h : 0.0f, f[i]);
          du[i] += h > 0 ? wo * wu : 0.0f;
          dp[i] += h > 0 ? wo * wp : 0.0f;
        }
      }
      std::copy_n(f, count, y + c * dims + at);
      std::copy_n(du, count, y + n + c * dims + at);
      std::copy_n(dp, count, y + 2 * n + c * dims + at);
    }
}

// The sums that the weights' derivative needs: a chunk of coordinates in the cache, one hidden unit
// after the other, in GCC's vectors.
void gradient_by_hand(const float* w, const float* u, const float* p, const float* dy,
                      double* sums) {
  using V = float __attribute__((vector_size(32)));
  const auto load = [](const float* from) {
    V x;
    std::memcpy(&x, from, sizeof x);
    return x;
  };
  const auto total = [](V x) { return (x[0] + x[4] + x[2] + x[6]) + (x[1] + x[5] + x[3] + x[7]); };
  std::fill_n(sums, 4 * hidden + 1, 0.0);
  constexpr std::int64_t chunk = 512;
  for (std::int64_t c = 0; c < chains; ++c)
    for (std::int64_t first = 0; first < dims; first += chunk) {
      const std::int64_t end = std::min(first + chunk, dims) / 8 * 8;
      const float *x = p + c * dims, *y0 = dy + c * dims, *y1 = y0 + n, *y2 = y1 + n;
      for (std::int64_t i = first; i < end; ++i) sums[4 * hidden] += static_cast<double>(y0[i]);
      for (int k = 0; k < hidden; ++k) {
        const float wu = w[2 * k], wp = w[2 * k + 1], wo = w[3 * hidden + k];
        const float bias = std::fma(wu, u[c], w[2 * hidden + k]);
        V s0{}, sx{}, s1{}, s2{};
        for (std::int64_t i = first; i < end; i += 8) {
          const V xi = load(x + i), h = xi * wp + bias, zero{}, y = load(y0 + i);
          s0 += h > zero ? y : zero;
          sx += h > zero ? y * xi : zero;
          s1 += h > zero ? load(y1 + i) : zero;
          s2 += h > zero ? load(y2 + i) : zero;
        }
        const double t0 = total(s0), tx = total(sx), t1 = total(s1), t2 = total(s2);
        sums[2 * k] += wo * (u[c] * t0 + t1);
        sums[2 * k + 1] += wo * (tx + t2);
        sums[2 * hidden + k] += wo * t0;
        sums[3 * hidden + k] += bias * t0 + wp * tx + wu * t1 + wp * t2;
      }
    }
}

void report(const std::string& what, double seconds, std::int64_t coordinates = n) {
  fmt::print("{:<52} {:8.3f} ms {:8.2f} ns per coordinate\n", what, seconds * 1e3,
             seconds / static_cast<double>(coordinates) * 1e9);
}

}  // namespace

int main() {
  const FlushDenormals guard;
  const OpDef& forward = *find_op("coordinate_net");
  const OpDef& gradient = *find_op("coordinate_net_weights_gradient");
  const Tensor u = normals({chains, 1}, 1), p = normals({chains, dims}, 2);
  const Tensor dy = normals({3, chains, dims}, 3);
  const auto part = [](const Tensor& all, std::int64_t m) {
    Tensor one({DType::f32, all.shape().without_front()});
    std::copy_n(all.data<float>() + m * one.elements(), one.elements(), one.data<float>());
    return one;
  };
  // What the gradient reads: weights, inputs, and the adjoints of the three outputs.
  const auto with_adjoints = [&](std::vector<Tensor> in, const Tensor& all) {
    for (std::int64_t m = 0; m < 3; ++m) in.push_back(part(all, m));
    return in;
  };
  const Tensor weights = normals({coordinate_net_weights(2, {hidden})}, 4);
  Tensor wide_u({DType::f32, {chains, dims}});
  for (std::int64_t i = 0; i < n; ++i) wide_u.data<float>()[i] = u.data<float>()[i / dims];

  Prepared hot(forward, {weights, u, p}, net_attributes(forward, "relu", {hidden}));
  Prepared wide(forward, {weights, wide_u, p}, net_attributes(forward, "relu", {hidden}));
  Prepared back(gradient, with_adjoints({weights, u, p}, dy),
                net_attributes(gradient, "relu", {hidden}));
  std::vector<float> y(3 * n);
  std::vector<double> sums(4 * hidden + 1);
  const float *w = weights.data<float>(), *pu = u.data<float>(), *pp = p.data<float>();

  report("value and 2 derivatives, u [C,1]", best(50, [&] { hot.run(); }));
  report("value and 2 derivatives, u copied to [C,D]", best(50, [&] { wide.run(); }));
  report("  by hand", best(50, [&] { by_hand(w, pu, pp, y.data()); }));
  report("  the memory alone: read p, write 3 results", best(50, [&] {
           for (int m = 0; m < 3; ++m) std::copy_n(pp, n, y.data() + m * n);
         }));
  report("by the weights", best(50, [&] { back.run(); }));
  report("  by hand",
         best(50, [&] { gradient_by_hand(w, pu, pp, dy.data<float>(), sums.data()); }));

  fmt::print("one chain, other networks\n");
  constexpr std::int64_t few = 4096;
  const Tensor u1 = normals({1, 1}, 1), p1 = normals({1, few}, 2), dy1 = normals({3, 1, few}, 3);
  for (const char* activation : {"relu", "tanh", "softplus"})
    for (const std::vector<std::int64_t>& widths :
         {std::vector<std::int64_t>{10}, {40}, {10, 10}, {40, 40}}) {
      const Tensor all = normals({coordinate_net_weights(2, widths)}, 5);
      Prepared one(forward, {all, u1, p1}, net_attributes(forward, activation, widths));
      Prepared two(gradient, with_adjoints({all, u1, p1}, dy1),
                   net_attributes(gradient, activation, widths));
      const std::string name =
          fmt::format("{}, {} of {} units", activation,
                      widths.size() == 1 ? "one layer" : "two layers", widths[0]);
      report(name, best(300, [&] { one.run(); }), few);
      report(name + ", by the weights", best(300, [&] { two.run(); }), few);
    }

  fmt::print("50 chains of 20 coordinates, relu\n");
  const Tensor u2 = normals({50, 1}, 1), p2 = normals({50, 20}, 2), dy2 = normals({3, 50, 20}, 3);
  for (const std::int64_t width : {10, 40}) {
    const Tensor all = normals({coordinate_net_weights(2, {width})}, 5);
    Prepared one(forward, {all, u2, p2}, net_attributes(forward, "relu", {width}));
    Prepared two(gradient, with_adjoints({all, u2, p2}, dy2),
                 net_attributes(gradient, "relu", {width}));
    report(fmt::format("{} units", width), best(1000, [&] { one.run(); }), 1000);
    report(fmt::format("{} units, by the weights", width), best(1000, [&] { two.run(); }), 1000);
  }

  // Both ways must agree, or the times mean nothing.
  by_hand(w, pu, pp, y.data());
  double worst = 0;
  for (std::int64_t i = 0; i < 3 * n; ++i)
    worst = std::max(worst, std::abs(static_cast<double>(y[static_cast<std::size_t>(i)] -
                                                         hot.output.data<float>()[i])));
  fmt::print("largest difference from the loop by hand: {:.2g}\n", worst);
}
