// What the benchmarks on digits share: a data set of the shape of MNIST, the network's energy, the
// learned sampler of the paper with random weights, and a step without an engine.
#pragma once

#include <mkl_cblas.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <cmath>
#include <span>
#include <vector>

#include "engine/floating_point.hpp"
#include "engine/random.hpp"
#include "models/mlp.hpp"
#include "samplers/learned.hpp"

namespace whorl::bench {

inline constexpr std::int64_t data_rows = 60000, pixels = 784, batch_rows = 500, classes = 10;
inline constexpr std::int64_t chain_count = 20;

// Pixels as normal numbers, labels that depend on some of them.
struct Digits {
  Tensor x{Type{DType::f32, {data_rows, pixels}}};
  Tensor y{Type{DType::i32, {data_rows}}};

  Digits() {
    fill_normal<float>({.seed = 1}, 0, x.values<float>());
    for (std::int64_t i = 0; i < data_rows; ++i) {
      const float* row = x.data<float>() + i * pixels;
      y.data<std::int32_t>()[i] =
          static_cast<std::int32_t>(std::max_element(row, row + classes) - row);
    }
  }
};

inline Energy digits_energy(const std::vector<std::int64_t>& layers) {
  return Energy(Mlp{layers}.energy_graph(DType::f32, batch_rows),
                static_cast<double>(data_rows) / batch_rows);
}
inline GradientSource digits_gradient() {
  return {.minibatch = {data_rows, batch_rows, {"x", "y"}}};
}

// The rows of a step: neighbours in an order that no cache foresees.
inline void batch_of(std::int64_t step, std::span<std::int32_t> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<std::int32_t>(
        (7919 * (step * batch_rows + static_cast<std::int64_t>(i))) % data_rows);
}

inline constexpr double learned_step_size = 3.7639e-4, curl_bound = 5, diffusion_bound = 1000;
inline constexpr double gradient_scale = 70, diffusion_scale = 50;

// Networks of 10 units; the energy and the gradient come as means over the data.
inline LearnedSampler digits_sampler() {
  LearnedSampler sampler;
  sampler.curl.hidden = sampler.diffusion.hidden = {10};
  sampler.curl.inputs = {{-1.0 / data_rows, 0}, {}};
  sampler.diffusion.inputs = {{-1.0 / data_rows, 0}, {}, {gradient_scale / data_rows, 0}};
  sampler.curl.low = -curl_bound;
  sampler.curl.high = curl_bound;
  sampler.diffusion.high = diffusion_bound;
  sampler.diffusion.transform = Transform::absolute;
  sampler.diffusion.scale = diffusion_scale;
  sampler.alpha_times_step_size = 0.01;
  draw_weights(sampler, 1);
  return sampler;
}

// K networks without an engine: the weights of a layer of all chains stand together, as [out, in],
// so that the first layer of a thread's chains is one product; each thread has half of the chains.
class DigitsByHand {
 public:
  DigitsByHand(const Digits& digits, std::vector<std::int64_t> layers, int threads)
      : digits_(digits), layers_(std::move(layers)), threads_(threads), arena_(threads) {
    for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
      offsets_.push_back(size_);
      size_ += chain_count * layers_[l + 1] * layers_[l];
      offsets_.push_back(size_);
      size_ += chain_count * layers_[l + 1];
    }
    for (auto* values : {&theta, &p, &g, &noise_}) values->resize(static_cast<std::size_t>(size_));
    fill_normal<float>({.seed = 2}, 0, theta);
    for (float& w : theta) w *= 0.01f;
    for (std::size_t l = 1; l < layers_.size(); ++l)
      h_.emplace_back(static_cast<std::size_t>(chain_count * layers_[l] * batch_rows));
    x_.resize(static_cast<std::size_t>(batch_rows * pixels));
    y_.resize(batch_rows);
    rows_.resize(batch_rows);
    mean_loss.resize(chain_count);
  }

