// cholesky, triangular_solve, symmetric_solve, log_determinant.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "engine/evaluate.hpp"
#include "engine/executor.hpp"
#include "engine/ops.hpp"

using namespace whorl;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

template <class T>
Tensor random_tensor(const Shape& shape, std::uint32_t seed) {
  Tensor tensor({dtype_of<T>, shape});
  std::uint32_t state = seed * 2654435761u + 12345u;
  for (T& x : tensor.values<T>()) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<T>(static_cast<double>(state >> 8) / (1 << 23) - 1);
  }
  return tensor;
}

// x x' / n + I, with numbers above the diagonal that must not be read.
template <class T>
Tensor positive_definite(std::int64_t count, std::int64_t n, std::uint32_t seed) {
  const Tensor x = random_tensor<T>({count, n, n}, seed);
  Tensor a({dtype_of<T>, {count, n, n}});
  for (std::int64_t at = 0; at < a.elements(); ++at) {
    const std::int64_t j = at % n, i = at / n % n, m = at / n / n;
    double sum = i == j ? 1 : 0;
    for (std::int64_t k = 0; k < n; ++k)
      sum += x.at((m * n + i) * n + k) * x.at((m * n + j) * n + k) / static_cast<double>(n);
    a.data<T>()[at] = static_cast<T>(j > i ? not_a_number : sum);
  }
  return a;
}

double symmetric(const Tensor& a, std::int64_t m, std::int64_t i, std::int64_t j) {
  const std::int64_t n = a.shape()[2];
  return a.at((m * n + std::max(i, j)) * n + std::min(i, j));
}

Tensor run(std::string_view op, const std::vector<Tensor>& inputs,
           const AttrList& attributes = {}) {
  const OpDef& def = *find_op(op);
  return evaluate_op(def, inputs, make_attributes(op, def.attrs(), attributes));
}

template <class F>
std::string error_of(ErrorKind kind, F&& f) {
  try {
    f();
  } catch (const Error& error) {
    BOOST_TEST((error.kind() == kind));
    return error.what();
  }
  return "";
}

template <class T>
void check_factor(double tolerance) {
  for (const std::int64_t n : {1, 2, 3, 4, 7, 20, 50, 64, 65, 130}) {
    const Tensor a = positive_definite<T>(3, n, 1);
    const Tensor l = run("cholesky", {a});
    double worst = 0;
    for (std::int64_t at = 0; at < a.elements(); ++at) {
      const std::int64_t j = at % n, i = at / n % n, m = at / n / n;
      if (j > i) BOOST_TEST(l.at(at) == 0.0);
      double sum = 0;
      for (std::int64_t k = 0; k < n; ++k)
        sum += l.at((m * n + i) * n + k) * l.at((m * n + j) * n + k);
      worst = std::max(worst, std::abs(sum - symmetric(a, m, i, j)));
    }
    BOOST_TEST(worst < tolerance);
  }
}

// sum(dy * y) as a function of one number of input `at`.
double moved(std::string_view op, std::vector<Tensor> inputs, const Tensor& dy, std::size_t input,
             std::int64_t at, double step) {
  inputs[input] = inputs[input].clone();
  inputs[input].data<double>()[at] += step;
  const Tensor y = run(op, inputs);
  double sum = 0;
  for (std::int64_t i = 0; i < y.elements(); ++i) sum += y.at(i) * dy.at(i);
  return sum;
}

