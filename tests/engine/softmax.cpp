// softmax, log_softmax, softmax_cross_entropy, bernoulli_cross_entropy.
#include <limits>

#include "tests/engine/op_checks.hpp"

namespace whorl {
namespace {

using testing::message_of;

constexpr double inf = std::numeric_limits<double>::infinity();

// One op on named inputs of one graph.
struct Built {
  Graph graph;
  Feeds feeds;
  Value add(std::string_view name, const Tensor& tensor) {
    feeds.emplace(name, tensor);
    return input(graph, name, tensor.type());
  }
  Tensor value(Value v) { return evaluate(graph, feeds, {v.id}).front(); }
};

BOOST_AUTO_TEST_SUITE(softmax_ops)

BOOST_AUTO_TEST_CASE(every_op_passes_the_checks_of_its_samples) {
  for (const char* name : {"softmax", "log_softmax", "softmax_cross_entropy",
                           "softmax_cross_entropy_gradient", "bernoulli_cross_entropy"})
    testing::check_op(name);
}

BOOST_AUTO_TEST_CASE(rows_of_every_length_agree_with_a_long_double_loop) {
  std::mt19937_64 random(4);
  for (std::int64_t n : {1, 2, 10, 31, 32, 33, 100, 1500}) {
    Built b;
    const Tensor x = testing::random_tensor({DType::f32, {19, n}}, -30, 30, random);
    const Tensor labels =
        testing::random_tensor({DType::i32, {19}}, 0, static_cast<double>(n), random);
    const Value in = b.add("x", x), label = b.add("labels", labels);
    const Tensor p = b.value(softmax(in)), log_p = b.value(log_softmax(in));
    const Tensor entropy = b.value(softmax_cross_entropy(in, label));
    const Tensor g = b.value(testing::gradients(sum(softmax_cross_entropy(in, label)), {in})[0]);
    for (std::int64_t row = 0; row < 19; ++row) {
      long double total = 0;
      for (std::int64_t i = 0; i < n; ++i) total += expl(x.at(row * n + i));
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t e = row * n + i;
        const auto exact = static_cast<double>(expl(x.at(e)) / total);
        const auto exact_log = static_cast<double>(x.at(e) - logl(total));
        const bool hit = labels.data<std::int32_t>()[row] == i;
        // x - max x reaches 60, and its rounding of up to 2^-19 is a relative error of exp.
        BOOST_TEST(std::abs(p.at(e) - exact) <= 3e-6 * exact);
        BOOST_TEST(std::abs(log_p.at(e) - exact_log) <= 4e-6 * std::max(1.0, std::abs(exact_log)));
        BOOST_TEST(std::abs(g.at(e) - (exact - hit)) <= 1e-6);
        if (hit) BOOST_TEST(entropy.at(row) == -log_p.at(e));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_row_has_the_same_bits_whatever_rows_are_computed_with_it) {
  std::mt19937_64 random(8);
  for (std::int64_t n : {3, 10, 50}) {
    const Tensor x = testing::random_tensor({DType::f32, {40, n}}, -5, 5, random);
    const Tensor all = evaluate_op(*find_op("softmax"), {x}, {});
    for (std::int64_t row = 0; row < 40; ++row) {
      const Tensor one = evaluate_op(*find_op("softmax"), {testing::chain_of(x, row)}, {});
      BOOST_TEST(one.same_bits(testing::chain_of(all, row)));
    }
  }
}

BOOST_AUTO_TEST_CASE(large_and_infinite_logits_do_no_harm_to_their_row) {
  Built b;
  const Value x = b.add("x", Tensor::of<double>({3, 2}, {1e4, 1e4, -1e4, 1e4, -inf, 3}));
  const Tensor p = b.value(softmax(x));
  BOOST_TEST(p.values<double>() == (std::vector<double>{0.5, 0.5, 0, 1, 0, 1}),
             boost::test_tools::per_element());
  const Tensor log_p = b.value(log_softmax(x));
  const std::vector<double> logs{-std::log(2), -std::log(2), -2e4, 0, -inf, 0};
  BOOST_TEST(log_p.values<double>() == logs, boost::test_tools::per_element());
  Built only_low;
  const Value low = only_low.add("x", Tensor::of<double>({2}, {-inf, -inf}));
  BOOST_TEST(std::isnan(only_low.value(softmax(low)).at(0)));
}

BOOST_AUTO_TEST_CASE(a_label_out_of_range_is_named_with_its_element) {
  for (std::int32_t bad : {-1, 3, 255}) {
    Built b;
    const Value logits = b.add("logits", Tensor({DType::f32, {2, 2, 3}}));
    const Value labels = b.add("labels", Tensor::of<std::int32_t>({2, 2}, {0, 2, bad, 1}));
    const Value y = softmax_cross_entropy(logits, labels);
    const Value g = testing::gradients(sum(y), {logits})[0];
    const std::string what =
        fmt::format("label out of range: element 2 is {}; expected 0 to 2", bad);
    BOOST_TEST(message_of([&] { b.value(y); }) ==
               fmt::format("[run] node {} (softmax_cross_entropy): {}", y.id, what));
    BOOST_TEST(message_of([&] { b.value(g); }) ==
               fmt::format("[run] node {} (softmax_cross_entropy_gradient): {}", g.id, what));
  }
}

BOOST_AUTO_TEST_CASE(the_bernoulli_entropy_keeps_the_digits_of_a_small_value) {
  Built b;
  const Value z = b.add("z", Tensor::of<float>({4}, {40.0f, -40.0f, 40.0f, 0.0f}));
  const Value t = b.add("t", Tensor::of<float>({4}, {1.0f, 0.0f, 0.0f, 0.5f}));
  const Tensor y = b.value(bernoulli_cross_entropy(z, t));
  const double small = std::exp(-40.0);
  BOOST_TEST(y.at(0) == small, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(y.at(1) == small, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(y.at(2) == 40);
  BOOST_TEST(y.at(3) == std::log(2), boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(bad_shapes_and_dtypes_are_refused_with_what_was_found) {
  Graph graph;
  const Value scalar = input(graph, "scalar", {DType::f32, {}});
  const Value empty = input(graph, "empty", {DType::f32, {2, 0}});
  const Value logits = input(graph, "logits", {DType::f32, {2, 3}});
  const Value floats_as_labels = input(graph, "floats", {DType::f32, {2}});
  const Value labels = input(graph, "labels", {DType::i32, {3}});
  const Value wide = input(graph, "wide", {DType::f64, {2, 3}});
  BOOST_TEST(message_of([&] { softmax(scalar); }) ==
             "[softmax] needs an axis to work along: rank 0; inputs x=f32[]");
  BOOST_TEST(message_of([&] { log_softmax(empty); }) ==
             "[log_softmax] has no value over zero elements: the last axis is 0; inputs "
             "x=f32[2,0]");
  BOOST_TEST(message_of([&] { softmax(labels); }) ==
             "[softmax] input 'x' is i32; expected f32 or f64 (use cast); inputs x=i32[3]");
  BOOST_TEST(message_of([&] { softmax_cross_entropy(logits, floats_as_labels); }) ==
             "[softmax_cross_entropy] input 'labels' is f32; expected i32 (use cast); inputs "
             "logits=f32[2,3] labels=f32[2]");
  BOOST_TEST(message_of([&] { softmax_cross_entropy(logits, labels); }) ==
             "[softmax_cross_entropy] there must be one label for each row: labels [3] for logits "
             "[2,3]; inputs logits=f32[2,3] labels=i32[3]");
  BOOST_TEST(message_of([&] { softmax_cross_entropy(empty, labels); }) ==
             "[softmax_cross_entropy] has no value over zero elements: the last axis is 0; inputs "
             "logits=f32[2,0] labels=i32[3]");
  const Value two = input(graph, "two", {DType::i32, {2}});
  const OpDef& gradient = *find_op("softmax_cross_entropy_gradient");
  BOOST_TEST(message_of([&] {
               call(gradient, {logits, two, logits});
             }) ==
             "[softmax_cross_entropy_gradient] dy is f32[2,3]; expected f32[2]; inputs "
             "logits=f32[2,3] labels=i32[2] dy=f32[2,3]");
  BOOST_TEST(message_of([&] { bernoulli_cross_entropy(logits, wide); }) ==
             "[bernoulli_cross_entropy] the inputs' types differ; inputs logits=f32[2,3] "
             "targets=f64[2,3]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace whorl
