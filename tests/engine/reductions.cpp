// mean, max, min, log_sum_exp, median, and sum which was there before them.
#include <algorithm>
#include <limits>

#include "tests/engine/op_checks.hpp"

namespace whorl {
namespace {

using testing::message_of;

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

template <class T, class F>
std::vector<double> run(F&& build, const Shape& shape, std::vector<T> values) {
  Graph graph;
  const Value x = input(graph, "x", {dtype_of<T>, shape});
  const Value y = build(x);
  const Tensor result =
      evaluate(graph, {{"x", Tensor::of<T>(shape, std::span<const T>(values))}}, {y.id}).front();
  std::vector<double> found;
  for (std::int64_t i = 0; i < result.elements(); ++i) found.push_back(result.at(i));
  return found;
}

std::string infer_message(Value (*build)(Value, Axes, bool), const Shape& shape, Axes axes) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, shape});
  return message_of([&] { build(x, std::move(axes), false); });
}

BOOST_AUTO_TEST_SUITE(reductions)

BOOST_AUTO_TEST_CASE(every_reduction_passes_the_checks_of_its_samples) {
  for (const char* name : {"sum", "mean", "max", "min", "log_sum_exp", "median"})
    testing::check_op(name);
}

BOOST_AUTO_TEST_CASE(the_mean_divides_by_the_number_of_reduced_elements) {
  const auto rows = [](Value x) { return mean(x, {1}); };
  BOOST_TEST(run<float>(rows, {2, 3}, {1, 2, 6, -1, 0, 4}) == (std::vector<double>{3, 1}),
             boost::test_tools::per_element());
  const auto all = [](Value x) { return mean(x); };
  BOOST_TEST(run<double>(all, {2, 3}, {1, 2, 6, -1, 0, 4}) == std::vector<double>{2},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(extrema_of_long_and_short_rows_and_of_columns_are_those_of_a_plain_loop) {
  std::mt19937_64 random(5);
  for (std::int64_t n : {1, 2, 15, 16, 17, 40, 1000, 3000}) {
    const Tensor x = testing::random_tensor({DType::f32, {n, 3, n % 7 + 1}}, -9, 9, random);
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      Graph graph;
      const Value in = input(graph, "x", x.type());
      const auto found = evaluate(graph, {{"x", x}}, {max(in, {axis}).id, min(in, {axis}).id});
      const std::int64_t size = x.shape()[static_cast<int>(axis)];
      const std::int64_t inner = x.shape().span_elements(static_cast<int>(axis) + 1, 3);
      for (std::int64_t i = 0; i < found[0].elements(); ++i) {
        float high = -100, low = 100;
        for (std::int64_t r = 0; r < size; ++r) {
          const float v = x.data<float>()[(i / inner * size + r) * inner + i % inner];
          high = std::max(high, v);
          low = std::min(low, v);
        }
        BOOST_REQUIRE(found[0].data<float>()[i] == high);
        BOOST_REQUIRE(found[1].data<float>()[i] == low);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(extrema_take_integers_and_infinities_and_pass_a_nan_on) {
  const auto highest = [](Value x) { return max(x); };
  const auto lowest = [](Value x) { return min(x, {0}); };
  BOOST_TEST(run<std::int32_t>(highest, {3}, {-7, -3, -5}) == std::vector<double>{-3},
             boost::test_tools::per_element());
  BOOST_TEST(run<double>(highest, {2}, {-inf, -inf}).front() == -inf);
  BOOST_TEST(run<double>(lowest, {2, 1}, {inf, 3}).front() == 3);
  for (std::size_t at : {0, 3, 20, 39}) {
    std::vector<float> row(40, 1.0f);
    row[at] = std::numeric_limits<float>::quiet_NaN();
    BOOST_TEST(std::isnan(run<float>(highest, {40}, row).front()));
    BOOST_TEST(std::isnan(run<float>(lowest, {40, 1}, row).front()));
  }
}

BOOST_AUTO_TEST_CASE(elements_that_tie_share_the_gradient_of_an_extremum) {
  for (const bool highest : {true, false}) {
    Graph graph;
    const Value x = input(graph, "x", {DType::f64, {2, 3}});
    const Value y = sum(highest ? max(x, {1}) : min(x, {1}));
    const Value dx = testing::gradients(y, {x})[0];
    const double s = highest ? 1 : -1;
    const Tensor at = Tensor::of<double>({2, 3}, {s * 4, s * 1, s * 4, 2, 2, 2});
    const Tensor found = evaluate(graph, {{"x", at}}, {dx.id}).front();
    const std::vector<double> expected{0.5, 0, 0.5, 1.0 / 3, 1.0 / 3, 1.0 / 3};
    BOOST_TEST(found.values<double>() == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(the_logarithm_of_a_sum_of_exponentials_neither_overflows_nor_vanishes) {
  const auto all = [](Value x) { return log_sum_exp(x); };
  const auto columns = [](Value x) { return log_sum_exp(x, {0}); };
  for (double base : {-1e4, -100.0, 0.0, 100.0, 1e4}) {
    BOOST_TEST(run<double>(all, {2}, {base, base}).front() == base + std::log(2),
               boost::test_tools::tolerance(1e-14));
    BOOST_TEST(run<double>(columns, {2, 1}, {base, base}).front() == base + std::log(2),
               boost::test_tools::tolerance(1e-14));
  }
  BOOST_TEST(run<double>(all, {3}, {-inf, 2, -inf}).front() == 2);
  BOOST_TEST(run<double>(all, {2}, {-inf, -inf}).front() == -inf);
  BOOST_TEST(run<double>(columns, {2, 2}, {-inf, 1, -inf, -inf}) == (std::vector<double>{-inf, 1}),
             boost::test_tools::per_element());
  BOOST_TEST(run<double>(all, {2}, {inf, 0}).front() == inf);
  BOOST_TEST(std::isnan(run<double>(all, {2}, {nan, 0}).front()));
  BOOST_TEST(std::isnan(run<double>(columns, {2, 1}, {0, nan}).front()));
  BOOST_TEST(run<double>(all, {0}, {}).front() == -inf);
}

BOOST_AUTO_TEST_CASE(the_gradient_of_log_sum_exp_is_zero_where_all_elements_are_minus_infinity) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {2, 2}});
  const Value dx = testing::gradients(sum(log_sum_exp(x, {1})), {x})[0];
  const Tensor at = Tensor::of<double>({2, 2}, {-inf, -inf, 0, -inf});
  const Tensor found = evaluate(graph, {{"x", at}}, {dx.id}).front();
  BOOST_TEST(found.values<double>() == (std::vector<double>{0, 0, 1, 0}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(log_sum_exp_of_long_rows_in_f32_is_as_good_as_a_double_loop) {
  std::mt19937_64 random(11);
  for (std::int64_t n : {1, 31, 32, 33, 1023, 1025, 5000}) {
    const Tensor x = testing::random_tensor({DType::f32, {3, n}}, -20, 20, random);
    Graph graph;
    const Value y = log_sum_exp(input(graph, "x", x.type()), {1});
    const Tensor found = evaluate(graph, {{"x", x}}, {y.id}).front();
    for (std::int64_t row = 0; row < 3; ++row) {
      double sum = 0;
      for (std::int64_t i = 0; i < n; ++i) sum += std::exp(x.at(row * n + i));
      BOOST_TEST(found.at(row) == std::log(sum), boost::test_tools::tolerance(2e-6));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_median_is_the_lower_one_of_the_sorted_list) {
  const auto middle = [](Value x) { return median(x); };
  BOOST_TEST(run<double>(middle, {4}, {4, 1, 3, 2}).front() == 2);
  BOOST_TEST(run<double>(middle, {5}, {5, 4, 1, 3, 2}).front() == 3);
  BOOST_TEST(run<std::int32_t>(middle, {2, 2}, {9, 9, 0, 0}).front() == 0);
  BOOST_TEST(run<float>(middle, {}, {7}).front() == 7);
  BOOST_TEST(run<double>(middle, {3}, {inf, -inf, inf}).front() == inf);
  BOOST_TEST(std::isnan(run<double>(middle, {3}, {1, nan, 2}).front()));
  std::mt19937_64 random(2);
  for (std::int64_t n = 1; n < 60; ++n) {
    const Tensor x = testing::random_tensor({DType::f64, {n}}, 0, 10, random);
    std::vector<double> sorted(x.values<double>().begin(), x.values<double>().end());
    std::sort(sorted.begin(), sorted.end());
    const Tensor found = evaluate_op(*find_op("median"), {x},
                                     make_attributes("median", find_op("median")->attrs(), {}));
    BOOST_TEST(found.at(0) == sorted[static_cast<std::size_t>((n - 1) / 2)]);
  }
}

BOOST_AUTO_TEST_CASE(the_median_of_many_numbers_is_exact_however_they_are_spread) {
  const auto check = [&](auto zero, auto&& draw) {
    using T = decltype(zero);
    std::mt19937_64 random(3);
    for (const std::int64_t n : {61, 1000, 2500, 9001}) {
      Tensor x({dtype_of<T>, {n}});
      for (T& value : x.values<T>()) value = static_cast<T>(draw(random));
      std::vector<T> sorted(x.values<T>().begin(), x.values<T>().end());
      std::sort(sorted.begin(), sorted.end());
      const Tensor found = evaluate_op(*find_op("median"), {x},
                                       make_attributes("median", find_op("median")->attrs(), {}));
      BOOST_TEST(found.data<T>()[0] == sorted[static_cast<std::size_t>((n - 1) / 2)]);
    }
  };
  const auto all = [&](auto&& draw) {
    check(float{}, draw);
    check(double{}, draw);
    check(std::int32_t{}, draw);
  };
  std::normal_distribution<double> normal;
  all([&](auto& random) { return 1e3 * normal(random); });                    // of both signs
  all([&](auto& random) { return -1e-3 - 1e6 * std::abs(normal(random)); });  // negative
  all([](auto& random) { return static_cast<double>(random() % 3) - 1; });    // ties
  all([](auto&) { return 7; });
  all([](auto& random) { return std::ldexp(1.0, static_cast<int>(random() % 30)); });
  check(float{}, [](auto& random) {
    return random() % 3 == 0 ? inf : random() % 2 == 0 ? -inf : 0;
  });
}

BOOST_AUTO_TEST_CASE(what_has_no_value_over_zero_elements_says_so) {
  BOOST_TEST(infer_message(mean, {2, 0}, {1}) ==
             "[mean] has no value over zero elements: [2,0] over axes [1]; inputs x=f32[2,0]");
  BOOST_TEST(infer_message(max, {0}, {}) ==
             "[max] has no value over zero elements: [0] over axes all; inputs x=f32[0]");
  BOOST_TEST(infer_message(min, {3, 0, 2}, {1, 2}) ==
             "[min] has no value over zero elements: [3,0,2] over axes [1,2]; inputs "
             "x=f32[3,0,2]");
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {0, 2}});
  BOOST_TEST(message_of([&] { median(x); }) ==
             "[median] has no value over zero elements; inputs x=f32[0,2]");
  // Over an axis that has elements, there is nothing to complain about.
  BOOST_TEST(max(x, {1}).shape() == Shape({0}));
  BOOST_TEST(sum(x, {0}).shape() == Shape({2}));
}

BOOST_AUTO_TEST_CASE(wrong_axes_and_dtypes_are_named) {
  BOOST_TEST(infer_message(max, {2, 3}, {2}) == "[max] axis 2 is out of range for rank 2");
  BOOST_TEST(infer_message(sum, {2, 3}, {-3}) == "[sum] axis -3 is out of range for rank 2");
  BOOST_TEST(infer_message(log_sum_exp, {2, 3}, {1, -1}) == "[log_sum_exp] axis 1 is given twice");
  Graph graph;
  const Value i = input(graph, "i", {DType::i32, {2}});
  BOOST_TEST(message_of([&] { mean(i); }) ==
             "[mean] input 'x' is i32; expected f32 or f64 (use cast); inputs x=i32[2]");
  BOOST_TEST(message_of([&] { log_sum_exp(i); }) ==
             "[log_sum_exp] input 'x' is i32; expected f32 or f64 (use cast); inputs x=i32[2]");
  const OpDef& op = *find_op("median");
  const auto two = make_attributes("median", op.attrs(), {{"batch_rank", std::int64_t{2}}});
  BOOST_TEST(message_of([&] { call(op, {i}, two); }) ==
             "[median] batch_rank 2 is out of range for rank 1; inputs x=i32[2]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace whorl