void check_gradient(std::string_view op, const std::vector<Tensor>& inputs) {
  const OpDef& def = *find_op(op);
  Graph graph;
  std::vector<Value> values;
  Feeds feeds;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values.push_back(input(graph, fmt::format("x{}", i), inputs[i].type()));
    feeds.emplace(fmt::format("x{}", i), inputs[i]);
  }
  const Attributes attributes = make_attributes(op, def.attrs(), {});
  const Value y = call(def, values, attributes);
  const Value dy = input(graph, "dy", y.type());
  feeds.emplace("dy", random_tensor<double>(y.shape(), 77));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value dx = def.gradient({values, y, dy, &attributes}, static_cast<int>(i));
    const Tensor gradient = evaluate(graph, feeds, {dx.id}).front();
    for (std::int64_t at = 0; at < gradient.elements(); ++at) {
      constexpr double h = 1e-4;
      const Tensor& seed = feeds.at("dy");
      const double slope =
          (8 * (moved(op, inputs, seed, i, at, h) - moved(op, inputs, seed, i, at, -h)) -
           moved(op, inputs, seed, i, at, 2 * h) + moved(op, inputs, seed, i, at, -2 * h)) /
          (12 * h);
      BOOST_TEST(std::abs(slope - gradient.at(at)) < 1e-9, op << " input " << i << " element " << at
                                                              << ": " << gradient.at(at) << ", not "
                                                              << slope);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(linear_algebra)

BOOST_AUTO_TEST_CASE(
    a_factor_times_its_transpose_is_the_matrix_and_only_the_lower_triangle_is_read) {
  check_factor<float>(2e-5);
  check_factor<double>(1e-13);
}

BOOST_AUTO_TEST_CASE(a_matrix_that_is_not_positive_definite_is_named) {
  Graph graph;
  const Value a = input(graph, "a", {DType::f64, {3, 2, 2}});
  const Value l = cholesky(a);
  graph.set_name(l.id, "factor");
  Tensor value = Tensor::of<double>({3, 2, 2}, {1, 0, 0, 1, 1, 0, 2, 1, 1, 0, 0, 1});
  const auto text = [&] {
    return error_of(ErrorKind::numeric, [&] { evaluate(graph, {{"a", value}}, {l.id}); });
  };
  BOOST_TEST(text() ==
             "[run] node 1 'factor' (cholesky): matrix 1 is not positive definite: pivot 1 of 2 is "
             "not above zero");
  value.data<double>()[0] = not_a_number;
  BOOST_TEST(text() ==
             "[run] node 1 'factor' (cholesky): matrix 0 is not positive definite: pivot 0 of 2 is "
             "not above zero");
}

BOOST_AUTO_TEST_CASE(triangular_systems_are_solved_both_ways_for_matrices_and_vectors) {
  for (const bool transpose : {false, true}) {
    for (const Shape& right : {Shape{2, 9, 4}, Shape{2, 9, 1}, Shape{9}}) {
      const std::int64_t n = 9, count = right.rank() == 1 ? 1 : 2;
      Tensor l = run("cholesky", {positive_definite<double>(count, n, 2)});
      for (std::int64_t at = 0; at < l.elements(); ++at)
        if (at % n > at / n % n) l.data<double>()[at] = not_a_number;
      const Tensor b = random_tensor<double>(right, 3);
      const Tensor given = right.rank() == 1 ? Tensor::borrow({DType::f64, {n, n}}, l.raw()) : l;
      const Tensor x = run("triangular_solve", {given, b}, {{"transpose", transpose}});
      BOOST_TEST((x.shape() == right));
      const std::int64_t columns = right.rank() == 1 ? 1 : right[2];
      for (std::int64_t at = 0; at < x.elements(); ++at) {
        const std::int64_t j = at % columns, i = at / columns % n, m = at / columns / n;
        double sum = 0;
        for (std::int64_t k = 0; k < n; ++k)
          if (transpose ? k >= i : k <= i)
            sum += l.at(transpose ? (m * n + k) * n + i : (m * n + i) * n + k) *
                   x.at((m * n + k) * columns + j);
        BOOST_TEST(std::abs(sum - b.at(at)) < 1e-13);
      }
    }
  }
}

// Through every number of rows and columns that is left over by the kernels' blocks, and both sides
// of the sizes at which others take over.
BOOST_AUTO_TEST_CASE(triangular_systems_of_all_sizes_are_solved) {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 50, 64, 128, 129})
    for (const std::int64_t columns : {1, 3, 4, 8, 10, 16, 17, 50})
      for (const bool transpose : {false, true}) {
        const Tensor l = run("cholesky", {positive_definite<float>(1, n, 8)});
        const Tensor b = random_tensor<float>({1, n, columns}, 9);
        const Tensor x = run("triangular_solve", {l, b}, {{"transpose", transpose}});
        double worst = 0;
        for (std::int64_t at = 0; at < x.elements(); ++at) {
          const std::int64_t j = at % columns, i = at / columns;
          double sum = 0;
          for (std::int64_t k = 0; k < n; ++k)
            sum += l.at(transpose ? k * n + i : i * n + k) * x.at(k * columns + j);
          worst = std::max(worst, std::abs(sum - b.at(at)));
        }
        BOOST_TEST(worst < 3e-6, n << " rows, " << columns << " columns: " << worst);
      }
}