  template <class Update>
  void step(std::int64_t t, Update&& update) {
    batch_of(t, rows_);
    arena_.execute([&] {
      tbb::parallel_for(
          0, threads_,
          [&](int part) {
            const FlushDenormals mode;
            gather(batch_rows * part / threads_, batch_rows * (part + 1) / threads_);
          },
          tbb::simple_partitioner{});
      tbb::parallel_for(
          0, threads_,
          [&](int part) {
            const FlushDenormals mode;
            const std::int64_t first = chain_count * part / threads_,
                               last = chain_count * (part + 1) / threads_;
            gradient(first, last);
            for (std::size_t k = 0; k < offsets_.size(); ++k)
              for (std::int64_t c = first; c < last; ++c) {
                const std::int64_t n = width(k);
                const std::int64_t at = offsets_[k] + c * n;
                for (std::int64_t i = 0; i < n; i += tile) {
                  const std::int64_t m = std::min(tile, n - i);
                  float* z = noise_.data() + at + i;
                  fill_normal<float>({.seed = 3,
                                      .stream = static_cast<std::uint32_t>(k),
                                      .step = static_cast<std::uint32_t>(t),
                                      .chain = static_cast<std::uint32_t>(c)},
                                     i, {z, static_cast<std::size_t>(m)});
                  update(c, m, theta.data() + at + i, p.data() + at + i, g.data() + at + i, z);
                }
              }
          },
          tbb::simple_partitioner{});
    });
  }

  std::vector<float> theta, p, g, mean_loss;

 private:
  static constexpr std::int64_t tile = 1024;

  // Of parameter k of one chain.
  std::int64_t width(std::size_t k) const {
    return k % 2 == 0 ? layers_[k / 2] * layers_[k / 2 + 1] : layers_[k / 2 + 1];
  }

