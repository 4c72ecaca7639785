// The normal quantile function against values of 40 digits, in every range of its formulas.
#include "diagnostics/normal_quantile.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <utility>

using namespace whorl;

BOOST_AUTO_TEST_SUITE(normal_quantiles)

BOOST_AUTO_TEST_CASE(they_are_those_of_many_digits) {
  // Of the doubles next to these p; Newton's method on log erfc with 40 digits.
  const std::pair<double, double> exact[] = {
      {1e-300, -37.047096299361199237},  {1e-100, -21.273453560965324294},
      {1e-20, -9.2623400897984075796},   {1e-12, -7.0344838253011319326},
      {1.4e-11, -6.6567230915181836356}, {1e-6, -4.7534243088228989573},
      {0.001, -3.0902323061678135354},   {0.02, -2.0537489106318230443},
      {0.05, -1.644853626951472688},     {0.075, -1.4395314709384559349},
      {0.0751, -1.4388253927525399824},  {0.1, -1.2815515655446004353},
      {0.25, -0.6744897501960817432},    {0.4999, -0.00025066283008800749239},
      {0.7, 0.52440051270804065631},     {0.925, 1.4395314709384562291},
      {0.95, 1.6448536269514722843},     {0.999999, 4.7534243088170877657}};
  for (const auto& [p, z] : exact)
    BOOST_TEST(normal_quantile(p) == z, boost::test_tools::tolerance(1e-15));
}

BOOST_AUTO_TEST_CASE(they_invert_the_distribution_function) {
  for (int i = 1; i < 4000; ++i) {
    const double p = i / 4000.0;
    BOOST_TEST(std::erfc(-normal_quantile(p) / std::sqrt(2.0)) / 2 == p,
               boost::test_tools::tolerance(1e-14));
  }
}

BOOST_AUTO_TEST_CASE(the_ends_are_infinite_and_nothing_lies_beyond) {
  BOOST_TEST(normal_quantile(0.5) == 0.0);
  BOOST_TEST(normal_quantile(0) == -INFINITY);
  BOOST_TEST(normal_quantile(1) == INFINITY);
  BOOST_TEST(std::isnan(normal_quantile(-0.1)));
  BOOST_TEST(std::isnan(normal_quantile(1.1)));
  BOOST_TEST(std::isnan(normal_quantile(NAN)));
}

BOOST_AUTO_TEST_SUITE_END()
