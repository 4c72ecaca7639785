#include "plain.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/ops.hpp"
#include "engine/random.hpp"

namespace whorl::testing {

namespace {

Real curvature(std::size_t i) { return 1 + static_cast<Real>(i) / 4; }
Real square_sum(const Numbers& x) {
  return std::inner_product(x.begin(), x.end(), x.begin(), Real{0});
}

// x_i += f(i)
template <class F>
void add(Numbers& x, F&& f) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += f(i);
}

}  // namespace

Numbers PlainMoment::normals(std::int64_t stream, std::size_t n) const {
  const RandomCoordinates at{seed, static_cast<std::uint32_t>(stream),
                             static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(chain)};
  Numbers result;
  for (std::size_t i = 0; i < n; ++i) {
    const auto element = static_cast<std::int64_t>(i);
    result.push_back(dtype == DType::f32 ? Real{normal<float>(at, element)}
                                         : Real{normal<double>(at, element)});
  }
  return result;
}

Real PlainMoment::uniform(std::int64_t stream) const {
  const RandomCoordinates at{seed, static_cast<std::uint32_t>(stream),
                             static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(chain)};
  return dtype == DType::f32 ? Real{whorl::uniform<float>(at, 0)}
                             : Real{whorl::uniform<double>(at, 0)};
}

Energy wavy(DType dtype, std::int64_t n) {
  Graph graph;
  const Value x = input(graph, "x", {dtype, {n}}, "parameter");
  const Value a = 1 + 0.25 * iota(graph, {dtype, {n}}, 0);
  const Value u = 0.5 * sum(a * square(x) + cos(x)) + 0.05 * square(sum(x));
  graph.set_name(u.id, "wavy");
  graph.add_output("U", u.id);
  return Energy(std::move(graph));
}

Real wavy_energy(const Numbers& x) {
  Real sum = 0, u = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    u += (curvature(i) * x[i] * x[i] + std::cos(x[i])) / 2;
    sum += x[i];
  }
  return u + sum * sum / 20;
}

Numbers wavy_gradient(const Numbers& x) {
  const Real sum = std::accumulate(x.begin(), x.end(), Real{0});
  Numbers g;
  for (std::size_t i = 0; i < x.size(); ++i)
    g.push_back(curvature(i) * x[i] - std::sin(x[i]) / 2 + sum / 10);
  return g;
}

Energy wavy_parts(DType dtype, std::int64_t n) {
  Graph graph;
  const Value x = input(graph, "x", {dtype, {n}}, "parameter");
  const Value a = 1 + 0.25 * iota(graph, {dtype, {n}}, 0);
  graph.add_output("prior", (0.5 * sum(a * square(x))).id);
  graph.add_output("likelihood", (0.5 * sum(cos(x)) + 0.05 * square(sum(x))).id);
  return Energy(std::move(graph));
}

Real wavy_prior(const Numbers& x) {
  Real u = 0;
  for (std::size_t i = 0; i < x.size(); ++i) u += curvature(i) * x[i] * x[i] / 2;
  return u;
}

Numbers wavy_prior_gradient(const Numbers& x) {
  Numbers g;
  for (std::size_t i = 0; i < x.size(); ++i) g.push_back(curvature(i) * x[i]);
  return g;
}

PlainSampler plain_sgld() {
  return [](PlainState& z, const PlainMoment& at) {
    Numbers& x = z["position"];
    const Numbers g = wavy_gradient(x), xi = at.normals(16, x.size());
    add(x, [&](std::size_t i) { return -at.eta * g[i] + std::sqrt(2 * at.eta) * xi[i]; });
  };
}

PlainSampler plain_sghmc(Real friction, bool euler) {
  return [=](PlainState& z, const PlainMoment& at) {
    Numbers &x = z["position"], &p = z["momentum"];
    const Numbers g = wavy_gradient(x), xi = at.normals(17, x.size()), old = p;
    add(p, [&](std::size_t i) {
      return -at.eta * (g[i] + friction * old[i]) + std::sqrt(2 * at.eta * friction) * xi[i];
    });
    add(x, [&](std::size_t i) { return at.eta * (euler ? old[i] : p[i]); });
  };
}

