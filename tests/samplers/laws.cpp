// The exact law of a sampler with a finite step, where it is known.
//
// With a quadratic energy and constant D and Q a step is linear, z' = A z + N(0, B), so its
// stationary covariance solves P = A P A' + B and a start at z_0 relaxes as E[z_t] = A^t z_0. No
// step-size bias is in the way: chains that start in the law stay in it, exactly.
//
// A and B are written down here from the formulas of the steps, without the engine. Power: half a
// million numbers, whose pooled variance has a standard error of 0.2%, so 2% of wrong noise is
// seen, and this is asserted. Statistical asserts: two for each law and time, one for each
// relaxation.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "engine/ops.hpp"
#include "engine/random.hpp"
#include "samplers/chains.hpp"
#include "samplers/dynamics.hpp"
#include "samplers/learned.hpp"
#include "samplers/proof_checks.hpp"

namespace whorl {

namespace {

constexpr double centre = 3;

struct Matrix {
  std::size_t n;
  std::vector<double> values;

  explicit Matrix(std::size_t size) : n(size), values(size * size) {}
  double& operator()(std::size_t i, std::size_t j) { return values[i * n + j]; }
  double operator()(std::size_t i, std::size_t j) const { return values[i * n + j]; }
};
Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix c(a.n);
  for (std::size_t i = 0; i < a.n; ++i)
    for (std::size_t k = 0; k < a.n; ++k)
      for (std::size_t j = 0; j < a.n; ++j) c(i, j) += a(i, k) * b(k, j);
  return c;
}
Matrix operator+(Matrix a, const Matrix& b) {
  for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] += b.values[i];
  return a;
}
Matrix transposed(const Matrix& a) {
  Matrix t(a.n);
  for (std::size_t i = 0; i < a.n; ++i)
    for (std::size_t j = 0; j < a.n; ++j) t(j, i) = a(i, j);
  return t;
}
Matrix cholesky_factor(const Matrix& a) {
  Matrix l(a.n);
  for (std::size_t i = 0; i < a.n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a(i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= l(i, k) * l(j, k);
      l(i, j) = i == j ? std::sqrt(sum) : sum / l(j, j);
    }
  return l;
}

// z' = A z + N(0, B), z = (position - centre, momentum).
struct LinearStep {
  Matrix a, b;

  // P = sum_t A^t B A'^t, doubling the number of terms each time.
  Matrix stationary() const {
    Matrix power = a, sum = b;
    for (int i = 0; i < 40; ++i) {
      sum = sum + power * sum * transposed(power);
      power = power * power;
    }
    return sum;
  }
};

// The precision matrix 1/2 + R R'/n: eigenvalues from 0.5 to about 4.5, full.
Matrix precision(std::size_t n) {
  Matrix r(n);
  fill_normal<double>({.seed = 7, .stream = 1}, 0, r.values);
  Matrix p = r * transposed(r);
  for (double& x : p.values) x /= static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) p(i, i) += 0.5;
  return p;
}

Energy quadratic_energy(std::size_t n) {
  const auto size = static_cast<std::int64_t>(n);
  Graph graph;
  const Value y = input(graph, "x", {DType::f64, {size}}, "parameter") - centre;
  const Value p = constant(graph, Tensor::of<double>({size, size}, precision(n).values));
  graph.add_output("U", (0.5 * sum(y * matmul(p, y))).id);
  return Energy(std::move(graph));
}

// x' = x - eta G (P x + N(0, v)) + N(0, 2 eta G), with a diagonal G.
LinearStep langevin(std::size_t n, double eta, double noise, const std::vector<double>& g) {
  const Matrix p = precision(n);
  LinearStep step{Matrix(n), Matrix(n)};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) step.a(i, j) = (i == j) - eta * g[i] * p(i, j);
    step.b(i, i) = 2 * eta * g[i] + std::pow(eta * g[i], 2) * noise;
  }
  return step;
}

// p' = p - eta q (P x + N(0, v)) - eta d p + N(0, 2 eta d - eta^2 q^2 estimate), x' = x + eta q p'.
LinearStep hamiltonian(std::size_t n, double eta, double q, double d, double noise,
                       double estimate) {
  const Matrix p = precision(n);
  LinearStep step{Matrix(2 * n), Matrix(2 * n)};
  const double variance = 2 * eta * d + std::pow(eta * q, 2) * (noise - estimate);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      step.a(n + i, j) = -eta * q * p(i, j);
      step.a(i, j) = (i == j) + eta * q * step.a(n + i, j);
    }
    step.a(n + i, n + i) = 1 - eta * d;
    step.a(i, n + i) = eta * q * (1 - eta * d);
    step.b(n + i, n + i) = variance;
    step.b(i, n + i) = step.b(n + i, i) = eta * q * variance;
    step.b(i, i) = std::pow(eta * q, 2) * variance;
  }
  return step;
}