  void gather(std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t row = rows_[static_cast<std::size_t>(i)];
      std::copy_n(digits_.x.data<float>() + row * pixels, pixels, x_.data() + i * pixels);
      y_[static_cast<std::size_t>(i)] = digits_.y.data<std::int32_t>()[row];
    }
  }

  static void multiply(bool ta, bool tb, std::int64_t m, std::int64_t n, std::int64_t k,
                       const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float* c,
                       std::int64_t ldc) {
    cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans,
                static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), 1, a,
                static_cast<int>(lda), b, static_cast<int>(ldb), 0, c, static_cast<int>(ldc));
  }

  // dU/dtheta without the prior, for chains [first, last); activations are [units, batch_rows].
  void gradient(std::int64_t first, std::int64_t last) {
    const std::int64_t hidden = layers_[1];
    float* h1 = h_[0].data() + first * hidden * batch_rows;
    multiply(false, true, (last - first) * hidden, batch_rows, pixels,
             theta.data() + offsets_[0] + first * hidden * pixels, pixels, x_.data(), pixels, h1,
             batch_rows);
    for (std::int64_t c = first; c < last; ++c) inner_layers(c);
    multiply(false, false, (last - first) * hidden, pixels, batch_rows, h1, batch_rows, x_.data(),
             pixels, g.data() + offsets_[0] + first * hidden * pixels, pixels);
  }

  void inner_layers(std::int64_t c) {
    const std::size_t last = h_.size() - 1;
    const auto units = [&](std::size_t l) { return layers_[l + 1]; };
    const auto of = [&](std::size_t l) { return h_[l].data() + c * units(l) * batch_rows; };
    const auto weights = [&](std::vector<float>& v, std::size_t k) {
      return v.data() + offsets_[k] + c * width(k);
    };
    for (std::size_t l = 0; l <= last; ++l) {
      if (l > 0)
        multiply(false, false, units(l), batch_rows, units(l - 1), weights(theta, 2 * l),
                 units(l - 1), of(l - 1), batch_rows, of(l), batch_rows);
      for (std::int64_t j = 0; j < units(l); ++j) {
        float* row = of(l) + j * batch_rows;
        const float b = weights(theta, 2 * l + 1)[j];
        if (l == last)
          for (std::int64_t i = 0; i < batch_rows; ++i) row[i] += b;
        else
          for (std::int64_t i = 0; i < batch_rows; ++i) row[i] = std::max(row[i] + b, 0.0f);
      }
    }
    softmax(of(last), c);
    std::vector<float>& back = back_[c];
    back.resize(static_cast<std::size_t>(units(0) * batch_rows));
    for (std::size_t l = last;; --l) {
      float* dy = of(l);
      for (std::int64_t j = 0; j < units(l); ++j) {
        float total = 0;
#pragma GCC ivdep
        for (std::int64_t i = 0; i < batch_rows; ++i) total += dy[j * batch_rows + i];
        weights(g, 2 * l + 1)[j] = total;
      }
      if (l == 0) return;
      multiply(false, true, units(l), units(l - 1), batch_rows, dy, batch_rows, of(l - 1),
               batch_rows, weights(g, 2 * l), units(l - 1));
      multiply(true, false, units(l - 1), batch_rows, units(l), weights(theta, 2 * l), units(l - 1),
               dy, batch_rows, back.data(), batch_rows);
      float* h = of(l - 1);
      for (std::int64_t i = 0; i < units(l - 1) * batch_rows; ++i)
        h[i] = h[i] > 0 ? back[static_cast<std::size_t>(i)] : 0.0f;
    }
  }

  // Logits become their gradients, scaled to the whole data set.
  void softmax(float* z, std::int64_t c) {
    constexpr float scale = static_cast<float>(data_rows) / batch_rows;
    float most[batch_rows], total[batch_rows];
    double loss = 0;
    std::copy_n(z, batch_rows, most);
    for (std::int64_t j = 1; j < classes; ++j)
      for (std::int64_t i = 0; i < batch_rows; ++i)
        most[i] = std::max(most[i], z[j * batch_rows + i]);
    for (std::int64_t i = 0; i < batch_rows; ++i) {
      const std::int64_t label = y_[static_cast<std::size_t>(i)];
      loss += static_cast<double>(most[i] - z[label * batch_rows + i]);
      total[i] = 0;
    }
    for (std::int64_t j = 0; j < classes; ++j)
      for (std::int64_t i = 0; i < batch_rows; ++i) {
        float& e = z[j * batch_rows + i];
        e = fast_exp(e - most[i]);
        total[i] += e;
      }
    for (std::int64_t i = 0; i < batch_rows; ++i) {
      loss += std::log(static_cast<double>(total[i]));
      total[i] = scale / total[i];
    }
    for (std::int64_t j = 0; j < classes; ++j)
      for (std::int64_t i = 0; i < batch_rows; ++i) z[j * batch_rows + i] *= total[i];
    for (std::int64_t i = 0; i < batch_rows; ++i)
      z[y_[static_cast<std::size_t>(i)] * batch_rows + i] -= scale;
    mean_loss[static_cast<std::size_t>(c)] = static_cast<float>(loss / batch_rows);
  }

  // exp for x <= 0, to a few units in the sixth digit: 2^n times a polynomial.
  static float fast_exp(float x) {
    x = std::max(x, -80.0f);
    const float n = std::nearbyint(x * 1.44269504f), r = x - n * 0.693147181f;
    const float y =
        1 + r * (1 + r * (0.5f + r * (1 / 6.0f + r * (1 / 24.0f + r * (1 / 120.0f + r / 720)))));
    return std::bit_cast<float>(std::bit_cast<std::int32_t>(y) +
                                (static_cast<std::int32_t>(n) << 23));
  }

  const Digits& digits_;
  std::vector<std::int64_t> layers_;
  int threads_;
  tbb::task_arena arena_;
  std::vector<std::int64_t> offsets_;  // of W1, b1, ..., each for all chains
  std::int64_t size_ = 0;
  std::vector<float> x_, noise_;
  std::vector<std::int32_t> y_, rows_;
  std::vector<std::vector<float>> h_;
  std::array<std::vector<float>, chain_count> back_;
};

