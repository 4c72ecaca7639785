// The Stein score against independent numbers, against loops, and at the edges.
#include "losses/stein.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>

#include "autodiff/tape.hpp"
#include "engine/compile.hpp"
#include "engine/executor.hpp"
#include "tests/losses/clouds.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/vectors/stein.hpp"

using namespace whorl;
using namespace whorl::testing;

namespace {

// A X = B by Gauss-Jordan elimination with pivots; A [k,k], B [k,n].
void eliminate(std::vector<double> a, std::vector<double>& b, int k, int n) {
  for (int c = 0; c < k; ++c) {
    int pivot = c;
    for (int r = c; r < k; ++r)
      if (std::abs(a[r * k + c]) > std::abs(a[pivot * k + c])) pivot = r;
    std::swap_ranges(&a[c * k], &a[c * k] + k, &a[pivot * k]);
    if (pivot != c) std::swap_ranges(&b[c * n], &b[c * n] + n, &b[pivot * n]);
    for (int r = 0; r < k; ++r) {
      if (r == c) continue;
      const double factor = a[r * k + c] / a[c * k + c];
      for (int j = 0; j < k; ++j) a[r * k + j] -= factor * a[c * k + j];
      for (int j = 0; j < n; ++j) b[r * n + j] -= factor * b[c * n + j];
    }
  }
  for (int r = 0; r < k; ++r)
    for (int j = 0; j < n; ++j) b[r * n + j] /= a[r * k + r];
}

// The definition, written with loops.
std::vector<double> score_by_loops(const Tensor& points, double ridge) {
  const int k = static_cast<int>(points.shape()[0]), n = static_cast<int>(points.shape()[1]);
  const auto x = [&](int i, int c) { return points.at(i * n + c); };
  std::vector<double> d2(static_cast<std::size_t>(k * k), 0.0), kernel(d2), pulls(k * n, 0.0);
  for (int i = 0; i < k; ++i)
    for (int j = 0; j < k; ++j)
      for (int c = 0; c < n; ++c) d2[i * k + j] += (x(i, c) - x(j, c)) * (x(i, c) - x(j, c));
  std::vector<double> sorted = d2;
  std::sort(sorted.begin(), sorted.end());
  const double middle = sorted[(k * k - 1) / 2];
  for (int i = 0; i < k; ++i)
    for (int j = 0; j < k; ++j) {
      kernel[i * k + j] = std::exp(-d2[i * k + j] / middle);
      for (int c = 0; c < n; ++c)
        pulls[i * n + c] -= kernel[i * k + j] * (x(i, c) - x(j, c)) / (middle / 2);
    }
  for (int i = 0; i < k; ++i) kernel[i * k + i] += ridge;
  eliminate(kernel, pulls, k, n);
  return pulls;
}

Tensor moved(const Tensor& points, double by) {
  Tensor result = points.clone();
  for (double& x : result.values<double>()) x += by;
  return result;
}

Tensor converted_to_f32(const Tensor& points) {
  Tensor result({DType::f32, points.shape()});
  std::copy_n(points.data<double>(), points.elements(), result.data<float>());
  return result;
}

Tensor repeated(const std::vector<std::vector<double>>& rows) {
  Tensor x(
      {DType::f64,
       {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows.front().size())}});
  double* to = x.data<double>();
  for (const auto& row : rows) to = std::copy(row.begin(), row.end(), to);
  return x;
}

bool is_finite(const Tensor& x) {
  for (std::int64_t i = 0; i < x.elements(); ++i)
    if (!std::isfinite(x.at(i))) return false;
  return true;
}

// Mean square error of the score of K draws of N(0, I), relative to its mean square.
double gaussian_error(std::int64_t count, std::uint64_t seed) {
  const Tensor x = normal_tensor(count, 3, seed), score = score_of(x);
  double error = 0, scale = 0;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    error += (score.at(i) + x.at(i)) * (score.at(i) + x.at(i));
    scale += x.at(i) * x.at(i);
  }
  return error / scale;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stein)

BOOST_AUTO_TEST_CASE(scores_are_those_of_an_independent_program) {
  const Tensor x = Tensor::of<double>({6, 3}, stein_vectors::points);
  BOOST_TEST(largest_difference(score_of(x, 0.03), stein_vectors::score_003) < 1e-12);
  BOOST_TEST(largest_difference(score_of(x, 0.05), stein_vectors::score_005) < 1e-12);
}

BOOST_AUTO_TEST_CASE(the_median_counts_the_zeros_of_the_diagonal) {
  Graph graph;
  const Value x = constant(graph, Tensor::of<double>({6, 3}, stein_vectors::points));
  const Value middle = median(squared_distances(x));
  BOOST_TEST(std::abs(evaluate(graph, {}, {middle.id}).front().at(0) - stein_vectors::median) <
             1e-13);
}

BOOST_AUTO_TEST_CASE(scores_are_those_of_plain_loops) {
  for (const auto& [count, size] : {std::pair{3, 1}, {5, 2}, {17, 4}, {50, 10}}) {
    const Tensor x = normal_tensor(count, size, 7);
    BOOST_TEST(largest_difference(score_of(x), score_by_loops(x, 0.03)) < 1e-10);
  }
}

BOOST_AUTO_TEST_CASE(distances_are_never_negative_and_zero_on_the_diagonal) {
  Graph graph;
  const Value x = constant(graph, converted_to_f32(moved(normal_tensor(20, 5, 3), 1e3)));
  const Tensor d2 = evaluate(graph, {}, {squared_distances(x).id}).front();
  for (int i = 0; i < 20; ++i) {
    BOOST_TEST(d2.at(i * 20 + i) == 0.0);
    for (int j = 0; j < 20; ++j) BOOST_TEST(d2.at(i * 20 + j) >= 0.0);
  }
}