// A sampler of the engine beside its formulas.
struct Case {
  std::string name;
  std::size_t dimension;
  double eta;
  Dynamics dynamics;
  RecipeOptions options;
  LinearStep expected;
  std::uint64_t seed = 0;  // its own, so that cases are independent witnesses
};

// Networks whose weights are zero but for the last bias: Q = beta + q, D = alpha Q^2 + d + c.
LearnedSampler constant_networks(double q, double d) {
  LearnedSampler sampler;
  sampler.curl.inputs.resize(2);
  sampler.diffusion.inputs.resize(3);
  sampler.diffusion.transform = Transform::absolute;
  draw_weights(sampler, 1);
  for (auto [network, bias] : {std::pair{&sampler.curl, q}, {&sampler.diffusion, d}}) {
    std::fill(network->weights.begin(), network->weights.end(), 0.0);
    network->weights.back() = bias;
  }
  sampler.alpha = 0.25;
  sampler.beta = 0.5;
  sampler.c = 0.125;
  return sampler;
}

std::vector<double> preconditioner(std::size_t n) {
  std::vector<double> g(n);
  for (std::size_t i = 0; i < n; ++i) g[i] = 0.4 + 0.1 * static_cast<double>(i);
  return g;
}
Dynamics preconditioned(const std::vector<double>& g) {
  return {{}, [g](StepBuilder& step, const Point&) {
            const Tensor tensor = Tensor::of<double>({step.size()}, std::span(g));
            return Matrices{{}, {{"position", constant(step.graph(), tensor)}}};
          }};
}

RecipeOptions noisy(double variance, double estimate) {
  RecipeOptions options;
  options.gradient.injected_noise = std::sqrt(variance);
  options.noise_estimate = estimate;
  return options;
}

std::vector<Case> cases() {
  std::vector<Case> result;
  for (std::size_t n : {10, 20}) {
    const std::vector<double> ones(n, 1);
    result.push_back({"sgld", n, 0.1, sgld_dynamics(), noisy(1, 0), langevin(n, 0.1, 1, ones)});
    result.push_back(
        {"sghmc", n, 0.1, sghmc_dynamics(1.5), noisy(1, 0), hamiltonian(n, 0.1, 1, 1.5, 1, 0)});
    // Q = 0.5 - 1.25, D = 0.25 Q^2 + 0.75 + 0.125.
    result.push_back({"constant networks", n, 0.1, learned_dynamics(constant_networks(-1.25, 0.75)),
                      noisy(1, 0), hamiltonian(n, 0.1, -0.75, 0.25 * 0.5625 + 0.875, 1, 0)});
  }
  result.push_back({"preconditioned", 10, 0.1, preconditioned(preconditioner(10)), noisy(1, 0),
                    langevin(10, 0.1, 1, preconditioner(10))});
  result.push_back({"sghmc, noise known", 10, 0.1, sghmc_dynamics(1.5), noisy(4, 4),
                    hamiltonian(10, 0.1, 1, 1.5, 4, 4)});
  for (std::size_t k = 0; k < result.size(); ++k) result[k].seed = 1000 * (k + 1);
  return result;
}

// Many chains of a case, in blocks that stay in the caches.
class Population {
 public:
  static constexpr std::int64_t block = 2500;

  Population(const Case& c, const Recipe& recipe)
      : case_(c),
        chains_(recipe_step(quadratic_energy(c.dimension), recipe, c.options),
                {.chains = block, .seed = c.seed}) {}

