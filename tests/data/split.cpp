#include "data/split.hpp"

#include "tests/data/data_fixture.hpp"

namespace whorl {

namespace {

Dataset three() {
  Dataset data;
  data.add({"x", Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}), "d.csv", {"a", "b"}});
  data.add({"y", Tensor::of<std::int32_t>({3}, {7, 8, 9}), "y.npy", {}});
  return data;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(split, testing::DataFixture)

BOOST_AUTO_TEST_CASE(the_last_rows_are_set_aside) {
  const auto [rest, last] = split_last(three(), 1);
  BOOST_TEST(rest["x"].same_bits(Tensor::of<float>({2, 2}, {1, 2, 3, 4})));
  BOOST_TEST(rest["y"].same_bits(Tensor::of<std::int32_t>({2}, {7, 8})));
  BOOST_TEST(last["x"].same_bits(Tensor::of<float>({1, 2}, {5, 6})));
  BOOST_TEST(last["y"].same_bits(Tensor::of<std::int32_t>({1}, {9})));
  for (const Dataset& part : {rest, last}) {
    BOOST_TEST(part.array("x").origin == "d.csv");
    BOOST_TEST(part.array("x").columns == (std::vector<std::string>{"a", "b"}));
  }
}

BOOST_AUTO_TEST_CASE(the_first_part_needs_no_memory_and_the_second_is_aligned) {
  const Dataset data = three();
  const auto [rest, last] = split_last(data, 2);
  BOOST_TEST(rest["x"].raw() == data["x"].raw());
  BOOST_TEST(reinterpret_cast<std::uintptr_t>(last["x"].raw()) % storage_alignment == 0u);
}

BOOST_AUTO_TEST_CASE(numbers_of_rows_that_cannot_be_are_refused) {
  const Dataset data = three();
  const auto error = [&](std::int64_t rows) { return error_of([&] { split_last(data, rows); }); };
  BOOST_TEST(error(0) == "[split] the number of rows to set aside is 0; expected 1 or more (2)");
  BOOST_TEST(error(-1) == "[split] the number of rows to set aside is -1; expected 1 or more (2)");
  BOOST_TEST(error(3) ==
             "[split] 3 rows cannot be set aside: the data have 3, and none would be left (2)");
  BOOST_TEST(error(2) == "no error");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
