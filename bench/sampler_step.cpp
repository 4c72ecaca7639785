// Steps of samplers with per-coordinate networks, unrolled in one plan:
//   one whose corrections are derived from Q and D by autodiff, for one chain, and then batched,
//   beside the same step written for all chains at once with the networks' own derivatives;
//   SGHMC on a Gaussian of 20 dimensions for 50 chains, beside loops by hand.
// WHORL_SHOW_PLAN and WHORL_PROFILE, if set, print the plans and what their steps take.
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "autodiff/coordinate.hpp"
#include "autodiff/tape.hpp"
#include "bench/bench.hpp"
#include "engine/executor.hpp"
#include "engine/ops.hpp"
#include "engine/passes.hpp"
#include "engine/plan.hpp"
#include "engine/random.hpp"

namespace {

using namespace whorl;

constexpr double eta = 0.025, limit = 5;

// What a step reads beside its state.
struct Surroundings {
  Value seed, step, weights_q, weights_d, mean, precision;
};
struct State {
  Value theta, p;
};
struct Energy {
  Value u, g;
};

Surroundings surroundings(Graph& graph, std::int64_t n, std::int64_t hidden, bool gaussian) {
  Surroundings s;
  s.seed = input(graph, "seed", {DType::i32, {2}});
  s.step = input(graph, "step", {DType::i32, {}});
  s.weights_q = input(graph, "weights_q", {DType::f32, {coordinate_net_weights(2, {hidden})}});
  s.weights_d = input(graph, "weights_d", {DType::f32, {coordinate_net_weights(3, {hidden})}});
  if (gaussian) {
    s.mean = input(graph, "mean", {DType::f32, {n}});
    s.precision = input(graph, "precision", {DType::f32, {n, n}});
  }
  return s;
}

// Of one chain: (theta - m)' P (theta - m) / 2, or |theta|^2 / 2.
Energy energy(const Surroundings& s, Value theta) {
  const Value d = s.mean ? theta - s.mean : theta;
  const Value u = 0.5 * sum(s.mean ? matmul(d, s.precision) * d : square(d));
  return {stop_gradient(u), stop_gradient(gradient(u, theta))};
}

Value noise(const Surroundings& s, int t, const Type& type, int stream, bool chained) {
  const Value step = t == 0 ? s.step : s.step + static_cast<double>(t);
  return random_normal(s.seed, step, type, stream, chained);
}

struct Parts {
  Value value, by_u, by_p;
};

// What all learned steps have in common once Q, D and their derivatives are known.
State update(const State& s, Value g, const Parts& q, const Parts& d, Value xi) {
  const Value drift = q.value * g + d.value * s.p - q.by_u * g - d.by_p;
  const Value p = s.p - eta * drift + sqrt(2 * eta * d.value) * xi;
  return {s.theta + eta * (q.value * p - q.by_p), p};
}

Value part(Value net, std::int64_t m, const Shape& shape) {
  return reshape(slice(net, 0, m, m + 1), shape);
}

// One chain, derivatives by autodiff.
State derived_step(const Surroundings& s, const State& state, std::int64_t hidden, int t) {
  const Type type = state.p.type();
  const Energy e = energy(s, state.theta);
  const Value u = stop_gradient(broadcast(e.u, type.shape)), p = stop_gradient(state.p);
  const auto net = [&](const std::vector<Value>& x, Value weights) {
    return part(coordinate_net(x, weights, {{hidden}, "relu", {}}), 0, type.shape);
  };
  const Value q = clamp(net({0.5 * u, p}, s.weights_q), -limit, limit);
  const Value d = clamp(abs(net({0.5 * u, p, e.g}, s.weights_d)), 0, limit);
  const Parts by_q{q, coordinate_derivative(q, u), coordinate_derivative(q, p)};
  const Parts by_d{d, {}, coordinate_derivative(d, p)};
  return update(state, e.g, by_q, by_d, noise(s, t, type, 1, false));
}

// All chains, the networks' own derivatives.
State direct_step(const Surroundings& s, const State& state, std::int64_t hidden, int t) {
  const Type type = state.p.type();
  const Shape& shape = type.shape;
  const Value delta = s.mean ? state.theta - s.mean : state.theta;
  const Value g = s.mean ? matmul(delta, s.precision) : delta;
  const Value u = 0.25 * sum(delta * g, {1}, true);
  const Value net_q = coordinate_net({u, state.p}, s.weights_q, {{hidden}, "relu", {0, 1}});
  const Value net_d = coordinate_net({u, state.p, g}, s.weights_d, {{hidden}, "relu", {1}});
  const Value raw_q = part(net_q, 0, shape), raw_d = part(net_d, 0, shape), size = abs(raw_d);
  const Value zero = fill_like(raw_q, 0);
  const Value inside_q = less_equal(abs(raw_q), fill_like(raw_q, limit));
  const Value inside_d = less_equal(size, fill_like(raw_q, limit));
  const Parts by_q{clamp(raw_q, -limit, limit), 0.5 * select(inside_q, part(net_q, 1, shape), zero),
                   select(inside_q, part(net_q, 2, shape), zero)};
  const Parts by_d{
      clamp(size, 0, limit), {}, select(inside_d, sign(raw_d) * part(net_d, 1, shape), zero)};
  return update(state, g, by_q, by_d, noise(s, t, type, 1, true));
}

// One chain of SGHMC with friction 1 and noise on the gradient.
State sghmc_step(const Surroundings& s, const State& state, std::int64_t, int t) {
  const Type type = state.p.type();
  const Value theta = state.theta + eta * state.p;
  const Value g = matmul(theta - s.mean, s.precision) + noise(s, t, type, 1, false);
  const Value p = state.p - eta * (g + state.p) + std::sqrt(2 * eta) * noise(s, t, type, 2, false);
  return {theta, p};
}

// The same for all chains, without an engine, except for the random numbers.
class SghmcByHand {
 public:
  static constexpr std::int64_t chains = 50, n = 20;

