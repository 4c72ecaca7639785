// transpose, slice, pad, concat, stack, and reshape, broadcast, sum_to which were there before.
#include <numeric>

#include "tests/engine/op_checks.hpp"

namespace whorl {
namespace {

using testing::message_of;
using L = std::vector<std::int64_t>;

Tensor counting(const Shape& shape, DType dtype = DType::f32) {
  Tensor tensor({dtype, shape});
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
      tensor.data<T>()[i] = static_cast<T>(std::is_same_v<T, bool> ? i % 3 == 0 : i);
  });
  return tensor;
}

template <class F>
Tensor run(F&& build, const Tensor& x) {
  Graph graph;
  const Value y = build(input(graph, "x", x.type()));
  return evaluate(graph, {{"x", x}}, {y.id}).front();
}

std::vector<double> numbers_in(const Tensor& tensor) {
  std::vector<double> found;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) found.push_back(tensor.at(i));
  return found;
}

std::optional<std::int64_t> alias_of(Value y) {
  const Graph& graph = *y.graph;
  std::vector<Type> types;
  for (NodeId in : graph.inputs(y.id)) types.push_back(graph.type(in));
  return graph.op(y.id).alias({&graph.op(y.id), types, graph.attributes(y.id), y.type()});
}

// y[i...] = x[i permuted], one element after the other.
void check_transpose(const Tensor& x, const Axes& permutation) {
  const Tensor y = run([&](Value v) { return transpose(v, permutation); }, x);
  const int rank = x.shape().rank();
  for (std::int64_t e = 0; e < y.elements(); ++e) {
    std::int64_t rest = e, from = 0;
    for (int i = rank - 1; i >= 0; --i) {
      const auto axis = static_cast<int>(permutation[static_cast<std::size_t>(i)]);
      BOOST_REQUIRE(y.shape()[i] == x.shape()[axis]);
      from += rest % y.shape()[i] * x.shape().span_elements(axis + 1, rank);
      rest /= y.shape()[i];
    }
    BOOST_REQUIRE(y.at(e) == x.at(from));
  }
}

BOOST_AUTO_TEST_SUITE(shape_ops)

BOOST_AUTO_TEST_CASE(every_op_passes_the_checks_of_its_samples) {
  for (const char* name : {"transpose", "slice", "pad", "concat", "reshape", "broadcast", "sum_to"})
    testing::check_op(name);
}

BOOST_AUTO_TEST_CASE(transpose_moves_every_element_for_all_permutations_and_types) {
  const Shape shapes[] = {
      {3, 4, 5, 2}, {1, 9, 1, 70}, {8, 1, 33, 16}, {2, 3, 1, 7}, {40, 1, 41, 1}};
  for (const Shape& shape : shapes) {
    for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::boolean}) {
      const Tensor x = counting(shape, dtype);
      Axes permutation{0, 1, 2, 3};
      do {
        check_transpose(x, permutation);
      } while (std::next_permutation(permutation.begin(), permutation.end()));
    }
  }
}

BOOST_AUTO_TEST_CASE(transpose_without_a_permutation_swaps_the_last_two_axes) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {2, 3, 4}});
  BOOST_TEST(transpose(x).shape() == Shape({2, 4, 3}));
  BOOST_TEST(transpose(x, {-1, 0, 1}).shape() == Shape({4, 2, 3}));
  BOOST_TEST((transpose(x, {0, 1, 2}) == x));
}

BOOST_AUTO_TEST_CASE(nothing_is_moved_when_the_elements_stay_in_order) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {2, 1, 3}});
  BOOST_TEST(alias_of(transpose(x, {1, 0, 2})).value_or(-1) == 0);
  BOOST_TEST(!alias_of(transpose(x, {2, 1, 0})).has_value());
  const Value m = input(graph, "m", {DType::f32, {4, 3}});
  BOOST_TEST(alias_of(slice(m, 0, 1, 3)).value_or(-1) == 3);
  BOOST_TEST(alias_of(slice(m, 0, 2, 3, 2)).value_or(-1) == 6);
  BOOST_TEST(!alias_of(slice(m, 0, 0, 4, 2)).has_value());
  BOOST_TEST(!alias_of(slice(m, 1, 0, 2)).has_value());
  BOOST_TEST(alias_of(slice(x, 2, 1, 3)).has_value() == false);
  const Value row = input(graph, "row", {DType::f32, {1, 5}});
  BOOST_TEST(alias_of(slice(row, 1, 2, 4)).value_or(-1) == 2);
  BOOST_TEST((slice(m, 0, 0, 4) == m));
  BOOST_TEST((pad(m, 0, 0, 0) == m));
  BOOST_TEST((concat({m}, 0) == m));
}

