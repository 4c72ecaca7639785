#include "data/scaling.hpp"

#include <cmath>

#include "tests/data/data_fixture.hpp"

namespace whorl {

namespace {

Dataset set_of(const Tensor& tensor) {
  Dataset data;
  data.add({"x", tensor, "x.npy", {}});
  return data;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(scaling, testing::DataFixture)

BOOST_AUTO_TEST_CASE(numbers_are_divided_then_centred_then_scaled) {
  Dataset data = set_of(Tensor::of<float>({2, 2}, {0, 255, 51, 127.5}));
  Scaling{"x", 255, .5, .25}.apply(data);
  BOOST_TEST(data["x"].same_bits(Tensor::of<float>({2, 2}, {-2, 2, static_cast<float>(-1.2), 0})));
  Dataset wide = set_of(Tensor::of<double>({1}, {3}));
  Scaling{.input = "x", .divisor = -2}.apply(wide);
  BOOST_TEST(wide["x"].same_bits(Tensor::of<double>({1}, {-1.5})));
}

BOOST_AUTO_TEST_CASE(without_numbers_nothing_changes) {
  Dataset data = set_of(Tensor::of<float>({2}, {0.1f, 1e30f}));
  Scaling{"x"}.apply(data);
  BOOST_TEST(data["x"].same_bits(Tensor::of<float>({2}, {0.1f, 1e30f})));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_scaled_is_refused) {
  const auto error = [&](const Scaling& scaling, const Tensor& tensor) {
    Dataset data = set_of(tensor);
    return error_of([&] { scaling.apply(data); });
  };
  const auto one = Tensor::of<float>({1}, {1});
  BOOST_TEST(error({"xx"}, one) == "[data] the data have no input 'xx', did you mean 'x'? (2)");
  BOOST_TEST(error({"x"}, Tensor::of<std::int32_t>({1}, {1})) ==
             "[scaling] input 'x' is i32; only f32 and f64 can be scaled (2)");
  BOOST_TEST(error({"x", 0}, one) ==
             "[scaling] input 'x': the divisor is 0; expected a finite number other than 0 (2)");
  BOOST_TEST(error({"x", INFINITY}, one) ==
             "[scaling] input 'x': the divisor is inf; expected a finite number other than 0 (2)");
  BOOST_TEST(error({"x", 1, NAN}, one) ==
             "[scaling] input 'x': the mean is nan; expected a finite number (2)");
  for (double sd : {0.0, -1.0, static_cast<double>(INFINITY)})
    BOOST_TEST(
        error({"x", 1, 0, sd}, one) ==
        fmt::format("[scaling] input 'x': the sd is {}; expected a finite number above 0 (2)", sd));
  BOOST_TEST(one.at(0) == 1);
}

BOOST_AUTO_TEST_CASE(a_number_that_leaves_its_range_is_refused_with_its_row) {
  Dataset data = set_of(Tensor::of<float>({3, 2}, {0, 0, 0, 0, 0, 1e30f}));
  BOOST_TEST(error_of([&] {
               Scaling{"x", 1e-20}.apply(data);
             }) ==
             "[scaling] x.npy: input 'x', row 2: 1e+30 leaves the range of f32 with divisor 1e-20, "
             "mean 0 and sd 1 (4)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