PlainSampler plain_sgnht(Real friction, bool per_coordinate) {
  return [=](PlainState& z, const PlainMoment& at) {
    Numbers &x = z["position"], &p = z["momentum"], &xi = z["thermostat"];
    const std::size_t n = x.size();
    const Numbers g = wavy_gradient(x), noise = at.normals(17, n), old = p;
    add(p, [&](std::size_t i) {
      return -at.eta * (g[i] + xi[per_coordinate ? i : 0] * old[i]) +
             std::sqrt(2 * at.eta * friction) * noise[i];
    });
    add(x, [&](std::size_t i) { return at.eta * p[i]; });
    add(xi, [&](std::size_t i) {
      return at.eta * ((per_coordinate ? p[i] * p[i] : square_sum(p) / static_cast<Real>(n)) - 1);
    });
  };
}

PlainSampler plain_psgld(const PsgldOptions& options) {
  return [=](PlainState& z, const PlainMoment& at) {
    Numbers &x = z["position"], &v = z["second_moment"];
    const Numbers g = wavy_gradient(x), xi = at.normals(16, x.size());
    const Numbers prior = wavy_prior_gradient(x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Real measured = options.likelihood_only ? g[i] - prior[i] : g[i];
      const Real m = measured / options.data_size, decay = at.step == 0 ? 0 : options.decay;
      v[i] = (at.step == 0 ? 0 : decay * v[i]) + (1 - decay) * m * m;
      const Real scale = 1 / (options.epsilon + std::sqrt(v[i]));
      x[i] += -at.eta * scale * g[i] + std::sqrt(2 * options.temperature * at.eta * scale) * xi[i];
    }
  };
}

PlainSampler plain_santa(const SantaOptions& options) {
  return [=](PlainState& z, const PlainMoment& at) {
    Numbers &x = z["position"], &p = z["momentum"], &xi = z["thermostat"], &v = z["second_moment"];
    const Numbers f = wavy_gradient(x), prior = wavy_prior_gradient(x);
    const Numbers noise = at.normals(17, x.size());
    const Real h = std::sqrt(at.eta), t = static_cast<Real>(at.step + 1);
    const bool refines = options.refine_from && at.step >= *options.refine_from;
    const Real heat = 1 / (options.beta_scale * std::pow(t, Real{options.beta_power}));
    z["count"] = {t};
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Real m = (options.likelihood_only ? f[i] - prior[i] : f[i]) / options.data_size;
      v[i] = at.step == 0 ? m * m : options.decay * v[i] + (1 - Real{options.decay}) * m * m;
      const Real g = 1 / std::sqrt(options.epsilon + std::sqrt(v[i]));
      if (!refines) xi[i] += h * (p[i] * p[i] - heat);
      xi[i] = std::clamp(xi[i], -1 / h, 1 / h);
      const Real alpha = refines ? std::min(h * std::max(xi[i], g), Real{1}) : h * xi[i];
      p[i] += -alpha * p[i] - h * g * f[i];
      if (!refines) p[i] += std::sqrt(2 * h * heat * g) * noise[i];
      x[i] += h * g * p[i];
    }
  };
}

PlainSampler plain_adam(const AdamOptions& options) {
  return [=](PlainState& z, const PlainMoment& at) {
    Numbers &x = z["position"], &m = z["first_moment"], &v = z["second_moment"];
    const Numbers g = wavy_gradient(x);
    const Real t = static_cast<Real>(at.step + 1), b1 = options.beta1, b2 = options.beta2;
    z["count"] = {t};
    for (std::size_t i = 0; i < x.size(); ++i) {
      m[i] = b1 * m[i] + (1 - b1) * g[i];
      v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i];
      x[i] -= at.eta * m[i] / (1 - std::pow(b1, t)) /
              (std::sqrt(v[i] / (1 - std::pow(b2, t))) + options.epsilon);
    }
  };
}

PlainSampler plain_sgdm(Real decay) {
  return [=](PlainState& z, const PlainMoment& at) {
    Numbers &x = z["position"], &v = z["velocity"];
    const Numbers g = wavy_gradient(x);
    for (std::size_t i = 0; i < x.size(); ++i) v[i] = decay * v[i] + g[i];
    add(x, [&](std::size_t i) { return -at.eta * v[i]; });
  };
}

