// The elementary functions: their errors, their limits, and the same bits in vectors and alone.
#include "engine/kernels/vmath.hpp"

#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "engine/floating_point.hpp"

namespace whorl {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float smallest = std::numeric_limits<float>::min();
const float nan = std::numeric_limits<float>::quiet_NaN();

struct Function {
  const char* name;
  void (*many)(const float* x, float* y, std::size_t n);  // a loop that becomes vector code
  float (*one)(float);
  double (*exact)(double);
  double limit;  // arguments up to this size are compared
};

template <float (*F)(float)>
void loop(const float* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = F(x[i]);
}

float sigmoid(float x) { return vmath::sigmoid(x); }
float softplus(float x) { return vmath::softplus(x); }
double exact_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double exact_softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

const std::vector<Function>& functions() {
  static const std::vector<Function> all{
      {"exp", loop<vmath::exp>, vmath::exp, std::exp, HUGE_VAL},
      {"expm1", loop<vmath::expm1>, vmath::expm1, std::expm1, HUGE_VAL},
      {"log", loop<vmath::log>, vmath::log, std::log, HUGE_VAL},
      {"log1p", loop<vmath::log1p>, vmath::log1p, std::log1p, HUGE_VAL},
      {"tanh", loop<vmath::tanh>, vmath::tanh, std::tanh, HUGE_VAL},
      {"sigmoid", loop<sigmoid>, sigmoid, exact_sigmoid, HUGE_VAL},
      {"softplus", loop<softplus>, softplus, exact_softplus, HUGE_VAL},
      {"sin", loop<vmath::sin>, vmath::sin, std::sin, 0x1p50},
      {"cos", loop<vmath::cos>, vmath::cos, std::cos, 0x1p50},
  };
  return all;
}

// Floats of all signs and exponents: every 4099th bit pattern, subnormal ones left out.
const std::vector<float>& arguments() {
  static const std::vector<float> all = [] {
    std::vector<float> made;
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 4099) {
      const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      if (x == 0 || !(std::fabs(x) < smallest)) made.push_back(x);
    }
    return made;
  }();
  return all;
}

// The distance in units of the last place of the exact value; subnormal results count as flushed.
double ulps(float found, double exact) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(exact)) return std::isnan(found) ? 0 : HUGE_VAL;
  if (std::isinf(rounded) || std::isinf(found)) return found == rounded ? 0 : HUGE_VAL;
  if (std::fabs(exact) < static_cast<double>(smallest))
    return std::fabs(found) <= smallest ? 0 : HUGE_VAL;
  int exponent = 0;
  std::frexp(exact, &exponent);
  const double error = std::fabs(static_cast<double>(found) - exact);
  return std::isnan(error) ? HUGE_VAL : error / std::ldexp(1.0, exponent - 24);
}

BOOST_AUTO_TEST_SUITE(vmath_functions)

BOOST_AUTO_TEST_CASE(errors_stay_within_two_and_a_half_units_in_the_last_place) {
  for (const Function& f : functions()) {
    const std::vector<float>& x = arguments();
    std::vector<float> y(x.size());
    f.many(x.data(), y.data(), x.size());
    double worst = 0;
    float where = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::fabs(static_cast<double>(x[i])) > f.limit) continue;
      const double error = ulps(y[i], f.exact(static_cast<double>(x[i])));
      if (error > worst) {
        worst = error;
        where = x[i];
      }
    }
    BOOST_TEST(worst <= 2.5, f.name << " is off by " << worst << " ulp at " << where);
  }
}

BOOST_AUTO_TEST_CASE(an_element_has_the_same_bits_in_a_long_loop_and_alone) {
  const FlushDenormals guard;
  const std::vector<float>& x = arguments();
  for (const Function& f : functions()) {
    std::vector<float> y(x.size());
    f.many(x.data(), y.data(), x.size());
    std::size_t differences = 0;
    for (std::size_t i = 0; i < x.size(); i += 7) {
      const auto alone = std::bit_cast<std::uint32_t>(f.one(x[i]));
      differences += alone != std::bit_cast<std::uint32_t>(y[i]) && !std::isnan(y[i]);
    }
    BOOST_TEST(differences == 0u, f.name << " differs in " << differences << " elements");
  }
}