// The learned sampler's update, one tile at a time; weights as coordinate_net has them.
class LearnedByHand {
 public:
  explicit LearnedByHand(const LearnedSampler& sampler)
      : alpha_(static_cast<float>(sampler.alpha_times_step_size / learned_step_size)) {
    std::copy(sampler.curl.weights.begin(), sampler.curl.weights.end(), q_);
    std::copy(sampler.diffusion.weights.begin(), sampler.diffusion.weights.end(), d_);
  }

  // u is minus the mean energy.
  void operator()(float u, std::int64_t n, float* theta, float* p, const float* g,
                  const float* z) const {
    constexpr float eta = static_cast<float>(learned_step_size), rows = data_rows;
    constexpr float high = static_cast<float>(curl_bound),
                    most = static_cast<float>(diffusion_bound);
    constexpr std::int64_t strip = 32;
    for (std::int64_t at = 0; at < n; at += strip) {
      const std::int64_t m = std::min(strip, n - at);
      float full[strip], scaled[strip], f[strip], by_u[strip], by_p[strip], d[strip], d_p[strip];
      for (std::int64_t i = 0; i < m; ++i) {
        full[i] = g[at + i] + theta[at + i];
        scaled[i] = full[i] * (static_cast<float>(gradient_scale) / rows);
      }
      net<2, true>(q_, u, p + at, scaled, m, f, by_u, by_p);
      net<3, false>(d_, u, p + at, scaled, m, d, by_u, d_p);
      for (std::int64_t i = 0; i < m; ++i) {
        const bool in = std::abs(f[i]) <= high;
        const float q = std::clamp(f[i], -high, high);
        const float raw = alpha_ * q * q + static_cast<float>(diffusion_scale) * std::abs(d[i]);
        const float slope = static_cast<float>(diffusion_scale) * std::copysign(d_p[i], d[i]);
        const float total = std::min(raw, most);
        const float q_p = in ? by_p[i] : 0.0f, q_u = in ? by_u[i] : 0.0f;
        const float gamma =
            (raw <= most ? slope + 2 * alpha_ * q * q_p : 0.0f) - q_u * full[i] * (-1 / rows);
        p[at + i] += eta * (gamma - q * full[i] - total * p[at + i]) +
                     std::sqrt(2 * eta * total) * z[at + i];
      }
      net<2, false>(q_, u, p + at, scaled, m, f, by_u, by_p);
      for (std::int64_t i = 0; i < m; ++i) {
        const bool in = std::abs(f[i]) <= high;
        theta[at + i] += eta * (std::clamp(f[i], -high, high) * p[at + i] - (in ? by_p[i] : 0.0f));
      }
    }
  }

 private:
  static constexpr int units = 10;

  template <int Inputs, bool ByU>
  static void net(const float* w, float u, const float* p, const float* g, std::int64_t n, float* f,
                  float* by_u, float* by_p) {
    const float *b = w + Inputs * units, *out = b + units;
    for (std::int64_t i = 0; i < n; ++i) {
      f[i] = out[units];
      by_p[i] = 0;
      if (ByU) by_u[i] = 0;
    }
    for (int k = 0; k < units; ++k) {
      const float a = w[k * Inputs] * u + b[k], wp = w[k * Inputs + 1];
      const float wg = Inputs == 3 ? w[k * Inputs + 2] : 0.0f;
      const float slope_u = out[k] * w[k * Inputs], slope_p = out[k] * wp;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < n; ++i) {
        const float h = a + wp * p[i] + (Inputs == 3 ? wg * g[i] : 0.0f);
        const bool on = h > 0;
        f[i] += out[k] * (on ? h : 0.0f);
        by_p[i] += on ? slope_p : 0.0f;
        if (ByU) by_u[i] += on ? slope_u : 0.0f;
      }
    }
  }

  float alpha_;
  float q_[4 * units + 1], d_[5 * units + 1];
};

}  // namespace whorl::bench
