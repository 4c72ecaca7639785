// Pooled moments and the KL divergence of their Gaussian from a target.
#include "diagnostics/gaussian_kl.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/diagnostics/chains.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/vectors/path.hpp"

using namespace whorl;
using namespace whorl::testing;
using boost::test_tools::tolerance;

namespace {

const double target_mean[2] = {3, 3};

std::vector<double> moved_path(double by) {
  std::vector<double> x(path_vectors::path.begin(), path_vectors::path.end());
  for (double& v : x) v += by;
  return x;
}

PooledMoments added_in_parts(const std::vector<double>& x, std::size_t rows) {
  PooledMoments moments(2);
  for (std::size_t i = 0; i < x.size(); i += 2 * rows)
    moments.add(std::span(x).subspan(i, std::min(2 * rows, x.size() - i)));
  return moments;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gaussian_kl_of_states)

BOOST_AUTO_TEST_CASE(it_is_that_of_an_independent_program) {
  PooledMoments moments(2);
  moments.add(moved_path(3));
  BOOST_TEST(gaussian_kl(moments, target_mean, path_vectors::target_covariance) == path_vectors::kl,
             tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(states_may_come_in_any_parts) {
  const std::vector<double> x = moved_path(0);
  const PooledMoments whole = added_in_parts(x, 300);
  for (std::size_t rows : {1, 7, 299}) {
    const PooledMoments parts = added_in_parts(x, rows);
    BOOST_TEST(parts.count() == 300);
    for (int i = 0; i < 2; ++i) BOOST_TEST(parts.mean()[i] == whole.mean()[i], tolerance(1e-13));
    for (int i = 0; i < 4; ++i)
      BOOST_TEST(parts.covariance()[i] == whole.covariance()[i], tolerance(1e-13));
  }
}

BOOST_AUTO_TEST_CASE(nothing_cancels_far_from_the_origin) {
  const std::vector<double> here = added_in_parts(moved_path(0), 10).covariance();
  const std::vector<double> far = added_in_parts(moved_path(1e8), 10).covariance();
  for (int i = 0; i < 4; ++i) BOOST_TEST(far[i] == here[i], tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(states_of_the_target_are_near_it_and_others_are_not) {
  // For n independent states, 2 n KL has about d(d+3)/2 = 5 degrees of freedom.
  const std::vector<double> x = ar1(0, 20000, 2, 4);
  PooledMoments moments(2);
  moments.add(x);
  const double zero[2] = {0, 0}, identity[4] = {1, 0, 0, 1}, wide[4] = {2, 0, 0, 1};
  BOOST_TEST(gaussian_kl(moments, zero, identity) < 20.0 / 20000);
  BOOST_TEST(gaussian_kl(moments, zero, wide) == 0.5 * (std::log(2.0) - 0.5), tolerance(0.1));
}

BOOST_AUTO_TEST_CASE(floats_are_accumulated_in_double) {
  const std::vector<float> x(std::begin(path_vectors::path), std::end(path_vectors::path));
  PooledMoments moments(2);
  moments.add(x);
  const PooledMoments exact = added_in_parts(moved_path(0), 300);
  for (int i = 0; i < 4; ++i)
    BOOST_TEST(moments.covariance()[i] == exact.covariance()[i], tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(a_singular_covariance_is_infinitely_far) {
  PooledMoments few(2);
  few.add(std::vector<double>{1, 2, 3, 4});
  const double identity[4] = {1, 0, 0, 1};
  BOOST_TEST(std::isinf(gaussian_kl(few, target_mean, identity)));
  PooledMoments still(2);
  still.add(std::vector<double>(20, 1.0));
  BOOST_TEST(std::isinf(gaussian_kl(still, target_mean, identity)));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
  PooledMoments moments(2);
  BOOST_TEST(error_text([&] { moments.add(std::vector<double>(3, 0.0)); }) ==
             "[pooled_moments] the states have 3 numbers; expected a multiple of the dimension 2");
  BOOST_TEST(error_text([&] { moments.covariance(); }) ==
             "[pooled_moments] 0 states have no covariance; expected at least 2");
  const double indefinite[4] = {1, 2, 2, 1};
  BOOST_TEST(error_text([&] { gaussian_kl(moments, target_mean, indefinite); }) ==
             "[gaussian_kl] the target's covariance is not positive definite");
  BOOST_TEST(error_text([&] { gaussian_kl(moments, indefinite, indefinite); }) ==
             "[gaussian_kl] the target's mean has 4 numbers and its covariance 4; expected 2 and "
             "4");
}

BOOST_AUTO_TEST_SUITE_END()
