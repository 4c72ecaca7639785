#include "data/labels.hpp"

#include "tests/data/data_fixture.hpp"

namespace whorl {

namespace {

using Labels = std::vector<std::int64_t>;
using Warnings = std::vector<std::string>;

// Five rows: x is [10 r, 10 r + 1] in row r.
Dataset five(std::initializer_list<std::int32_t> labels) {
  Dataset data;
  data.add({"x", Tensor::of<float>({5, 2}, {0, 1, 10, 11, 20, 21, 30, 31, 40, 41}), "x.npy", {}});
  data.add({"y", Tensor::of<std::int32_t>({5}, labels), "y.npy", {"class"}});
  return data;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(labels, testing::DataFixture)

BOOST_AUTO_TEST_CASE(kept_rows_are_numbered_in_the_order_of_the_list) {
  const Dataset data = five({7, 3, 5, 3, 7});
  const Dataset kept = keep_labels(data, "y", Labels{7, 3});
  BOOST_TEST(kept["x"].same_bits(Tensor::of<float>({4, 2}, {0, 1, 10, 11, 30, 31, 40, 41})));
  BOOST_TEST(kept["y"].same_bits(Tensor::of<std::int32_t>({4}, {0, 1, 1, 0})));
  BOOST_TEST(kept.array("y").origin == "y.npy");
  BOOST_TEST(kept.array("y").columns == (std::vector<std::string>{"class"}));
  // What they are taken from stays as it was.
  BOOST_TEST(data["y"].same_bits(Tensor::of<std::int32_t>({5}, {7, 3, 5, 3, 7})));
  BOOST_TEST(keep_labels(data, "y", Labels{5})["x"].same_bits(Tensor::of<float>({1, 2}, {20, 21})));
}

BOOST_AUTO_TEST_CASE(lists_that_make_no_sense_are_refused) {
  const Dataset data = five({0, 1, 2, 1, 0});
  const auto error = [&](std::string_view input, const Labels& kept) {
    return error_of([&] { keep_labels(data, input, kept); });
  };
  BOOST_TEST(error("y", {}) == "[labels] no labels are given, so no row would be left (2)");
  BOOST_TEST(error("y", {1, 2, 1}) == "[labels] label 1 is listed twice (2)");
  BOOST_TEST(error("y", {1, 9}) == "[labels] y.npy: input 'y' has no row with label 9 (4)");
  BOOST_TEST(error("y", {-1, 4294967296}) ==
             "[labels] y.npy: input 'y' has no row with label -1 (4)");
  BOOST_TEST(error("x", {1}) == "[labels] input 'x' is f32[5,2]; labels are i32[N] (2)");
  BOOST_TEST(error("z", {1}) == "[data] the data have no input 'z' (2)");
}

BOOST_AUTO_TEST_CASE(a_label_beyond_the_classes_is_refused_with_its_row) {
  const auto error = [&](std::initializer_list<std::int32_t> labels, std::int64_t classes) {
    const Dataset data = five(labels);
    return error_of([&] { check_labels(data, "y", classes); });
  };
  BOOST_TEST(error({0, 1, 2, 10, 0}, 10) ==
             "[labels] y.npy: row 3: label 10 of input 'y' is not in 0..9 (4)");
  BOOST_TEST(error({0, 255, 2, 10, 0}, 10) ==
             "[labels] y.npy: row 1: label 255 of input 'y' is not in 0..9 (4)");
  BOOST_TEST(error({-1, 0, 0, 0, 0}, 2) ==
             "[labels] y.npy: row 0: label -1 of input 'y' is not in 0..1 (4)");
  BOOST_TEST(error({0, 0, 0, 0, 0}, 0) ==
             "[labels] the number of classes is 0; expected 1 or more (2)");
  const Dataset data = five({0, 0, 0, 0, 0});
  BOOST_TEST(error_of([&] { check_labels(data, "x", 2); }) ==
             "[labels] input 'x' is f32[5,2]; labels are i32[N] (2)");
}

BOOST_AUTO_TEST_CASE(classes_that_no_row_has_are_a_warning) {
  const Dataset data = five({0, 1, 3, 1, 0});
  BOOST_TEST(check_labels(five({0, 1, 2, 1, 0}), "y", 3) == Warnings{});
  BOOST_TEST(check_labels(data, "y", 4) == Warnings{"y.npy: input 'y' has no row with label 2"});
  BOOST_TEST(check_labels(data, "y", 6) ==
             Warnings{"y.npy: input 'y' has no row with label 2, 4, 5"});
  // As many classes as there may be cost no time and no memory.
  BOOST_TEST(check_labels(data, "y", 2147483648) ==
             Warnings{"y.npy: input 'y' has no row with label 2, 4, 5, 6, 7, 8, 9, 10, 11, 12 and "
                      "2147483635 more"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