BOOST_AUTO_TEST_CASE(a_bad_pivot_is_found_wherever_it_stands) {
  for (const std::int64_t n : {5, 64, 65})
    for (std::int64_t pivot = 0; pivot < n; ++pivot) {
      Tensor a({DType::f32, {n, n}});
      for (std::int64_t i = 0; i < n; ++i) a.data<float>()[i * n + i] = i < pivot ? 4 : -1;
      BOOST_TEST(error_of(ErrorKind::numeric, [&] {
                   run("cholesky", {a});
                 }).find(fmt::format("pivot {} of {} ", pivot, n)) != std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(a_symmetric_solution_satisfies_its_system) {
  const std::int64_t n = 20, columns = 3;
  const Tensor a = positive_definite<double>(2, n, 4),
               b = random_tensor<double>({2, n, columns}, 5);
  const Tensor x = run("symmetric_solve", {a, b});
  for (std::int64_t at = 0; at < x.elements(); ++at) {
    const std::int64_t j = at % columns, i = at / columns % n, m = at / columns / n;
    double sum = 0;
    for (std::int64_t k = 0; k < n; ++k)
      sum += symmetric(a, m, i, k) * x.at((m * n + k) * columns + j);
    BOOST_TEST(std::abs(sum - b.at(at)) < 1e-13);
  }
}

BOOST_AUTO_TEST_CASE(log_determinants_are_one_number_a_matrix) {
  const Tensor a = Tensor::of<double>({2, 2, 2}, {4, 0, 2, 3, 9, 0, 0, 0.25});
  const Tensor y = run("log_determinant", {a});
  BOOST_TEST((y.shape() == Shape{2}));
  BOOST_TEST(y.at(0) == std::log(8.0), boost::test_tools::tolerance(1e-14));
  BOOST_TEST(y.at(1) == std::log(2.25), boost::test_tools::tolerance(1e-14));
}

// Above the diagonal the numbers are NaN, so a gradient that leaks there or reads there shows.
BOOST_AUTO_TEST_CASE(gradients_are_those_of_functions_of_the_lower_triangle) {
  const Tensor a = positive_definite<double>(2, 4, 6);
  const Tensor b = random_tensor<double>({2, 4, 3}, 7);
  check_gradient("cholesky", {a});
  check_gradient("symmetric_solve", {a, b});
  check_gradient("log_determinant", {a});
  check_gradient("triangular_solve", {a, b});
}

BOOST_AUTO_TEST_CASE(empty_matrices_are_legal) {
  const Tensor none({DType::f32, {0, 3, 3}}), empty({DType::f32, {2, 0, 0}});
  BOOST_TEST(run("cholesky", {none}).elements() == 0);
  BOOST_TEST(run("cholesky", {empty}).elements() == 0);
  BOOST_TEST(run("triangular_solve", {empty, Tensor({DType::f32, {2, 0, 4}})}).elements() == 0);
  BOOST_TEST(run("symmetric_solve", {none, Tensor({DType::f32, {0, 3, 0}})}).elements() == 0);
  const Tensor y = run("log_determinant", {empty});
  BOOST_TEST(y.elements() == 2);
  BOOST_TEST(y.at(0) == 0.0);
}

BOOST_AUTO_TEST_CASE(an_executor_runs_empty_matrices) {
  for (const Shape& shape : {Shape{0, 3, 3}, Shape{2, 0, 0}}) {
    Graph graph;
    const Value a = input(graph, "a", {DType::f32, shape});
    graph.add_output("x", symmetric_solve(a, a).id);
    Executor executor(compile(graph));
    executor.bind("a", Tensor(a.type()));
    executor.run();
    BOOST_TEST(executor.output("x").elements() == 0);
  }
}

BOOST_AUTO_TEST_CASE(shapes_that_do_not_fit_are_refused) {
  Graph graph;
  const Value flat = input(graph, "flat", {DType::f32, {3}});
  const Value oblong = input(graph, "oblong", {DType::f32, {2, 3}});
  const Value square = input(graph, "square", {DType::f32, {3, 3}});
  const Value many = input(graph, "many", {DType::f32, {4, 3, 3}});
  const Value others = input(graph, "others", {DType::f32, {5, 3, 2}});
  const auto text = [](auto&& f) { return error_of(ErrorKind::graph, f); };
  BOOST_TEST(text([&] { cholesky(flat); }) ==
             "[cholesky] a has rank 1; expected matrices; inputs a=f32[3]");
  BOOST_TEST(text([&] { log_determinant(oblong); }) ==
             "[log_determinant] a is not square: 2 and 3; inputs a=f32[2,3]");
  BOOST_TEST(text([&] { triangular_solve(square, oblong); }) ==
             "[triangular_solve] matrices of 3 rows for a right side of 2; inputs l=f32[3,3] "
             "b=f32[2,3]");
  BOOST_TEST(text([&] { triangular_solve(many, flat); }) ==
             "[triangular_solve] ranks differ: 3 and 1; inputs l=f32[4,3,3] b=f32[3]");
  BOOST_TEST(text([&] { triangular_solve(many, others); }) ==
             "[triangular_solve] leading axes differ: [4] and [5]; inputs l=f32[4,3,3] "
             "b=f32[5,3,2]");
  BOOST_TEST(text([&] { symmetric_solve(many, others); }) ==
             "[symmetric_solve] the right side does not fit: [5,3,2] for [4,3,3]; inputs "
             "a=f32[4,3,3] b=f32[5,3,2]");
  BOOST_TEST(graph.size() == 5u);
}

BOOST_AUTO_TEST_CASE(factors_and_solutions_do_not_depend_on_addresses) {
  const Tensor a = positive_definite<float>(1, 50, 8), b = random_tensor<float>({1, 50, 50}, 9);
  const Tensor l = run("cholesky", {a}), x = run("symmetric_solve", {a, b});
  for (const std::int64_t bytes : {4, 36, 64, 4160}) {
    const auto storage = allocate_storage(a.bytes() + b.bytes() + 2 * bytes);
    char* at = static_cast<char*>(storage.get()) + bytes;
    const Tensor a_there = Tensor::borrow(a.type(), at);
    const Tensor b_there = Tensor::borrow(b.type(), at + a.bytes() + bytes);
    std::copy_n(static_cast<const char*>(a.raw()), a.bytes(), at);
    std::copy_n(static_cast<const char*>(b.raw()), b.bytes(), at + a.bytes() + bytes);
    BOOST_TEST(run("cholesky", {a_there}).same_bits(l));
    BOOST_TEST(run("symmetric_solve", {a_there, b_there}).same_bits(x));
  }
}

BOOST_AUTO_TEST_SUITE_END()
