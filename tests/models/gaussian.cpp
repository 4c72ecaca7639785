// Gaussian targets and the shapes made of them: energies, gradients, exact draws.
#include "models/gaussian.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numbers>

#include "autodiff/numeric.hpp"
#include "autodiff/tape.hpp"
#include "engine/evaluate.hpp"
#include "engine/ops.hpp"
#include "engine/passes.hpp"
#include "models/banana.hpp"
#include "models/mixture.hpp"
#include "tests/support/errors.hpp"

using namespace whorl;
using boost::test_tools::tolerance;
using whorl::testing::error_text;

namespace {

const double centre[2] = {1, -2}, covariance[4] = {2, 0.3, 0.3, 0.5};

// The energies of rows of states.
template <class Target>
std::vector<double> energies(const Target& target, const Tensor& states) {
  Graph graph;
  const Value x = input(graph, "x", states.type());
  const Tensor u = evaluate(graph, {{"x", states}}, {target.energy(x).id}).front();
  std::vector<double> result;
  for (std::int64_t i = 0; i < u.elements(); ++i) result.push_back(u.at(i));
  return result;
}

template <class Target>
double energy_at(const Target& target, double a, double b) {
  return energies(target, Tensor::of<double>({2}, {a, b})).front();
}

template <class Target>
double gradient_error(const Target& target, double a, double b) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {2}});
  const Value u = target.energy(x);
  return check_gradient(graph, {{"x", Tensor::of<double>({2}, {a, b})}}, u.id, {x.id}).worst;
}

// The integral of exp(-U) over a grid.
template <class Target>
double total_mass(const Target& target, double reach, int steps) {
  const double width = 2 * reach / steps;
  Tensor grid({DType::f64, {steps * steps, 2}});
  for (int i = 0; i < steps; ++i)
    for (int j = 0; j < steps; ++j) {
      grid.data<double>()[2 * (i * steps + j)] = -reach + (i + 0.5) * width;
      grid.data<double>()[2 * (i * steps + j) + 1] = -reach + (j + 0.5) * width;
    }
  double mass = 0;
  for (double u : energies(target, grid)) mass += std::exp(-u) * width * width;
  return mass;
}

// Identity of Stein: E[grad U(x) . x] = d for draws of exp(-U); in standard errors.
template <class Target>
double stein_identity_z(const Target& target, std::int64_t count) {
  const Tensor draws = target.draw(count, 3);
  Graph graph;
  const Value x = input(graph, "x", draws.type());
  const Value products = sum(gradient(sum(target.energy(x)), x) * x, {1});
  const Tensor values = evaluate(graph, {{"x", draws}}, {products.id}).front();
  double total = 0, squares = 0;
  for (double v : values.values<double>()) {
    total += v - 2;
    squares += (v - 2) * (v - 2);
  }
  return total / std::sqrt(squares);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gaussian)