  void place(const Table& z) {
    const auto n = static_cast<std::int64_t>(case_.dimension);
    for (std::int64_t part = 0; part * n < z.columns; ++part) {
      Tensor values({DType::f64, {block, n}});
      for (std::int64_t r = 0; r < block; ++r)
        for (std::int64_t i = 0; i < n; ++i)
          values.data<double>()[r * n + i] = z.row(r)[part * n + i] + (part == 0 ? centre : 0);
      chains_.set(part == 0 ? "position" : "momentum", values);
    }
  }
  void advance(std::int64_t steps) {
    for (std::int64_t t = 0; t < steps; ++t)
      chains_.advance([&](std::int64_t) { return case_.eta; });
  }
  Table state() const {
    const auto n = static_cast<std::int64_t>(case_.dimension),
               width = static_cast<std::int64_t>(case_.expected.a.n);
    Table z(block, width);
    for (std::int64_t part = 0; part * n < width; ++part) {
      const Tensor& values = chains_.state(part == 0 ? "position" : "momentum");
      for (std::int64_t r = 0; r < block; ++r)
        for (std::int64_t i = 0; i < n; ++i)
          z.row(r)[part * n + i] = values.data<double>()[r * n + i] - (part == 0 ? centre : 0);
    }
    return z;
  }

 private:
  const Case& case_;
  Chains chains_;
};

// Draws from N(0, L L'), and back to independent normals.
Table coloured(Table xi, const Matrix& l) {
  for (std::int64_t r = 0; r < xi.rows(); ++r)
    for (std::size_t i = l.n; i-- > 0;) {
      double x = 0;
      for (std::size_t j = 0; j <= i; ++j) x += l(i, j) * xi.row(r)[j];
      xi.row(r)[i] = x;
    }
  return xi;
}
Table whitened(Table z, const Matrix& l) {
  for (std::int64_t r = 0; r < z.rows(); ++r)
    for (std::size_t i = 0; i < l.n; ++i) {
      double x = z.row(r)[i];
      for (std::size_t j = 0; j < i; ++j) x -= l(i, j) * z.row(r)[j];
      z.row(r)[i] = x / l(i, i);
    }
  return z;
}

// What independent normals must look like.
class Whiteness {
 public:
  explicit Whiteness(std::size_t n) : n_(n), means_(n), products_(n) {}

  void add(const Table& white) {
    for (std::int64_t r = 0; r < white.rows(); ++r)
      for (std::size_t i = 0; i < n_; ++i) {
        means_[i] += white.row(r)[i];
        for (std::size_t j = 0; j <= i; ++j) products_(i, j) += white.row(r)[i] * white.row(r)[j];
      }
    rows_ += white.rows();
    all_.insert(all_.end(), white.values.begin(), white.values.end());
  }

  // The largest |z| of all means, covariances and variances, and of the pooled variance.
  double moments() const {
    const auto rows = static_cast<double>(rows_);
    double worst = 0, squares = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      worst = std::max(worst, std::abs(means_[i]) / std::sqrt(rows));
      for (std::size_t j = 0; j < i; ++j)
        worst = std::max(worst, std::abs(products_(i, j)) / std::sqrt(rows));
      worst = std::max(worst, std::abs(products_(i, i) - rows) / std::sqrt(2 * rows));
      squares += products_(i, i);
    }
    const double count = rows * static_cast<double>(n_);
    return std::max(worst, std::abs(squares - count) / std::sqrt(2 * count));
  }
  double moments_limit() const {
    return normal_limit(static_cast<std::int64_t>(n_ + n_ * (n_ + 1) / 2 + 1));
  }

  // Kolmogorov's distance of all numbers from the normal law, and Massart's limit for it.
  double distance() {
    std::sort(all_.begin(), all_.end());
    const auto count = static_cast<double>(all_.size());
    double worst = 0;
    for (std::size_t k = 0; k < all_.size(); ++k) {
      const double expected = 0.5 * std::erfc(-all_[k] / std::sqrt(2.0)),
                   below = static_cast<double>(k) / count;
      worst = std::max({worst, expected - below, below + 1 / count - expected});
    }
    return worst;
  }
  double distance_limit() const {
    return std::sqrt(std::log(2 / false_alarm_rate) / (2 * static_cast<double>(all_.size())));
  }

 private:
  std::size_t n_;
  std::vector<double> means_;
  Matrix products_;
  std::int64_t rows_ = 0;
  std::vector<double> all_;
};

// Starts in the exact law; how white the chains are after 1 and after 100 steps.
std::array<Whiteness, 2> run_in_law(const Case& c, const Recipe& recipe) {
  const Matrix l = cholesky_factor(c.expected.stationary());
  const std::int64_t chains = 500000 / static_cast<std::int64_t>(l.n);
  std::array<Whiteness, 2> result{Whiteness(l.n), Whiteness(l.n)};
  Population population(c, recipe);
  for (std::int64_t b = 0; b < chains / Population::block; ++b) {
    const Table xi = normal_table(Population::block, static_cast<std::int64_t>(l.n),
                                  c.seed + 1 + static_cast<std::uint64_t>(b), 1);
    population.place(coloured(xi, l));
    population.advance(1);
    result[0].add(whitened(population.state(), l));
    population.advance(99);
    result[1].add(whitened(population.state(), l));
  }
  return result;
}