  SghmcByHand(const Tensor& start, const Tensor& p, const Tensor& mean, const Tensor& precision)
      : start_theta_(start), start_p_(p), mean_(mean), precision_(precision) {}

  void run(int steps, std::uint64_t seed, std::uint32_t first) {
    std::copy_n(start_theta_.data<float>(), chains * n, theta);
    std::copy_n(start_p_.data<float>(), chains * n, p_);
    for (int t = 0; t < steps; ++t) {
      const auto step = first + static_cast<std::uint32_t>(t);
      fill_normal_chains<float>({seed, 1, step, 0}, n, 0, noise_[0]);
      fill_normal_chains<float>({seed, 2, step, 0}, n, 0, noise_[1]);
      for (std::int64_t c = 0; c < chains; ++c) one(c * n);
    }
  }
  float theta[chains * n];

 private:
  void one(std::int64_t at) {
    constexpr float e = static_cast<float>(eta);
    const float *mean = mean_.data<float>(), *precision = precision_.data<float>();
    const float sd = static_cast<float>(std::sqrt(2 * eta));
    float g[n] = {};
    for (std::int64_t i = 0; i < n; ++i) theta[at + i] += e * p_[at + i];
    for (std::int64_t i = 0; i < n; ++i) {
      const float d = theta[at + i] - mean[i];
      for (std::int64_t j = 0; j < n; ++j) g[j] = std::fma(d, precision[i * n + j], g[j]);
    }
    for (std::int64_t j = 0; j < n; ++j)
      p_[at + j] += sd * noise_[1][at + j] - e * (g[j] + noise_[0][at + j] + p_[at + j]);
  }

  Tensor start_theta_, start_p_, mean_, precision_;
  float p_[chains * n], noise_[2][chains * n];
};

Tensor numbers(const Type& type, double scale) {
  Tensor tensor(type);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double x = scale * std::sin(static_cast<double>(7 * i + 3));
    dispatch(type.dtype, [&](auto zero) {
      using T = decltype(zero);
      tensor.data<T>()[i] = static_cast<T>(x);
    });
  }
  return tensor;
}

// What an input is fed with: the same for the same name and type.
Tensor food(std::string_view name, const Type& type) {
  Tensor tensor = numbers(type, 0.5);
  if (name == "precision") {
    const std::int64_t n = type.shape[0];
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        tensor.data<float>()[i * n + j] =
            i == j ? 1.5f : 0.2f / static_cast<float>(1 + std::abs(i - j));
  }
  return tensor;
}
void feed(Executor& executor) {
  for (const Plan::Port& port : executor.plan().inputs)
    executor.bind(port.name, food(port.name, port.type));
}