BOOST_AUTO_TEST_CASE(the_energy_is_minus_the_log_density) {
  const Gaussian target(centre, covariance);
  const double determinant = 2 * 0.5 - 0.09, a = 0.7, b = 1.1;  // a, b: away from the mean
  const double form = (0.5 * a * a - 2 * 0.3 * a * b + 2 * b * b) / determinant;
  const double expected = 0.5 * form + std::log(2 * std::numbers::pi) + 0.5 * std::log(determinant);
  BOOST_TEST(energy_at(target, 1 + a, -2 + b) == expected, tolerance(1e-14));
  BOOST_TEST(target.log_determinant() == std::log(determinant), tolerance(1e-14));
  BOOST_TEST(total_mass(target, 12, 400) == 1.0, tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(one_energy_serves_a_state_rows_of_states_and_a_batch) {
  const Gaussian target(centre, covariance);
  const Tensor states = Tensor::of<double>({3, 2}, {0, 0, 1, 5, -2, 0.5});
  const std::vector<double> rows = energies(target, states);
  Graph graph;
  graph.add_output("u", target.energy(input(graph, "x", {DType::f64, {2}})).id);
  const Tensor batched = evaluate(batch(graph, {"x"}, 3), {{"x", states}}).at("u");
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(rows[i] == energy_at(target, states.at(2 * i), states.at(2 * i + 1)),
               tolerance(1e-15));
    BOOST_TEST(rows[i] == batched.at(i), tolerance(1e-15));
  }
}

BOOST_AUTO_TEST_CASE(gradients_are_differences) {
  const Gaussian target(centre, covariance);
  BOOST_TEST(gradient_error(target, 0.3, 0.4) < 1e-9);
  const double far[2] = {4, 1};
  BOOST_TEST(gradient_error(GaussianMixture(0.3, target, Gaussian(far, covariance)), 2, 0) < 1e-9);
  BOOST_TEST(gradient_error(Banana(), 1.5, 0.4) < 1e-9);
}

BOOST_AUTO_TEST_CASE(draws_have_the_mean_and_the_covariance) {
  const Gaussian target(centre, covariance);
  constexpr int count = 200000;
  const Tensor draws = target.draw(count, 11);
  double sums[2] = {}, squares[3] = {};
  for (int i = 0; i < count; ++i) {
    const double a = draws.at(2 * i) - centre[0], b = draws.at(2 * i + 1) - centre[1];
    sums[0] += a, sums[1] += b;
    squares[0] += a * a, squares[1] += b * b, squares[2] += a * b;
  }
  const double n = count, limit = 5.85;
  BOOST_TEST(std::abs(sums[0]) < limit * std::sqrt(n * 2));
  BOOST_TEST(std::abs(sums[1]) < limit * std::sqrt(n * 0.5));
  BOOST_TEST(std::abs(squares[0] - n * 2) < limit * std::sqrt(n * 2) * 2);
  BOOST_TEST(std::abs(squares[1] - n * 0.5) < limit * std::sqrt(n * 2) * 0.5);
  BOOST_TEST(std::abs(squares[2] - n * 0.3) < limit * std::sqrt(n * (2 * 0.5 + 0.09)));
}

BOOST_AUTO_TEST_CASE(draws_are_of_the_law_that_the_energy_tells) {
  const double left[2] = {-2, 0}, right[2] = {2, 1};
  const GaussianMixture mixture(0.3, Gaussian(left, covariance), Gaussian(right, covariance));
  BOOST_TEST(std::abs(stein_identity_z(Gaussian(centre, covariance), 100000)) < 5.85);
  BOOST_TEST(std::abs(stein_identity_z(mixture, 100000)) < 5.85);
  BOOST_TEST(std::abs(stein_identity_z(Banana(), 100000)) < 5.85);
  // Draws of one law and the energy of another do not pass.
  struct Mismatch {
    Value energy(Value x) const { return Banana(2, 0.25).energy(x); }
    Tensor draw(std::int64_t count, std::uint64_t seed) const {
      return Banana(2, 0.3).draw(count, seed);
    }
  };
  BOOST_TEST(std::abs(stein_identity_z(Mismatch(), 100000)) > 5.85);
}

BOOST_AUTO_TEST_CASE(mixture_and_banana_have_the_mass_one) {
  const double left[2] = {-2, 0}, right[2] = {2, 1};
  const GaussianMixture mixture(0.3, Gaussian(left, covariance), Gaussian(right, covariance));
  BOOST_TEST(total_mass(mixture, 14, 500) == 1.0, tolerance(1e-9));
  BOOST_TEST(total_mass(Banana(1, 0.25), 16, 500) == 1.0, tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(a_mixture_draws_its_parts_by_their_weights) {
  const double left[2] = {-50, 0}, right[2] = {50, 0};
  const GaussianMixture mixture(0.3, Gaussian(left, covariance), Gaussian(right, covariance));
  const Tensor draws = mixture.draw(10000, 1);
  int on_the_left = 0;
  for (int i = 0; i < 10000; ++i) on_the_left += draws.at(2 * i) < 0;
  BOOST_TEST(std::abs(on_the_left - 3000) < 5.85 * std::sqrt(10000 * 0.3 * 0.7));
}

BOOST_AUTO_TEST_CASE(far_from_all_modes_a_mixture_stays_finite) {
  const GaussianMixture mixture(0.5, Gaussian(centre, covariance), Gaussian(centre, covariance));
  BOOST_TEST(energy_at(mixture, 1e3, 1e3) == energy_at(mixture.first(), 1e3, 1e3),
             tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(random_covariances_have_the_stated_scale) {
  double trace = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<double> a = random_covariance(20, 0.6, seed);
    const std::vector<double> zeros(20, 0.0);
    const Gaussian checked(zeros, a);  // throws unless it is symmetric and positive definite
    for (int i = 0; i < 20; ++i) trace += a[i * 21];
  }
  // A variance is 0.36 times a chi-square variable of 20 degrees: mean 7.2, variance 0.36^2 * 40.
  BOOST_TEST(std::abs(trace / 1000 - 7.2) < 5.85 * 0.36 * std::sqrt(40.0 / 1000));
  BOOST_TEST((random_covariance(3, 1, 1) != random_covariance(3, 1, 2)));
}

BOOST_AUTO_TEST_CASE(diagonal_covariances_are_diagonal_and_not_singular) {
  const std::vector<double> a = diagonal_covariance(2000, 0.5, 4);
  double smallest = 1, largest = 0, off = 0;
  for (int i = 0; i < 2000; ++i)
    for (int j = 0; j < 2000; ++j) {
      const double v = a[i * 2000 + j];
      if (i != j) {
        off += std::abs(v);
      } else {
        smallest = std::min(smallest, v);
        largest = std::max(largest, v);
      }
    }
  BOOST_TEST(off == 0.0);
  BOOST_TEST(smallest >= 0.5e-3);
  BOOST_TEST(largest < 0.5);
  BOOST_TEST(largest > 0.49);
}

BOOST_AUTO_TEST_CASE(what_is_no_covariance_is_refused) {
  const double skew[4] = {1, 0.2, 0.1, 1}, indefinite[4] = {1, 2, 2, 1};
  BOOST_TEST(error_text([&] { Gaussian(centre, std::span(covariance).first(3)); }) ==
             "[gaussian] the mean has 2 numbers and the covariance 3; expected d and d*d");
  BOOST_TEST(error_text([&] { Gaussian(centre, skew); }) ==
             "[gaussian] the covariance is not symmetric: element (1,0) is 0.1 and (0,1) is 0.2");
  BOOST_TEST(error_text([&] { Gaussian(centre, indefinite); }) ==
             "[gaussian] the covariance, 2 x 2, is not positive definite");
  const double nan[4] = {NAN, 0, 0, 1};
  BOOST_TEST(error_text([&] { Gaussian(centre, nan); }) ==
             "[gaussian] the covariance, 2 x 2, is not positive definite");
  Graph graph;
  const Value wrong = input(graph, "x", {DType::f32, {3}});
  BOOST_TEST(error_text([&] { Gaussian(centre, covariance).energy(wrong); }) ==
             "[gaussian] the state is f32[3]; expected a floating-point [2] or rows of it");
  BOOST_TEST(error_text([&] { Banana().energy(wrong); }) ==
             "[banana] the state is f32[3]; expected a floating-point [2] or rows of it");
  const Gaussian part(centre, covariance);
  BOOST_TEST(error_text([&] { GaussianMixture(1, part, part); }) ==
             "[gaussian_mixture] the weight of the first part is 1; expected a number between 0 "
             "and 1");
}

BOOST_AUTO_TEST_SUITE_END()