BOOST_AUTO_TEST_CASE(slices_count_from_the_end_and_take_steps) {
  const Tensor x = counting({2, 5});
  const auto columns = [&](std::int64_t begin, std::int64_t end, std::int64_t step) {
    return numbers_in(run([&](Value v) { return slice(v, -1, begin, end, step); }, x));
  };
  BOOST_TEST(columns(1, 4, 1) == (std::vector<double>{1, 2, 3, 6, 7, 8}),
             boost::test_tools::per_element());
  BOOST_TEST(columns(-2, -1, 1) == (std::vector<double>{3, 8}), boost::test_tools::per_element());
  BOOST_TEST(columns(0, 5, 2) == (std::vector<double>{0, 2, 4, 5, 7, 9}),
             boost::test_tools::per_element());
  BOOST_TEST(columns(1, 5, 3) == (std::vector<double>{1, 4, 6, 9}),
             boost::test_tools::per_element());
  BOOST_TEST(columns(2, 2, 1).empty());
  const auto rows = run([](Value v) { return slice(v, 0, 1, 2); }, x);
  BOOST_TEST(numbers_in(rows) == (std::vector<double>{5, 6, 7, 8, 9}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(padding_surrounds_an_axis_and_spreads_it) {
  const Tensor x = counting({2, 2});
  const Tensor wide = run([](Value v) { return pad(v, 1, 1, 2, -1); }, x);
  BOOST_TEST(numbers_in(wide) == (std::vector<double>{-1, 0, 1, -1, -1, -1, 2, 3, -1, -1}),
             boost::test_tools::per_element());
  const Tensor tall = run([](Value v) { return pad(v, 0, 1, 0, 9); }, x);
  BOOST_TEST(numbers_in(tall) == (std::vector<double>{9, 9, 0, 1, 2, 3}),
             boost::test_tools::per_element());
  const OpDef& op = *find_op("pad");
  const Tensor spread = evaluate_op(op, {counting({3})},
                                    make_attributes("pad", op.attrs(),
                                                    {{"axis", std::int64_t{0}},
                                                     {"before", std::int64_t{1}},
                                                     {"after", std::int64_t{0}},
                                                     {"between", std::int64_t{2}},
                                                     {"value", 7.0}}));
  BOOST_TEST(numbers_in(spread) == (std::vector<double>{7, 0, 7, 7, 1, 7, 7, 2}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(values_are_joined_along_an_old_axis_or_a_new_one) {
  Graph graph;
  const Value a = input(graph, "a", {DType::f32, {2, 2}});
  const Value b = input(graph, "b", {DType::f32, {2, 1}});
  const Feeds feeds{{"a", counting({2, 2})}, {"b", counting({2, 1})}};
  const auto found = [&](Value v) { return numbers_in(evaluate(graph, feeds, {v.id}).front()); };
  BOOST_TEST(found(concat({a, b, a}, 1)) == (std::vector<double>{0, 1, 0, 0, 1, 2, 3, 1, 2, 3}),
             boost::test_tools::per_element());
  BOOST_TEST(found(concat({a, a}, -2)) == (std::vector<double>{0, 1, 2, 3, 0, 1, 2, 3}),
             boost::test_tools::per_element());
  const Value last = stack({b, b * 2.0}, -1);
  BOOST_TEST(last.shape() == Shape({2, 1, 2}));
  BOOST_TEST(found(last) == (std::vector<double>{0, 0, 1, 2}), boost::test_tools::per_element());
  BOOST_TEST(stack({a, a, a}).shape() == Shape({3, 2, 2}));
  BOOST_TEST(stack({sum(a)}, 0).shape() == Shape({1}));
}

BOOST_AUTO_TEST_CASE(the_gradient_of_a_stepped_slice_reaches_just_its_elements) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {7}});
  const Value dx = testing::gradients(sum(slice(x, 0, 1, 6, 2)), {x})[0];
  const Tensor found = evaluate(graph, {{"x", Tensor({DType::f64, {7}})}}, {dx.id}).front();
  BOOST_TEST(numbers_in(found) == (std::vector<double>{0, 1, 0, 1, 0, 1, 0}),
             boost::test_tools::per_element());
  const Value none = testing::gradients(sum(slice(x, 0, 3, 3)), {x})[0];
  const Tensor zero = evaluate(graph, {{"x", Tensor({DType::f64, {7}})}}, {none.id}).front();
  BOOST_TEST(numbers_in(zero) == std::vector<double>(7, 0), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(every_mistake_has_its_own_sentence) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {2, 3}});
  const Value i = input(graph, "i", {DType::i32, {2, 3}});
  const Value flag = input(graph, "flag", {DType::boolean, {2}});
  const Value v = input(graph, "v", {DType::f32, {4}});
  const auto says = [](auto&& f, std::string_view expected) {
    BOOST_TEST(message_of(f) == expected);
  };
  says([&] { transpose(v); }, "[transpose] rank 1 has no two axes to swap");
  says(
      [&] {
        transpose(x, {0, 0});
      },
      "[transpose] [0,0] is not a permutation of the 2 axes; inputs x=f32[2,3]");
  says([&] { transpose(x, {0}); },
       "[transpose] [0] is not a permutation of the 2 axes; inputs x=f32[2,3]");
  says([&] { transpose(x, {0, 2}); }, "[transpose] axis 2 is out of range for rank 2");
  says([&] { slice(x, 2, 0, 1); }, "[slice] axis 2 is out of range for rank 2");
  says([&] { slice(x, 1, 0, 4); },
       "[slice] range 0 to 4 does not lie in axis 1 of size 3; inputs x=f32[2,3]");
  says([&] { slice(x, 1, 2, 1); },
       "[slice] range 2 to 1 does not lie in axis 1 of size 3; inputs x=f32[2,3]");
  says([&] { slice(x, 1, -4, 2); },
       "[slice] range -1 to 2 does not lie in axis 1 of size 3; inputs x=f32[2,3]");
  says([&] { slice(x, 1, 0, 2, 0); },
       "[slice] step 0 is out of range; expected 1 to 2^40; inputs x=f32[2,3]");
  says([&] { slice(x, 1, 0, 2, -1); },
       "[slice] step -1 is out of range; expected 1 to 2^40; inputs x=f32[2,3]");
  says([&] { pad(x, 1, -1, 0); },
       "[pad] width -1 is out of range; expected 0 to 2^40; inputs x=f32[2,3]");
  says([&] { pad(x, 1, std::int64_t{1} << 40, 0); },
       "[pad] [2,1099511627779] has more than the limit of 2^40 elements; inputs x=f32[2,3]");
  says([&] { pad(i, 1, 1, 0, 0.5); }, "[pad] value 0.5 is not an i32; inputs x=i32[2,3]");
  says([&] { pad(flag, 0, 1, 0, 2); },
       "[pad] value 2 is not a bool: expected 0 or 1; inputs x=bool[2]");
  says([&] { concat({}, 0); }, "[concat] takes at least 1 input (xs), got 0");
  says(
      [&] {
        concat({x, v}, 0);
      },
      "[concat] input 1 is f32[4], which does not fit f32[2,3] along axis 0; inputs xs=f32[2,3] "
      "xs=f32[4]");
  says(
      [&] {
        concat({x, i}, 0);
      },
      "[concat] input 1 is i32[2,3], which does not fit f32[2,3] along axis 0; inputs "
      "xs=f32[2,3] xs=i32[2,3]");
  says([&] { concat({x, x}, 2); }, "[concat] axis 2 is out of range for rank 2");
  says([&] { stack({}); }, "[stack] takes at least 1 input (xs), got 0");
  says(
      [&] {
        stack({x, v});
      },
      "[stack] the inputs' types differ: f32[2,3] and f32[4]; inputs xs=f32[2,3] xs=f32[4]");
  says([&] { stack({x}, 3 + 1); }, "[stack] axis 4 is out of range for rank 3; inputs xs=f32[2,3]");
  says([&] { reshape(x, L{4}); }, "[reshape] [4] has 4 elements, the input 6; inputs x=f32[2,3]");
  says([&] { reshape(x, L{4, -1}); }, "[reshape] 6 elements do not divide by 4; inputs x=f32[2,3]");
  says(
      [&] {
        reshape(x, L{-1, -1});
      },
      "[reshape] two dimensions are -1, so the shape is ambiguous; inputs x=f32[2,3]");
  says(
      [&] {
        reshape(x, L{0, -1});
      },
      "[reshape] dimension -1 is ambiguous beside a dimension of 0; inputs x=f32[2,3]");
  says([&] { reshape(x, L{-2, 3}); }, "[reshape] dimension -2 is negative; inputs x=f32[2,3]");
  says([&] { broadcast(x, {3}); }, "[broadcast] rank 2 does not fit into [3]");
  says(
      [&] {
        broadcast(x, {4, 3});
      },
      "[broadcast] dimension 2 does not fit 4 on axis 0 of [4,3]; inputs x=f32[2,3]");
  says([&] { broadcast(v, {4, 4}, {0, 1}); }, "[broadcast] has 2 axes for rank 1; inputs x=f32[4]");
  says(
      [&] {
        broadcast(x, {2, 3, 2}, {1, 0});
      },
      "[broadcast] dimension 2 does not fit 3 on axis 1 of [2,3,2]; inputs x=f32[2,3]");
  says(
      [&] {
        broadcast(v, {4, 2}, {2});
      },
      "[broadcast] axes must increase and lie in 0..1: found 2; inputs x=f32[4]");
  says([&] { sum_to(v, {1, 4}); }, "[sum_to] rank 1 cannot give [1,4]");
  says([&] { sum_to(x, {2}); },
       "[sum_to] dimension 2 does not fit 3 on axis 1 of [2,3]; inputs x=f32[2,3]");
}

BOOST_AUTO_TEST_CASE(widths_from_a_file_cannot_overflow) {
  const OpDef& op = *find_op("pad");
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {1000, 1000}});
  const auto attrs = make_attributes("pad", op.attrs(),
                                     {{"axis", std::int64_t{0}},
                                      {"before", std::int64_t{0}},
                                      {"after", std::int64_t{0}},
                                      {"between", std::int64_t{1} << 40}});
  BOOST_TEST(message_of([&] { call(op, {x}, attrs); }) ==
             "[pad] the result has more than the limit of 2^40 elements; inputs "
             "x=f32[1000,1000]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace whorl