BOOST_AUTO_TEST_CASE(chains_in_another_order_have_the_same_scores) {
  const Tensor x = normal_tensor(20, 3, 11), score = score_of(x);
  const std::vector<std::int32_t> order = permutation({.seed = 5}, 20);
  Tensor shuffled({DType::f64, {20, 3}});
  std::vector<double> expected(60);
  for (int i = 0; i < 20; ++i)
    for (int c = 0; c < 3; ++c) {
      shuffled.data<double>()[i * 3 + c] = x.at(order[i] * 3 + c);
      expected[i * 3 + c] = score.at(order[i] * 3 + c);
    }
  BOOST_TEST(largest_difference(score_of(shuffled), expected) < 1e-12);
}

BOOST_AUTO_TEST_CASE(more_chains_know_the_score_of_a_gaussian_better) {
  double errors[3] = {0, 0, 0};
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    for (int i = 0; i < 3; ++i) errors[i] += gaussian_error(std::int64_t{25} << (2 * i), seed) / 8;
  BOOST_TEST(errors[1] < 0.8 * errors[0]);
  BOOST_TEST(errors[2] < 0.8 * errors[1]);
  BOOST_TEST(errors[2] < 0.5);
}

BOOST_AUTO_TEST_CASE(a_cloud_far_from_the_origin_keeps_its_scores) {
  const Tensor x = converted_to_f32(moved(normal_tensor(50, 10, 13), 1e4));
  Tensor same({DType::f64, x.shape()});
  std::copy_n(x.data<float>(), x.elements(), same.data<double>());
  const Tensor exact = score_of(same);
  BOOST_TEST(largest_difference(score_of(x), exact.values<double>()) < 2e-3);
  // The distances themselves lose nothing but the last bits.
  Graph graph;
  const Value a = squared_distances(constant(graph, x));
  const Value b = squared_distances(constant(graph, same));
  const std::vector<Tensor> d2 = evaluate(graph, {}, {a.id, b.id});
  BOOST_TEST(largest_difference(d2[0], d2[1].values<double>()) < 1e-4);
}

BOOST_AUTO_TEST_CASE(equal_chains_have_the_score_zero) {
  for (double place : {0.0, 0.1, -1234.567}) {
    const Tensor score = score_of(repeated(std::vector<std::vector<double>>(7, {place, 1 / 3.0})));
    BOOST_TEST(largest_difference(score, std::vector<double>(14, 0.0)) == 0.0);
  }
}

BOOST_AUTO_TEST_CASE(a_cloud_with_the_median_zero_still_has_a_score) {
  // Two points: the lower median of {0, 0, d2, d2} is 0. The mean takes its place.
  const Tensor pair = score_of(repeated({{1.0, 0.0}, {-1.0, 0.0}}));
  BOOST_TEST(is_finite(pair));
  BOOST_TEST(pair.at(0) < 0.0);  // the density falls outwards
  BOOST_TEST(pair.at(2) > 0.0);
  // Most chains in one place, in a precision that cannot tell them apart from noise.
  std::vector<std::vector<double>> rows(10, {0.1, 0.7, -0.3});
  rows[3] = {5, 1, 2};
  BOOST_TEST(is_finite(score_of(repeated(rows))));
  const Tensor collapsed = score_of(converted_to_f32(repeated(rows)));
  BOOST_TEST(largest_difference(collapsed, std::vector<double>(30, 0.0)) < 10.0);
}

BOOST_AUTO_TEST_CASE(a_chain_that_left_for_infinity_is_a_numeric_error) {
  for (double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Tensor x = normal_tensor(5, 2, 1);
    x.data<double>()[3] = bad;
    BOOST_CHECK_EXCEPTION(score_of(x), Error,
                          [](const Error& e) { return e.kind() == ErrorKind::numeric; });
  }
}

BOOST_AUTO_TEST_CASE(no_gradient_flows_through_a_score) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {4, 2}});
  const Value g = gradient(sum(stein_score(x)), x, {.allow_unused = true});
  const Tensor zeros = evaluate(graph, {{"x", normal_tensor(4, 2, 1)}}, {g.id}).front();
  BOOST_TEST(largest_difference(zeros, std::vector<double>(8, 0.0)) == 0.0);
}

BOOST_AUTO_TEST_CASE(a_compiled_score_is_the_plain_one) {
  const Tensor points = normal_tensor(20, 300, 17);
  Graph graph;
  const Value x = input(graph, "x", points.type());
  graph.add_output("score", stein_score(x).id);
  Executor executor(compile(graph), {.threads = 2});
  executor.bind("x", points);
  executor.run();
  const Tensor plain = score_of(points);
  BOOST_TEST(largest_difference(executor.output("score"), plain.values<double>()) < 1e-12);
}

BOOST_AUTO_TEST_CASE(points_that_are_no_cloud_are_refused) {
  Graph graph;
  const Value one = input(graph, "one", {DType::f32, {1, 3}});
  const Value vector = input(graph, "vector", {DType::f32, {3}});
  BOOST_TEST(error_text([&] { stein_score(one); }) ==
             "[stein_score] the points are f32[1,3]; expected a floating-point "
             "[points,coordinates] with at least 2 points");
  BOOST_TEST(error_text([&] { squared_distances(vector); }) ==
             "[squared_distances] the points are f32[3]; expected a floating-point "
             "[points,coordinates] with at least 2 points");
  const Value two = input(graph, "two", {DType::f32, {2, 3}});
  BOOST_TEST(error_text([&] { stein_score(two, {0.0}); }) ==
             "[stein_score] the ridge is 0; expected a positive number");
}

BOOST_AUTO_TEST_SUITE_END()
