// gather, scatter_add, one_hot.
#include <cstring>

#include "tests/engine/op_checks.hpp"

namespace whorl {
namespace {

using testing::message_of;

Tensor indices_of(const Shape& shape, std::initializer_list<std::int32_t> values) {
  return Tensor::of<std::int32_t>(shape, values);
}

BOOST_AUTO_TEST_SUITE(gather_ops)

BOOST_AUTO_TEST_CASE(every_op_passes_the_checks_of_its_samples) {
  for (const char* name : {"gather", "scatter_add", "one_hot"}) testing::check_op(name);
}

BOOST_AUTO_TEST_CASE(gather_takes_rows_along_any_axis) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {2, 3}});
  const Value i = input(graph, "i", {DType::i32, {2, 2}});
  const Feeds feeds{{"x", Tensor::of<float>({2, 3}, {0, 1, 2, 3, 4, 5})},
                    {"i", indices_of({2, 2}, {1, 0, 1, 1})}};
  const Value rows = gather(x, i), columns = gather(x, i, -1);
  BOOST_TEST(rows.shape() == Shape({2, 2, 3}));
  BOOST_TEST(columns.shape() == Shape({2, 2, 2}));
  const auto found = evaluate(graph, feeds, {rows.id, columns.id});
  BOOST_TEST(found[0].values<float>() == (std::vector<float>{3, 4, 5, 0, 1, 2, 3, 4, 5, 3, 4, 5}),
             boost::test_tools::per_element());
  BOOST_TEST(found[1].values<float>() == (std::vector<float>{1, 0, 1, 1, 4, 3, 4, 4}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(scatter_adds_rows_that_meet_in_the_order_of_the_indices) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {4}});
  const Value i = input(graph, "i", {DType::i32, {4}});
  // (1e8 - 1e8) + 1 is 1, while 1e8 - (1e8 - 1) would be 0 in f32.
  const Feeds feeds{{"x", Tensor::of<float>({4}, {1e8f, -1e8f, 1.0f, 5.0f})},
                    {"i", indices_of({4}, {2, 2, 2, 0})}};
  const Value y = scatter_add(x, i, 3);
  const Tensor found = evaluate(graph, feeds, {y.id}).front();
  BOOST_TEST(found.values<float>() == (std::vector<float>{5, 0, 1}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(wide_rows_are_scattered_in_column_blocks_without_gaps) {
  std::mt19937_64 random(6);
  const Tensor x = testing::random_tensor({DType::f64, {5, 700}}, -1, 1, random);
  const OpDef& op = *find_op("scatter_add");
  const Attributes attrs = make_attributes("scatter_add", op.attrs(), {{"size", std::int64_t{3}}});
  const Tensor i = indices_of({5}, {0, 2, 0, 0, 2});
  const Tensor y = evaluate_op(op, {x, i}, attrs);
  for (std::int64_t j = 0; j < 700; ++j) {
    BOOST_TEST(y.at(j) == x.at(j) + x.at(1400 + j) + x.at(2100 + j));
    BOOST_TEST(y.at(700 + j) == 0);
    BOOST_TEST(y.at(1400 + j) == x.at(700 + j) + x.at(2800 + j));
  }
}

BOOST_AUTO_TEST_CASE(shared_axes_pair_values_with_indices_of_their_own) {
  const OpDef& op = *find_op("gather");
  const Attributes attrs = make_attributes(
      "gather", op.attrs(), {{"axis", std::int64_t{1}}, {"batch_rank", std::int64_t{1}}});
  const Tensor x = Tensor::of<double>({2, 3}, {0, 1, 2, 10, 11, 12});
  const Tensor y = evaluate_op(op, {x, indices_of({2}, {2, 0})}, attrs);
  BOOST_TEST(y.values<double>() == (std::vector<double>{2, 10}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_hot_marks_the_index_in_every_dtype) {
  for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::boolean}) {
    Graph graph;
    const Value i = input(graph, "i", {DType::i32, {2}});
    const Value y = one_hot(i, 3, dtype);
    BOOST_TEST((y.type() == Type{dtype, {2, 3}}));
    const Tensor found = evaluate(graph, {{"i", indices_of({2}, {2, 0})}}, {y.id}).front();
    const double expected[] = {0, 0, 1, 1, 0, 0};
    for (std::int64_t e = 0; e < 6; ++e) BOOST_TEST(found.at(e) == expected[e]);
  }
}

BOOST_AUTO_TEST_CASE(an_index_out_of_range_is_named_with_its_element) {
  for (std::int32_t bad : {-1, 4, std::numeric_limits<std::int32_t>::min()}) {
    Graph graph;
    const Value x = input(graph, "x", {DType::f32, {4, 2}});
    const Value i = input(graph, "i", {DType::i32, {3}});
    const Value rows = input(graph, "rows", {DType::f32, {3, 2}});
    const Feeds feeds{{"x", Tensor({DType::f32, {4, 2}})},
                      {"rows", Tensor({DType::f32, {3, 2}})},
                      {"i", indices_of({3}, {3, bad, 0})}};
    for (Value y : {gather(x, i), scatter_add(rows, i, 4), one_hot(i, 4)})
      BOOST_TEST(message_of([&] { evaluate(graph, feeds, {y.id}); }) ==
                 fmt::format("[run] {}: index out of range: element 1 is {}; expected 0 to 3",
                             graph.label(y.id), bad));
  }
}

BOOST_AUTO_TEST_CASE(an_index_into_the_next_chain_is_out_of_range_too) {
  const OpDef& op = *find_op("gather");
  const Attributes attrs = make_attributes(
      "gather", op.attrs(), {{"axis", std::int64_t{1}}, {"batch_rank", std::int64_t{1}}});
  const Tensor x({DType::f64, {2, 3}});
  BOOST_TEST(message_of([&] {
               evaluate_op(op, {x, indices_of({2, 2}, {0, 1, 3, 0})}, attrs);
             }) == "[gather] index out of range: element 2 is 3; expected 0 to 2");
}

BOOST_AUTO_TEST_CASE(every_mistake_has_its_own_sentence) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {2, 3}});
  const Value none = input(graph, "none", {DType::f32, {0, 3}});
  const Value i = input(graph, "i", {DType::i32, {4}});
  const auto says = [](auto&& f, std::string_view expected) {
    BOOST_TEST(message_of(f) == expected);
  };
  says([&] { gather(x, x); },
       "[gather] input 'indices' is f32; expected i32 (use cast); inputs x=f32[2,3] "
       "indices=f32[2,3]");
  says([&] { gather(x, i, 2); }, "[gather] axis 2 is out of range for rank 2");
  says([&] { gather(none, i); },
       "[gather] axis 0 has no elements to choose from; inputs x=f32[0,3] indices=i32[4]");
  says([&] { gather(sum(x), i); }, "[gather] axis 0 is out of range for rank 0");
  const OpDef& op = *find_op("gather");
  const auto shared = [&](std::int64_t axis, std::int64_t rank) {
    return make_attributes("gather", op.attrs(), {{"axis", axis}, {"batch_rank", rank}});
  };
  says(
      [&] {
        call(op, {x, i}, shared(0, 1));
      },
      "[gather] batch_rank 1 is out of range for axis 0 and indices of rank 1; inputs x=f32[2,3] "
      "indices=i32[4]");
  says(
      [&] {
        call(op, {x, i}, shared(1, 1));
      },
      "[gather] shared axis 0 differs: 2 and 4; inputs x=f32[2,3] indices=i32[4]");
  says([&] { shared(0, 9); },
       "[gather] attribute 'batch_rank' is out of range: 9; expected 0 to 8");
  says([&] { scatter_add(x, i, 3); },
       "[scatter_add] axes 0 to 0 of x must be those of the indices: [2] and [4]; inputs "
       "x=f32[2,3] indices=i32[4]");
  says([&] { scatter_add(sum(x), i, 3); },
       "[scatter_add] indices of rank 1 do not fit x of rank 0; inputs x=f32[] indices=i32[4]");
  const Value two = input(graph, "two", {DType::i32, {2}});
  says([&] { scatter_add(x, two, -1); },
       "[scatter_add] size -1 is out of range; expected 0 to 2^31; inputs x=f32[2,3] "
       "indices=i32[2]");
  says([&] { scatter_add(x, two, 0); },
       "[scatter_add] size is 0, which leaves no place for 2 indices; inputs x=f32[2,3] "
       "indices=i32[2]");
  says([&] { one_hot(x, 3); },
       "[one_hot] input 'indices' is f32; expected i32 (use cast); inputs indices=f32[2,3]");
  says([&] { one_hot(i, 0); }, "[one_hot] depth 0 is less than 1; inputs indices=i32[4]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace whorl
