// DType, Shape, Type and Tensor: limits and messages.
#include <limits>

#include "tests/engine/op_checks.hpp"

namespace whorl {
namespace {

using testing::message_of;
constexpr std::int64_t huge = std::int64_t{1} << 62;

BOOST_AUTO_TEST_SUITE(types)

BOOST_AUTO_TEST_CASE(dtypes_have_names_and_sizes_and_are_found_by_name) {
  const std::pair<DType, std::string_view> names[] = {
      {DType::f32, "f32"}, {DType::f64, "f64"}, {DType::i32, "i32"}, {DType::boolean, "bool"}};
  for (const auto& [dtype, text] : names) {
    BOOST_TEST(name(dtype) == text);
    BOOST_TEST((dtype_from_name(text) == dtype));
  }
  BOOST_TEST(!dtype_from_name("f16").has_value());
  BOOST_TEST(!dtype_from_name("").has_value());
  BOOST_TEST(size_of(DType::f64) == 8u);
  BOOST_TEST(size_of(DType::boolean) == 1u);
}

BOOST_AUTO_TEST_CASE(a_shape_knows_its_elements) {
  BOOST_TEST(Shape().elements() == 1);
  BOOST_TEST(Shape({2, 3, 4}).elements() == 24);
  BOOST_TEST(Shape({2, 0, 4}).elements() == 0);
  BOOST_TEST(Shape({2, 3, 4}).span_elements(1, 3) == 12);
  BOOST_TEST(Shape({2, 3, 4}).span_elements(1, 1) == 1);
  BOOST_TEST(Shape({3, 4}).with_front(2) == Shape({2, 3, 4}));
  BOOST_TEST(Shape({2, 3, 4}).without_front() == Shape({3, 4}));
  BOOST_TEST(Shape({2, 3, 4}).slice(1, 2) == Shape({3}));
  BOOST_TEST(Shape({1}) != Shape());
  BOOST_TEST(to_string(Shape({20, 784})) == "[20,784]");
  BOOST_TEST(to_string(Shape()) == "[]");
  BOOST_TEST(to_string(Type{DType::boolean, {2}}) == "bool[2]");
}

BOOST_AUTO_TEST_CASE(rank_eight_is_the_limit) {
  BOOST_TEST(Shape({1, 1, 1, 1, 1, 1, 1, 1}).rank() == 8);
  BOOST_TEST(message_of([] {
               Shape({1, 1, 1, 1, 1, 1, 1, 1, 1});
             }) == "[shape] rank 9 is more than the limit of 8");
  BOOST_TEST(message_of([] {
               Shape({1, 1, 1, 1, 1, 1, 1, 1}).with_front(2);
             }) == "[shape] rank 9 is more than the limit of 8");
}

BOOST_AUTO_TEST_CASE(dimensions_are_not_negative) {
  BOOST_TEST(message_of([] { Shape({2, -1}); }) == "[shape] dimension -1 is negative");
  BOOST_TEST(message_of([] { Shape({std::numeric_limits<std::int64_t>::min()}); }) ==
             "[shape] dimension -9223372036854775808 is negative");
}

BOOST_AUTO_TEST_CASE(two_to_the_forty_elements_are_the_limit_whatever_zeros_stand_beside) {
  BOOST_TEST(Shape({std::int64_t{1} << 40}).elements() == std::int64_t{1} << 40);
  BOOST_TEST(Shape({std::int64_t{1} << 20, std::int64_t{1} << 20, 1}).elements() == std::int64_t{1}
                                                                                        << 40);
  BOOST_TEST(message_of([] {
               Shape({std::int64_t{1} << 20, (std::int64_t{1} << 20) + 1});
             }) == "[shape] [1048576,1048577] has more than the limit of 2^40 elements");
  // The product of these wraps around to 0 in 64 bits.
  BOOST_TEST(message_of([] {
               Shape({huge, 4});
             }) == "[shape] [4611686018427387904,4] has more than the limit of 2^40 elements");
  BOOST_TEST(message_of([] {
               Shape({0, huge});
             }) == "[shape] [0,4611686018427387904] has more than the limit of 2^40 elements");
  BOOST_TEST(message_of([] {
               Shape({huge, 0});
             }) == "[shape] [4611686018427387904,0] has more than the limit of 2^40 elements");
}

BOOST_AUTO_TEST_CASE(a_tensor_is_aligned_zeroed_and_shared_until_cloned) {
  Tensor a({DType::f32, {3, 5}});
  BOOST_TEST(reinterpret_cast<std::uintptr_t>(a.raw()) % storage_alignment == 0u);
  for (float v : a.values<float>()) BOOST_TEST(v == 0);
  const Tensor same = a, copy = a.clone();
  a.data<float>()[4] = 2;
  BOOST_TEST(same.at(4) == 2);
  BOOST_TEST(copy.at(4) == 0);
  BOOST_TEST(a.same_bits(same));
  BOOST_TEST(!a.same_bits(copy));
  BOOST_TEST(Tensor({DType::i32, {0, 2}}).elements() == 0);
  BOOST_TEST((Tensor({DType::i32, {0, 2}}).raw() != nullptr));
}

BOOST_AUTO_TEST_CASE(a_view_has_another_shape_and_the_same_storage) {
  Tensor view;
  {
    const auto whole = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
    view = whole.view({2, 2, 1});
    BOOST_TEST(view.raw() == whole.raw());
  }
  BOOST_TEST(view.same_bits(Tensor::of<float>({2, 2, 1}, {1, 2, 3, 4})));
}

BOOST_AUTO_TEST_CASE(tensors_are_equal_by_bits) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  BOOST_TEST(Tensor::scalar(nan).same_bits(Tensor::scalar(nan)));
  BOOST_TEST(!Tensor::scalar(0.0f).same_bits(Tensor::scalar(-0.0f)));
  BOOST_TEST(!Tensor::scalar(1.0f).same_bits(Tensor::of<float>({1}, {1.0f})));
  BOOST_TEST(Tensor::scalar(true).at(0) == 1);
}

BOOST_AUTO_TEST_CASE(a_borrowed_tensor_sees_its_owners_memory) {
  double values[] = {1, 2, 3};
  const Tensor view = Tensor::borrow({DType::f64, {3}}, values);
  values[1] = 7;
  BOOST_TEST(view.at(1) == 7);
}

BOOST_AUTO_TEST_CASE(kinds_of_errors_have_the_documented_exit_codes) {
  BOOST_TEST(exit_code(ErrorKind::internal) == 1);
  BOOST_TEST(exit_code(ErrorKind::usage) == 2);
  BOOST_TEST(exit_code(ErrorKind::graph) == 3);
  BOOST_TEST(exit_code(ErrorKind::data) == 4);
  BOOST_TEST(exit_code(ErrorKind::checkpoint) == 5);
  BOOST_TEST(exit_code(ErrorKind::io) == 6);
  BOOST_TEST(exit_code(ErrorKind::numeric) == 7);
  BOOST_TEST(exit_code(ErrorKind::memory) == 8);
  BOOST_TEST(exit_code(ErrorKind::cancelled) == 130);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace whorl
