// Regressions: energies against loops, minibatches against the whole, the exact posterior.
#include "models/regression.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numbers>

#include "autodiff/numeric.hpp"
#include "autodiff/tape.hpp"
#include "engine/evaluate.hpp"
#include "engine/ops.hpp"
#include "engine/random.hpp"
#include "tests/support/errors.hpp"

using namespace whorl;
using boost::test_tools::tolerance;
using whorl::testing::error_text;

namespace {

constexpr int rows = 12, k = 3;

Tensor normals(const Shape& shape, std::uint32_t stream) {
  Tensor x({DType::f64, shape});
  fill_normal<double>({.seed = 1, .stream = stream}, 0, x.values<double>());
  return x;
}

struct Fixture {
  Graph graph;
  Value x = input(graph, "x", {DType::f64, {rows, k}});
  Value y = input(graph, "y", {DType::f64, {rows}});
  Value w = input(graph, "w", {DType::f64, {k}}, "parameter");
  Feeds feeds{{"x", normals({rows, k}, 0)}, {"y", normals({rows}, 1)}, {"w", normals({k}, 2)}};

  Fixture() {
    Tensor& labels = feeds.at("y");
    binary = labels.clone();
    for (double& v : binary.values<double>()) v = v > 0 ? 1 : 0;
  }
  Tensor binary;
  double value(Value v) const { return evaluate(graph, feeds, {v.id}).front().at(0); }
  double projection(int row) const {
    double z = 0;
    for (int j = 0; j < k; ++j) z += feeds.at("x").at(row * k + j) * feeds.at("w").at(j);
    return z;
  }
  double minus_log_normal(double delta, double sd) const {
    return 0.5 * delta * delta / (sd * sd) + std::log(sd * std::sqrt(2 * std::numbers::pi));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(regression, Fixture)

BOOST_AUTO_TEST_CASE(a_linear_energy_is_minus_the_log_joint) {
  const EnergyTerms terms = LinearRegression{.prior_sd = 2, .noise_sd = 0.5}.energy(w, x, y);
  double prior = 0, likelihood = 0;
  for (int j = 0; j < k; ++j) prior += minus_log_normal(feeds.at("w").at(j), 2);
  for (int i = 0; i < rows; ++i)
    likelihood += minus_log_normal(feeds.at("y").at(i) - projection(i), 0.5);
  BOOST_TEST(value(terms.prior) == prior, tolerance(1e-14));
  BOOST_TEST(value(terms.likelihood) == likelihood, tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(a_logistic_energy_is_minus_the_log_joint) {
  feeds.insert_or_assign("y", binary);
  const EnergyTerms terms = LogisticRegression{.prior_sd = 2}.energy(w, x, y);
  double likelihood = 0;
  for (int i = 0; i < rows; ++i) {
    const double p = 1 / (1 + std::exp(-projection(i)));
    likelihood -= std::log(binary.at(i) == 1 ? p : 1 - p);
  }
  BOOST_TEST(value(terms.likelihood) == likelihood, tolerance(1e-14));
  const Value u = minibatch_energy(terms, rows, rows);
  BOOST_TEST(check_gradient(graph, feeds, u.id, {w.id}).worst < 1e-9);
}

BOOST_AUTO_TEST_CASE(the_mean_over_disjoint_minibatches_is_the_whole) {
  const LinearRegression model{.noise_sd = 0.7};
  const Value whole = gradient(minibatch_energy(model.energy(w, x, y), rows, rows), w);
  Value sum_of_parts;
  for (int part = 0; part < 4; ++part) {
    const auto cut = [&](Value v) { return slice(v, 0, 3 * part, 3 * part + 3); };
    const Value g = gradient(minibatch_energy(model.energy(w, cut(x), cut(y)), 3, rows), w);
    sum_of_parts = sum_of_parts ? sum_of_parts + g : g;
  }
  const std::vector<Tensor> values = evaluate(graph, feeds, {whole.id, (sum_of_parts / 4.0).id});
  for (int j = 0; j < k; ++j) BOOST_TEST(values[0].at(j) == values[1].at(j), tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(the_exact_posterior_differs_from_the_energy_by_a_constant) {
  const LinearRegression model{.prior_sd = 1.5, .noise_sd = 0.6};
  const Gaussian posterior = model.posterior(feeds.at("x"), feeds.at("y"));
  const Value difference =
      minibatch_energy(model.energy(w, x, y), rows, rows) - posterior.energy(w);
  const double here = value(difference);
  feeds.insert_or_assign("w", normals({k}, 77));
  BOOST_TEST(value(difference) == here, tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
  BOOST_TEST(error_text([&] { LogisticRegression{}.energy(y, x, y); }) ==
             "[logistic_regression] the types do not fit: w=f64[12] x=f64[12,3] y=f64[12]; "
             "expected w [k], x [rows,k], y [rows]");
  BOOST_TEST(error_text([&] { LinearRegression{.noise_sd = 0}.energy(w, x, y); }) ==
             "[linear_regression] the noise has the standard deviation 0; expected a positive "
             "number");
  BOOST_TEST(error_text([&] { normal_prior(w, -1); }) ==
             "[normal_prior] the standard deviation is -1; expected a positive number");
  BOOST_TEST(error_text([&] {
               minibatch_energy({w, w}, 13, 12);
             }) ==
             "[minibatch_energy] the minibatch has 13 rows; expected 1 to 12, the rows of the data "
             "set");
  BOOST_TEST(error_text([&] { LinearRegression{}.posterior(feeds.at("y"), feeds.at("y")); }) ==
             "[linear_regression] the types do not fit: x=f64[12] y=f64[12]; expected "
             "x f64[rows,k], y f64[rows]");
}

BOOST_AUTO_TEST_SUITE_END()
