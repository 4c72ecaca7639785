#include "data/standardise.hpp"

#include <cmath>

#include "tests/data/data_fixture.hpp"

namespace whorl {

namespace {

Dataset set_of(const std::string& name, const Tensor& tensor,
               std::vector<std::string> columns = {}) {
  Dataset data;
  data.add({name, tensor, "d.csv", std::move(columns)});
  return data;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(standardisation, testing::DataFixture)

BOOST_AUTO_TEST_CASE(columns_get_mean_0_and_population_sd_1) {
  Dataset data = set_of("x", Tensor::of<double>({4, 2}, {1, 10, 2, 10, 3, 30, 4, 30}));
  const Standardisation made = standardise(data, {"x"});
  BOOST_TEST(made.warnings.empty());
  BOOST_TEST(made.inputs.at(0).mean == (std::vector<double>{2.5, 20}));
  BOOST_TEST(made.inputs.at(0).sd == (std::vector<double>{std::sqrt(1.25), 10}));
  const double s = std::sqrt(1.25);
  BOOST_TEST(data["x"].same_bits(
      Tensor::of<double>({4, 2}, {-1.5 / s, -1, -.5 / s, -1, .5 / s, 1, 1.5 / s, 1})));
}

BOOST_AUTO_TEST_CASE(test_data_are_measured_by_the_training_data) {
  Dataset train = set_of("x", Tensor::of<float>({2}, {0, 4}));
  Dataset test = set_of("x", Tensor::of<float>({3}, {2, 8, -2}));
  standardise(train, {"x"}).apply(test);
  BOOST_TEST(test["x"].same_bits(Tensor::of<float>({3}, {0, 3, -2})));
}

BOOST_AUTO_TEST_CASE(a_constant_column_is_centred_with_a_warning) {
  // A tenth has no exact f64, and its sum over 7 rows none either.
  std::vector<double> values;
  for (int row = 0; row < 7; ++row) values.insert(values.end(), {0.1, row * 1.0});
  Dataset data = set_of("x", Tensor::of<double>({7, 2}, values), {"a", "b"});
  const Standardisation made = standardise(data, {"x"});
  BOOST_TEST(made.warnings ==
             (std::vector<std::string>{
                 "d.csv: input 'x', column 'a' is constant: 0.1; it is centred, not scaled"}));
  BOOST_TEST(made.inputs[0].sd[0] == 1);
  for (int row = 0; row < 7; ++row) BOOST_TEST(data["x"].at(2 * row) == 0);

  Dataset single = set_of("x", Tensor::of<float>({1}, {5}));
  BOOST_TEST(standardise(single, {"x"}).warnings ==
             (std::vector<std::string>{
                 "d.csv: input 'x', column 1 is constant: 5; it is centred, not scaled"}));
}

BOOST_AUTO_TEST_CASE(a_large_mean_costs_no_digits) {
  Dataset data = set_of("x", Tensor::of<double>({4}, {1e15, 1e15 + 1, 1e15 + 2, 1e15 + 3}));
  const Standardisation made = standardise(data, {"x"});
  BOOST_TEST(made.inputs[0].sd[0] == std::sqrt(1.25));
  BOOST_TEST(data["x"].at(0) == -data["x"].at(3), boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_standardised_is_refused) {
  Dataset labels = set_of("y", Tensor::of<std::int32_t>({2}, {0, 1}));
  BOOST_TEST(error_of([&] { standardise(labels, {"y"}); }) ==
             "[standardise] input 'y' is i32; only f32 and f64 can be standardised (2)");
  Dataset data = set_of("x", Tensor::of<double>({2, 1}, {0, 1}), {"a"});
  BOOST_TEST(error_of([&] { standardise(data, {"xx"}); }) ==
             "[data] the data have no input 'xx', did you mean 'x'? (2)");
  BOOST_TEST(error_of([&] {
               standardise(data, {"x", "x"});
             }) == "[standardise] input 'x' is named twice (2)");
  BOOST_TEST(data["x"].at(1) == 1);
  Dataset huge = set_of("x", Tensor::of<double>({2, 1}, {-1e300, 1e300}), {"a"});
  BOOST_TEST(error_of([&] { standardise(huge, {"x"}); }) ==
             "[standardise] d.csv: input 'x', column 'a': its values are too large or not finite: "
             "the sd is inf (4)");
}

BOOST_AUTO_TEST_CASE(data_that_do_not_fit_the_standardisation_are_refused) {
  Dataset train = set_of("x", Tensor::of<float>({2, 1}, {0, 2e-30f}));
  const Standardisation made = standardise(train, {"x"});
  Dataset wide = set_of("x", Tensor::of<float>({1, 2}, {1, 2}));
  BOOST_TEST(error_of([&] { made.apply(wide); }) ==
             "[standardise] d.csv: input 'x' has 2 columns, but 1 were standardised (4)");
  Dataset far = set_of("x", Tensor::of<float>({2, 1}, {0, 1e30f}));
  BOOST_TEST(error_of([&] { made.apply(far); })
                 .starts_with("[standardise] d.csv: input 'x', row 1, column 1: 1e+30 leaves the "
                              "range of f32 with mean "));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