BOOST_AUTO_TEST_CASE(a_nan_stays_a_nan) {
  for (const Function& f : functions()) BOOST_TEST(std::isnan(f.one(nan)), f.name);
}

BOOST_AUTO_TEST_CASE(limits_are_reached_exactly) {
  BOOST_TEST(vmath::exp(-inf) == 0);
  BOOST_TEST(vmath::exp(inf) == inf);
  BOOST_TEST(vmath::exp(0.0f) == 1);
  BOOST_TEST(vmath::exp(-88.0f) == 0);
  BOOST_TEST(vmath::exp(88.73f) == inf);
  BOOST_TEST(std::isfinite(vmath::exp(88.72f)));
  BOOST_TEST(vmath::expm1(-inf) == -1);
  BOOST_TEST(vmath::expm1(inf) == inf);
  BOOST_TEST(vmath::expm1(0.0f) == 0);
  BOOST_TEST(vmath::log(0.0f) == -inf);
  BOOST_TEST(vmath::log(-0.0f) == -inf);
  BOOST_TEST(vmath::log(1.0f) == 0);
  BOOST_TEST(vmath::log(inf) == inf);
  BOOST_TEST(vmath::log(smallest / 4) == -inf);
  BOOST_TEST(std::isnan(vmath::log(-1.0f)));
  BOOST_TEST(std::isnan(vmath::log(-inf)));
  BOOST_TEST(vmath::log1p(-1.0f) == -inf);
  BOOST_TEST(vmath::log1p(inf) == inf);
  BOOST_TEST(std::isnan(vmath::log1p(-1.5f)));
  BOOST_TEST(vmath::log1p(1e-20f) == 1e-20f);
  BOOST_TEST(vmath::tanh(inf) == 1);
  BOOST_TEST(vmath::tanh(-inf) == -1);
  BOOST_TEST(std::signbit(vmath::tanh(-0.0f)));
  BOOST_TEST(vmath::tanh(1e-20f) == 1e-20f);
  BOOST_TEST(vmath::sigmoid(-inf) == 0);
  BOOST_TEST(vmath::sigmoid(inf) == 1);
  BOOST_TEST(vmath::softplus(-inf) == 0);
  BOOST_TEST(vmath::softplus(inf) == inf);
  BOOST_TEST(vmath::softplus(100.0f) == 100);
  BOOST_TEST(vmath::sin(0.0f) == 0);
  BOOST_TEST(vmath::cos(0.0f) == 1);
  BOOST_TEST(std::isnan(vmath::sin(inf)));
  BOOST_TEST(std::isnan(vmath::cos(-inf)));
}

BOOST_AUTO_TEST_CASE(angles_too_large_to_mean_anything_are_nan_and_not_wild_numbers) {
  for (float x : {1e16f, -1e20f, 3e38f}) {
    BOOST_TEST(std::isnan(vmath::sin(x)));
    BOOST_TEST(std::isnan(vmath::cos(x)));
  }
  BOOST_TEST(std::fabs(vmath::sin(1e15f)) <= 1);
}

BOOST_AUTO_TEST_CASE(the_double_versions_of_our_own_agree_with_long_double) {
  for (double x = -700; x < 700; x += 0.37) {
    const long double sigmoid_exact = 1 / (1 + expl(-static_cast<long double>(x)));
    const long double softplus_exact =
        std::max<long double>(x, 0) + log1pl(expl(-fabsl(static_cast<long double>(x))));
    BOOST_TEST(std::fabs(vmath::sigmoid(x) / sigmoid_exact - 1) <= 4e-16L);
    BOOST_TEST(std::fabs(vmath::softplus(x) / softplus_exact - 1) <= 4e-16L);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace whorl