PlainSampler plain_hmc(const HmcOptions& options) {
  return [=](PlainState& z, const PlainMoment& at) {
    const Real t = options.temperature;
    const Real eta = at.eta * (1 + options.jitter * (2 * at.uniform(4) - 1));
    Numbers x = z["position"], p = at.normals(17, x.size());
    for (Real& v : p) v *= std::sqrt(t);
    const Real before = wavy_energy(x) + square_sum(p) / 2;
    for (std::int64_t k = 0; k < options.leapfrog_steps; ++k) {
      const Numbers g = wavy_gradient(x);
      add(p, [&](std::size_t i) { return -eta / 2 * g[i]; });
      add(x, [&](std::size_t i) { return eta * p[i]; });
      const Numbers after = wavy_gradient(x);
      add(p, [&](std::size_t i) { return -eta / 2 * after[i]; });
    }
    const Real now = wavy_energy(x) + square_sum(p) / 2;
    if (std::log(at.uniform(3)) < (before - now) / t) z["position"] = x;
  };
}

namespace {

// A value and its derivatives by the network's inputs.
struct Slopes {
  Real value;
  Numbers by;
};

// Layers are lists of (value, derivatives); a unit is b + W x, then relu.
Slopes unit(const std::vector<Slopes>& below, const Real* w, Real bias) {
  Slopes result{bias, Numbers(below[0].by.size(), 0)};
  for (std::size_t j = 0; j < below.size(); ++j) {
    result.value += w[j] * below[j].value;
    for (std::size_t k = 0; k < result.by.size(); ++k) result.by[k] += w[j] * below[j].by[k];
  }
  return result;
}

void multiply(Slopes& f, Real factor) {
  f.value *= factor;
  for (Real& slope : f.by) slope *= factor;
}

// t f with its derivatives by the task's inputs; the bounds are left to the caller.
Slopes network(const Network& net, DType dtype, const Numbers& inputs) {
  Numbers w;
  for (double x : net.weights) w.push_back(dtype == DType::f32 ? Real{static_cast<float>(x)} : x);
  std::vector<Slopes> layer;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    Numbers by(inputs.size(), 0);
    by[k] = net.inputs[k].scale;
    layer.push_back({(inputs[k] - net.inputs[k].shift) * net.inputs[k].scale, by});
  }
  const Real* at = w.data();
  for (std::int64_t width : net.hidden) {
    const auto units = static_cast<std::size_t>(width);
    std::vector<Slopes> next;
    for (std::size_t j = 0; j < units; ++j) {
      next.push_back(unit(layer, at + j * layer.size(), at[units * layer.size() + j]));
      if (next.back().value <= 0) multiply(next.back(), 0);
    }
    at += units * (layer.size() + 1);
    layer = std::move(next);
  }
  Slopes f = unit(layer, at, at[layer.size()]);
  if (net.transform == Transform::absolute && f.value < 0) multiply(f, -1);
  multiply(f, net.scale);
  return f;
}

void bound(const Network& net, Slopes& f) {
  if (net.low >= net.high || (f.value >= net.low && f.value <= net.high)) return;
  const Real value = f.value < net.low ? net.low : net.high;
  multiply(f, 0);
  f.value = value;
}

// Q and D of one coordinate, with derivatives by U, p and g themselves. Where the sampler looks at
// means, U and g have their prior weighed already.
struct Learned {
  const LearnedSampler& sampler;
  const TaskStatistics& task;
  DType dtype;

  // The energy is seen as minus its mean or as asinh of the standardised one, the others by their
  // rms.
  bool mean() const { return sampler.energy_input == EnergyInput::mean_log_joint; }
  Real input_energy(Real u) const {
    return mean() ? -u / task.rows : std::asinh((u - task.energy_mean) / task.energy_sd);
  }
  Real energy_slope(Real u) const {
    return mean() ? -1 / Real{task.rows} : 1 / std::hypot(task.energy_sd, u - task.energy_mean);
  }
  Slopes curl(Real u, Real p) const {
    Slopes q = network(sampler.curl, dtype, {input_energy(u), p / task.momentum_rms});
    bound(sampler.curl, q);
    q.value += sampler.beta;
    q.by[0] *= energy_slope(u);
    q.by[1] /= task.momentum_rms;
    return q;
  }
  Slopes part(Real u, Real p, Real g) const {
    const Real scale = sampler.mean_gradient ? task.rows : task.gradient_rms;
    Slopes f =
        network(sampler.diffusion, dtype, {input_energy(u), p / task.momentum_rms, g / scale});
    f.by[1] /= task.momentum_rms;
    return f;
  }
  // D, given Q and dQ/dp and the part of f_D with its dp.
  Slopes diffusion(Real q, Real q_by_p, Real f, Real f_by_p) const {
    Slopes d{sampler.alpha * q * q + f + sampler.c, {2 * sampler.alpha * q * q_by_p + f_by_p}};
    bound(sampler.diffusion, d);
    return d;
  }