// Every D with its noise's variance multiplied, drift untouched.
Recipe with_noise(const Dynamics& dynamics, double factor) {
  Recipe recipe = complete_recipe(dynamics);
  const auto right = recipe.terms;
  recipe.terms = [=](StepBuilder& step, const State& state, std::size_t k) {
    Terms terms = right(step, state, k);
    if (terms.diffusion) terms.diffusion = factor * terms.diffusion;
    return terms;
  };
  return recipe;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(laws)

BOOST_AUTO_TEST_CASE(chains_that_start_in_the_exact_law_stay_in_it) {
  for (const Case& c : cases()) {
    auto times = run_in_law(c, complete_recipe(c.dynamics));
    for (Whiteness& white : times) {
      const double moments = white.moments(), distance = white.distance();
      BOOST_TEST_MESSAGE(fmt::format(
          "{}, d = {}: moments {:.2f} of {:.2f}, distance {:.2g} of {:.2g}", c.name, c.dimension,
          moments, white.moments_limit(), distance, white.distance_limit()));
      BOOST_TEST(moments < white.moments_limit(), c.name);
      BOOST_TEST(distance < white.distance_limit(), c.name);
    }
  }
}

BOOST_AUTO_TEST_CASE(two_percent_of_wrong_noise_would_be_seen) {
  for (const Case& c : cases()) {
    if (c.dimension != 10 || c.name == "sghmc, noise known") continue;
    auto times = run_in_law(c, with_noise(c.dynamics, 0.98));
    BOOST_TEST(times[1].moments() > times[1].moments_limit(), c.name);
  }
}

BOOST_AUTO_TEST_CASE(the_law_of_another_step_size_would_be_seen_to_be_wrong) {
  // A test against the posterior, the law of step size zero, would reject these right samplers.
  Case c = cases()[1];
  c.expected = hamiltonian(c.dimension, 1e-4, 1, 1.5, 1, 0);
  auto times = run_in_law(c, complete_recipe(c.dynamics));
  BOOST_TEST(times[1].moments() > 2 * times[1].moments_limit());
  BOOST_TEST(times[1].distance() > times[1].distance_limit());
}

BOOST_AUTO_TEST_CASE(means_relax_by_the_powers_of_the_step) {
  constexpr std::int64_t times = 20, between = 5, chains = 5000;
  for (const Case& c : cases()) {
    const std::size_t n = c.expected.a.n;
    Table start(Population::block, static_cast<std::int64_t>(n));
    for (std::size_t i = 0; i < start.values.size(); ++i)
      start.values[i] = 2 * std::cos(static_cast<double>(i % n));
    std::vector<std::vector<double>> sums(times, std::vector<double>(n));
    Population population(c, complete_recipe(c.dynamics));
    for (std::int64_t b = 0; b < chains / Population::block; ++b) {
      population.place(start);
      for (std::vector<double>& sum : sums) {
        population.advance(between);
        const Table z = population.state();
        for (std::size_t i = 0; i < z.values.size(); ++i) sum[i % n] += z.values[i];
      }
    }

    double worst = 0;
    std::vector<double> mean(start.row(0), start.row(0) + n);
    Matrix covariance(n);
    for (std::int64_t t = 1; t <= times * between; ++t) {
      std::vector<double> next(n);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) next[i] += c.expected.a(i, j) * mean[j];
      mean = next;
      covariance = c.expected.a * covariance * transposed(c.expected.a) + c.expected.b;
      if (t % between != 0) continue;
      const std::vector<double>& sum = sums[static_cast<std::size_t>(t / between - 1)];
      for (std::size_t i = 0; i < n; ++i)
        worst = std::max(
            worst, std::abs(sum[i] / chains - mean[i]) / std::sqrt(covariance(i, i) / chains));
    }
    BOOST_TEST_MESSAGE(fmt::format("{}, d = {}: largest |z| {:.2f}", c.name, c.dimension, worst));
    BOOST_TEST(worst < normal_limit(times * static_cast<std::int64_t>(n)), c.name);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