using Step = State (*)(const Surroundings&, const State&, std::int64_t hidden, int t);

Graph unrolled(Step step, const Shape& shape, std::int64_t hidden, int steps, bool gaussian) {
  Graph graph;
  const Surroundings around = surroundings(graph, shape[shape.rank() - 1], hidden, gaussian);
  State state{input(graph, "theta", {DType::f32, shape}), input(graph, "p", {DType::f32, shape})};
  for (int t = 0; t < steps; ++t) state = step(around, state, hidden, t);
  graph.add_output("theta", state.theta.id);
  graph.add_output("p", state.p.id);
  return graph;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  double worst = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i)
    worst = std::max(worst, std::abs(a.at(i) - b.at(i)));
  return worst;
}

Executor prepared(const Graph& graph) {
  Executor executor(compile(graph));
  if (std::getenv("WHORL_SHOW_PLAN")) fmt::print("{}", to_text(executor.plan()));
  feed(executor);
  return executor;
}

void show_profile(const Graph& graph) {
  Executor executor(compile(graph), {.profile = true});
  feed(executor);
  for (int i = 0; i < 50; ++i) executor.run();
  double total = 0;
  for (const StepProfile& step : executor.profile()) {
    fmt::print("{:9.3f} us  {:.100}\n", step.seconds / static_cast<double>(step.runs) * 1e6,
               step.name);
    total += step.seconds / static_cast<double>(step.runs) * 1e6;
  }
  fmt::print("{:9.3f} us\n", total);
}

void learned_steps(std::int64_t chains, std::int64_t n, std::int64_t hidden, int steps,
                   int repeats) {
  const bool gaussian = n < 1000;
  Executor derived =
      prepared(batch(unrolled(derived_step, {n}, hidden, steps, gaussian), {"theta", "p"}, chains));
  Executor direct = prepared(unrolled(direct_step, {chains, n}, hidden, steps, gaussian));
  if (std::getenv("WHORL_PROFILE")) {
    show_profile(batch(unrolled(derived_step, {n}, hidden, 1, gaussian), {"theta", "p"}, chains));
    show_profile(unrolled(direct_step, {chains, n}, hidden, 1, gaussian));
  }
  const auto [one, other] = bench::best_of_both(
      repeats, [&] { derived.run(); }, [&] { direct.run(); });
  const double each = 1e9 / static_cast<double>(chains * n * steps);
  bench::report(fmt::format("{} x {}, {} units, derived / direct", chains, n, hidden), one, other,
                each, "ns");
  fmt::print("{:<44} {:.2f} us a step, {} and {} steps of the plans, difference {:.1g}\n", "",
             one / steps * 1e6, derived.plan().steps.size(), direct.plan().steps.size(),
             largest_difference(derived.output("theta"), direct.output("theta")));
}

void small_steps() {
  constexpr int steps = 20;
  constexpr std::int64_t chains = SghmcByHand::chains, n = SghmcByHand::n;
  const Graph graph = batch(unrolled(sghmc_step, {n}, 10, steps, true), {"theta", "p"}, chains);
  Executor engine = prepared(graph);
  if (std::getenv("WHORL_PROFILE")) show_profile(graph);
  const Type state{DType::f32, {chains, n}};
  SghmcByHand by_hand(food("theta", state), food("p", state), food("mean", {DType::f32, {n}}),
                      food("precision", {DType::f32, {n, n}}));
  const auto [one, other] = bench::best_of_both(
      1000, [&] { engine.run(); }, [&] { by_hand.run(steps, 0, 0); });
  bench::report("SGHMC, 50 x 20, a step", one / steps, other / steps, 1e6, "us");
  double worst = 0;
  for (std::int64_t i = 0; i < chains * n; ++i)
    worst = std::max(
        worst, std::abs(engine.output("theta").at(i) - static_cast<double>(by_hand.theta[i])));
  fmt::print("{:<44} {} steps of the plan, difference {:.1g}\n", "", engine.plan().steps.size(),
             worst);
}

}  // namespace

int main() {
  small_steps();
  for (std::int64_t hidden : {10, 40}) {
    learned_steps(50, 20, hidden, 20, 300);
    learned_steps(20, 33450, hidden, 2, 20);
  }
}