  // What is taken off U and g: the share of the prior that does not count.
  Real prior_off(std::size_t size) const {
    return sampler.trained_size == 0
               ? 0
               : 1 - static_cast<Real>(sampler.trained_size) / static_cast<Real>(size);
  }
};

}  // namespace

PlainSampler plain_learned(const LearnedSampler& sampler, const TaskStatistics& task, Real noise) {
  return [=](PlainState& z, const PlainMoment& at) {
    const Learned nets{sampler, task, at.dtype};
    Numbers &x = z["position"], &p = z["momentum"];
    const Real off = nets.prior_off(x.size());
    const Real u = wavy_energy(x) - off * wavy_prior(x), eta = at.eta;
    Numbers g = wavy_gradient(x);
    const Numbers prior = wavy_prior_gradient(x);
    const Numbers added = at.normals(1, x.size()), xi = at.normals(17, x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      g[i] += noise * added[i];
      const Real seen = g[i] - off * prior[i];
      const Slopes q = nets.curl(u, p[i]), f = nets.part(u, p[i], seen);
      const Slopes d = nets.diffusion(q.value, q.by[1], f.value, f.by[1]);
      p[i] += eta * (-q.value * g[i] - d.value * p[i] + q.by[0] * seen + d.by[0]) +
              std::sqrt(2 * eta * d.value) * xi[i];
      const Slopes q_new = nets.curl(u, p[i]);
      x[i] += eta * (q_new.value * p[i] - q_new.by[1]);
    }
  };
}

PlainSampler plain_finite_difference(const LearnedSampler& sampler, const TaskStatistics& task) {
  return [=](PlainState& z, const PlainMoment& at) {
    const Learned nets{sampler, task, at.dtype};
    Numbers &x = z["position"], &p = z["momentum"], &p_old = z["previous_momentum"];
    Numbers &q_old = z["previous_curl"], &q_moved = z["moved_curl"];
    const Real off = nets.prior_off(x.size()), eta = at.eta;
    const Real u = wavy_energy(x) - off * wavy_prior(x), u_old = z["previous_energy"][0];
    const bool first = z["started"][0] == 0;
    const Numbers g = wavy_gradient(x), prior = wavy_prior_gradient(x);
    const Numbers xi = at.normals(17, x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Real seen = g[i] - off * prior[i];
      const Slopes q = nets.curl(u, p[i]), f = nets.part(u, p[i], seen);
      const Real dp = p[i] - p_old[i];
      const Real q_by_u = first ? q.by[0] : (q.value - q_moved[i]) / (u - u_old);
      const Real q_by_p = first ? q.by[1] : (q_moved[i] - q_old[i]) / dp;
      const Real f_by_p = first ? f.by[1] : (f.value - nets.part(u, p_old[i], seen).value) / dp;
      const Slopes d = nets.diffusion(q.value, q_by_p, f.value, f_by_p);
      const Real p_new = p[i] + eta * (-q.value * g[i] - d.value * p[i] + q_by_u * seen + d.by[0]) +
                         std::sqrt(2 * eta * d.value) * xi[i];
      q_old[i] = q.value;
      q_moved[i] = nets.curl(u, p_new).value;
      x[i] += eta * (q_moved[i] * p_new - (q_moved[i] - q.value) / (p_new - p[i]));
      p_old[i] = p[i];
      p[i] = p_new;
    }
    z["previous_energy"] = {u};
    z["started"] = {1};
  };
}

}  // namespace whorl::testing
