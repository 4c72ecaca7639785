// matmul against a plain loop, for shapes of every method of kernels/matmul.hpp.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>

#include "engine/evaluate.hpp"
#include "engine/executor.hpp"
#include "engine/kernels/blas.hpp"
#include "engine/ops.hpp"

using namespace whorl;

namespace {

struct Case {
  Shape a, b;
  bool transpose_a = false, transpose_b = false;
};

std::string to_string(const Case& c) {
  return fmt::format("{}{} x {}{}", whorl::to_string(c.a), c.transpose_a ? "'" : "",
                     whorl::to_string(c.b), c.transpose_b ? "'" : "");
}

Attributes attributes_of(const Case& c) {
  return make_attributes("matmul", find_op("matmul")->attrs(),
                         {{"transpose_a", c.transpose_a}, {"transpose_b", c.transpose_b}});
}

// Multiples of 1/8 in [-1, 1]: products of a few of them are exact, so that wrong sums stand out.
Tensor numbers_of(const Type& type, std::uint32_t seed) {
  Tensor tensor(type);
  std::uint32_t state = seed * 2654435761u + 12345u;
  dispatch(type.dtype, [&](auto zero) {
    for (auto& x : tensor.values<decltype(zero)>()) {
      state = state * 1664525u + 1013904223u;
      x = static_cast<decltype(zero)>((static_cast<int>(state >> 16) % 17 - 8) / 8.0);
    }
  });
  return tensor;
}

Tensor product(const Tensor& a, const Tensor& b, const Case& c) {
  return evaluate_op(*find_op("matmul"), {a, b}, attributes_of(c));
}

// One element of a matrix [..., rows, inner], or of a vector, which has only one row or column.
double element(const Tensor& x, std::int64_t matrix, std::int64_t i, std::int64_t j,
               bool transposed, bool column_vector) {
  const Shape& shape = x.shape();
  if (shape.rank() == 1) return x.at(column_vector ? i : j);
  if (transposed) std::swap(i, j);
  const std::int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  if (shape.rank() == 2) matrix = 0;
  return x.at((matrix * rows + i) * columns + j);
}

double worst_difference(const Tensor& a, const Tensor& b, const Case& c, const Tensor& y) {
  const auto side = [](const Shape& s, bool last) {
    return s.rank() == 1 ? s[0] : s[s.rank() - (last ? 1 : 2)];
  };
  const std::int64_t inner = side(c.a, !c.transpose_a);
  const std::int64_t rows = c.a.rank() == 1 ? 1 : side(c.a, c.transpose_a);
  const std::int64_t columns = c.b.rank() == 1 ? 1 : side(c.b, !c.transpose_b);
  double worst = 0;
  for (std::int64_t at = 0; at < y.elements(); ++at) {
    const std::int64_t j = at % columns, i = at / columns % rows, matrix = at / columns / rows;
    double sum = 0;
    for (std::int64_t k = 0; k < inner; ++k)
      sum += element(a, matrix, i, k, c.transpose_a, false) *
             element(b, matrix, k, j, c.transpose_b, true);
    worst = std::max(worst, std::abs(sum - y.at(at)));
  }
  return worst;
}

// Small, plain, cut in rows, cut in columns, padded, stacked, folded, swapped; both layouts.
const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {{3, 4}, {4, 5}},
      {{2, 4, 3}, {2, 5, 4}, true, true},
      {{1, 1}, {1, 1}},
      {{30, 20}, {20, 24}},
      {{20, 30}, {24, 20}, true, true},
      {{520, 200}, {200, 90}},
      {{200, 520}, {90, 200}, true, true},
      {{90, 200}, {200, 520}},
      {{90, 200}, {520, 200}, false, true},
      {{600, 50}, {50, 600}},
      {{140, 30}, {30, 10}},
      {{30, 140}, {10, 30}, true, true},
      {{300, 140}, {140, 10}},
      {{140, 300}, {10, 140}, true, true},
      {{3, 140, 30}, {3, 30, 11}},
      {{40000, 16}, {16, 15}},
      {{70, 80}, {5, 80, 40}},
      {{80, 70}, {5, 80, 40}, true, false},
      {{70, 80}, {5, 40, 80}, false, true},
      {{80, 70}, {5, 40, 80}, true, true},
      {{7, 6}, {30, 6, 5}},
      {{2100, 64}, {2, 64, 10}},
      {{7, 20}, {3, 20, 40}},
      {{5, 7, 20}, {20, 40}},
      {{5, 20, 7}, {20, 40}, true, false},
      {{5, 20, 30}, {10, 20}, true, true},
      {{2, 3, 7, 20}, {2, 3, 20, 17}},
      {{20}, {20}},
      {{30, 20}, {20}},
      {{20, 30}, {20}, true, false},
      {{20}, {20, 30}},
      {{20}, {30, 20}, false, true},
      {{20}, {4, 20, 30}},
      {{4, 30, 20}, {20}},
      {{4, 20, 30}, {20}, true, false},
      {{30, 20}, {6, 20, 1}},
      {{20, 30}, {6, 1, 20}, true, true},
  };
  return all;
}

double inner_product(const Tensor& x, const Tensor& y) {
  double sum = 0;
  for (std::int64_t i = 0; i < x.elements(); ++i) sum += x.at(i) * y.at(i);
  return sum;
}

std::string error_of(const Case& c, DType a = DType::f32, DType b = DType::f32) {
  Graph graph;
  const Value left = input(graph, "a", {a, c.a}), right = input(graph, "b", {b, c.b});
  try {
    whorl::matmul(left, right, c.transpose_a, c.transpose_b);
  } catch (const Error& error) {
    BOOST_TEST((error.kind() == ErrorKind::graph));
    BOOST_TEST(graph.size() == 2u);
    return error.what();
  }
  return "";
}

// A tensor with x's elements, `bytes` after a 64-byte boundary.
struct Moved {
  std::shared_ptr<void> storage;
  Tensor tensor;
  Moved(const Tensor& x, std::int64_t bytes)
      : storage(allocate_storage(x.bytes() + bytes)),
        tensor(Tensor::borrow(x.type(), static_cast<char*>(storage.get()) + bytes)) {
    std::copy_n(static_cast<const char*>(x.raw()), x.bytes(), static_cast<char*>(tensor.raw()));
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(matmul)

BOOST_AUTO_TEST_CASE(every_method_agrees_with_a_plain_loop) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Case& c : cases()) {
      const Tensor a = numbers_of({dtype, c.a}, 1), b = numbers_of({dtype, c.b}, 2);
      const Tensor y = product(a, b, c);
      BOOST_TEST(worst_difference(a, b, c, y) == 0.0, to_string(c) << " " << name(dtype));
    }
  }
}

// Every number of rows and columns that can be left over by a block of the kernel.
BOOST_AUTO_TEST_CASE(small_products_of_every_size_equal_a_plain_loop) {
  for (const DType dtype : {DType::f32, DType::f64})
    for (std::int64_t rows = 8; rows < 14; ++rows)
      for (std::int64_t columns = 4; columns < 34; ++columns)
        for (const bool transposed : {false, true}) {
          const std::int64_t inner = columns % 3 == 0 ? 128 : columns % 3 == 1 ? 4 : 9;
          const Case c = transposed ? Case{{inner, rows}, {columns, inner}, true, true}
                                    : Case{{rows, inner}, {inner, columns}};
          const Tensor a = numbers_of({dtype, c.a}, 1), b = numbers_of({dtype, c.b}, 2);
          BOOST_TEST(worst_difference(a, b, c, product(a, b, c)) == 0.0, to_string(c)
                                                                             << " " << name(dtype));
        }
}

BOOST_AUTO_TEST_CASE(a_vector_operand_leaves_no_axis) {
  const auto shape_of = [](const Case& c) {
    return whorl::to_string(
        product(Tensor({DType::f32, c.a}), Tensor({DType::f32, c.b}), c).shape());
  };
  BOOST_TEST(shape_of({{3}, {3}}) == "[]");
  BOOST_TEST(shape_of({{2, 3}, {3}}) == "[2]");
  BOOST_TEST(shape_of({{3}, {3, 4}}) == "[4]");
  BOOST_TEST(shape_of({{5, 2, 3}, {3}}) == "[5,2]");
  BOOST_TEST(shape_of({{3}, {5, 4, 3}, false, true}) == "[5,4]");
  BOOST_TEST(shape_of({{2, 3}, {5, 3, 4}}) == "[5,2,4]");
  BOOST_TEST(shape_of({{6, 5, 2, 3}, {3, 4}}) == "[6,5,2,4]");
}

BOOST_AUTO_TEST_CASE(an_empty_inner_dimension_gives_zeros_and_empty_sides_give_nothing) {
  const auto run = [](const Case& c) {
    return product(Tensor({DType::f32, c.a}), Tensor({DType::f32, c.b}), c);
  };
  const Tensor zeros = run({{2, 3, 0}, {2, 0, 4}});
  BOOST_TEST(zeros.elements() == 24);
  for (std::int64_t i = 0; i < 24; ++i) BOOST_TEST(zeros.at(i) == 0.0);
  BOOST_TEST(run({{0}, {0}}).at(0) == 0.0);
  BOOST_TEST(run({{3, 0}, {5, 0, 1}}).elements() == 15);
  for (const Case& c : {Case{{0, 3}, {3, 4}}, Case{{3, 3}, {3, 0}}, Case{{0, 2, 3}, {0, 3, 4}},
                        Case{{100, 100}, {0, 100, 5}}, Case{{0, 0}, {0, 0}}})
    BOOST_TEST(run(c).elements() == 0);
}

BOOST_AUTO_TEST_CASE(errors_name_the_dimensions_and_the_inputs) {
  BOOST_TEST(error_of({{20, 785}, {784, 10}}) ==
             "[matmul] inner dimensions differ: 785 and 784; inputs a=f32[20,785] b=f32[784,10]");
  BOOST_TEST(error_of({{3}, {4}}) ==
             "[matmul] inner dimensions differ: 3 and 4; inputs a=f32[3] b=f32[4]");
  BOOST_TEST(
      error_of({{2, 3, 4}, {5, 4, 3}}) ==
      "[matmul] leading axes differ: [2] and [5]; they must be equal, or one operand a plain "
      "matrix; inputs a=f32[2,3,4] b=f32[5,4,3]");
  BOOST_TEST(error_of({{}, {4}}) ==
             "[matmul] a is a scalar; expected a vector or a matrix; inputs a=f32[] b=f32[4]");
  BOOST_TEST(error_of({{3, 4}, {4}, false, true}) ==
             "[matmul] transpose_b is set for a vector; inputs a=f32[3,4] b=f32[4]");
  BOOST_TEST(error_of({{3, 4}, {4, 2}}, DType::f32, DType::f64) ==
             "[matmul] the inputs' types differ; inputs a=f32[3,4] b=f64[4,2]");
  BOOST_TEST(error_of({{4294967296, 1}, {1, 1}}) ==
             "[matmul] a has a side of 4294967296; the limit is 2^31 - 1; inputs "
             "a=f32[4294967296,1] b=f32[1,1]");
}

BOOST_AUTO_TEST_CASE(units_may_run_one_by_one_in_any_order) {
  const OpDef& op = *find_op("matmul");
  for (const Case& c : cases()) {
    const Tensor a = numbers_of({DType::f32, c.a}, 3), b = numbers_of({DType::f32, c.b}, 4);
    const Tensor whole = product(a, b, c);
    const std::array types{a.type(), b.type()};
    Site site{&op, types, attributes_of(c), {}};
    site.out = op.infer(site);
    Tensor y(site.out);
    std::fill_n(static_cast<unsigned char*>(y.raw()), y.bytes(), 0xff);  // NaN
    const std::int64_t bytes = op.scratch(site);
    const auto scratch = allocate_storage(bytes);
    const std::array<const void*, 2> pointers{a.raw(), b.raw()};
    for (std::int64_t unit = op.units(site); unit-- > 0;) {
      if (unit % 2 == 0) std::fill_n(static_cast<unsigned char*>(scratch.get()), bytes, 0xff);
      op.forward[0]({&site, pointers.data(), y.raw(), scratch.get()}, unit, unit + 1);
    }
    BOOST_TEST(y.same_bits(whole), to_string(c));
  }
}

BOOST_AUTO_TEST_CASE(units_depend_on_shapes_only) {
  const auto units = [](const Case& c) {
    const OpDef& op = *find_op("matmul");
    const std::array types{Type{DType::f32, c.a}, Type{DType::f32, c.b}};
    return op.units({&op, types, attributes_of(c), {}});
  };
  BOOST_TEST(units({{500, 784}, {20, 784, 40}}) == 8);        // stacked
  BOOST_TEST(units({{500, 784}, {20, 500, 40}, true}) == 8);  // its gradient
  BOOST_TEST(units({{20, 500, 40}, {20, 40, 40}}) == 20);     // one a chain
  BOOST_TEST(units({{800, 88}, {88, 600}}) == 8);             // cut
  BOOST_TEST(units({{3, 4}, {4, 5}}) == 1);
}

BOOST_AUTO_TEST_CASE(results_do_not_depend_on_addresses) {
  for (const Case& c : cases()) {
    Tensor a = numbers_of({DType::f32, c.a}, 5), b = numbers_of({DType::f32, c.b}, 6);
    for (float& x : a.values<float>()) x = std::sqrt(std::abs(x) + 0.1f);  // sums that round
    const Tensor y = product(a, b, c);
    for (const std::int64_t bytes : {4, 20, 32, 64, 192, 4096 + 64})
      BOOST_TEST(product(Moved(a, bytes).tensor, Moved(b, 4160 - bytes).tensor, c).same_bits(y),
                 to_string(c) << " moved by " << bytes);
  }
}

// matmul is linear in each operand, so <dy, da op b> = <adjoint of a, da> for every da.
BOOST_AUTO_TEST_CASE(adjoints_agree_with_the_product_of_a_direction) {
  const OpDef& op = *find_op("matmul");
  for (const Case& c : cases()) {
    Graph graph;
    const std::array inputs{input(graph, "a", {DType::f64, c.a}),
                            input(graph, "b", {DType::f64, c.b})};
    const Value y = whorl::matmul(inputs[0], inputs[1], c.transpose_a, c.transpose_b);
    const Value dy = input(graph, "dy", y.type());
    const Attributes attributes = attributes_of(c);
    const Adjoint adjoint{inputs, y, dy, &attributes};
    const Value da = op.gradient(adjoint, 0), db = op.gradient(adjoint, 1);
    const Tensor a = numbers_of(inputs[0].type(), 7), b = numbers_of(inputs[1].type(), 8);
    const Tensor seed = numbers_of(y.type(), 9);
    const auto values = evaluate(graph, {{"a", a}, {"b", b}, {"dy", seed}}, {da.id, db.id});
    const Tensor to_a = numbers_of(a.type(), 10), to_b = numbers_of(b.type(), 11);
    BOOST_TEST(inner_product(seed, product(to_a, b, c)) == inner_product(values[0], to_a),
               to_string(c));
    BOOST_TEST(inner_product(seed, product(a, to_b, c)) == inner_product(values[1], to_b),
               to_string(c));
  }
}

BOOST_AUTO_TEST_CASE(a_batch_equals_a_loop) {
  const OpDef& op = *find_op("matmul");
  constexpr std::int64_t size = 3;
  for (const Case& c : cases()) {
    for (const std::array<bool, 2> batched :
         {std::array{true, false}, std::array{false, true}, std::array{true, true}}) {
      Graph graph;
      const auto shape = [&](int i) {
        const Shape& one = i == 0 ? c.a : c.b;
        return batched[static_cast<std::size_t>(i)] ? one.with_front(size) : one;
      };
      const std::array inputs{input(graph, "a", {DType::f64, shape(0)}),
                              input(graph, "b", {DType::f64, shape(1)})};
      const Attributes attributes = attributes_of(c);
      const Value y = op.batch({&graph, &op, inputs, batched, size, &attributes});
      const Tensor a = numbers_of(inputs[0].type(), 12), b = numbers_of(inputs[1].type(), 13);
      const Tensor all = evaluate(graph, {{"a", a}, {"b", b}}, {y.id}).front();
      for (std::int64_t i = 0; i < size; ++i) {
        const auto one = [&](Tensor x, const Shape& s, bool is_batched) {
          return Tensor::borrow({DType::f64, s},
                                x.data<double>() + (is_batched ? i * s.elements() : 0));
        };
        const Tensor expected = product(one(a, c.a, batched[0]), one(b, c.b, batched[1]), c);
        BOOST_TEST(all.shape() == expected.shape().with_front(size));
        const std::int64_t n = expected.elements();
        const Tensor found = Tensor::borrow(expected.type(), Tensor(all).data<double>() + i * n);
        BOOST_TEST(found.same_bits(expected), to_string(c));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(an_executor_gives_the_same_bits_on_any_number_of_threads) {
  for (const Case& c : cases()) {
    Graph graph;
    const Value a = input(graph, "a", {DType::f32, c.a}), b = input(graph, "b", {DType::f32, c.b});
    graph.add_output("y", whorl::matmul(a, b, c.transpose_a, c.transpose_b).id);
    const auto plan = compile(graph);
    Tensor left = numbers_of(a.type(), 14), right = numbers_of(b.type(), 15);
    for (float& x : left.values<float>()) x = std::sqrt(std::abs(x) + 0.1f);
    const Tensor expected = product(left, right, c);
    for (const int threads : {1, 2, 5}) {
      Executor executor(plan, {.threads = threads});
      executor.bind("a", left);
      executor.bind("b", right);
      executor.run();
      BOOST_TEST(executor.output("y").same_bits(expected), to_string(c));
    }
  }
}

BOOST_AUTO_TEST_CASE(an_executor_runs_products_of_nothing) {
  for (const Case& c : {Case{{0, 3}, {3, 4}}, Case{{100, 100}, {0, 100, 5}}, Case{{0, 5}, {5}}}) {
    Graph graph;
    const Value a = input(graph, "a", {DType::f32, c.a}), b = input(graph, "b", {DType::f32, c.b});
    graph.add_output("y", whorl::matmul(a, b).id);
    Executor executor(compile(graph));
    executor.bind("a", Tensor(a.type()));
    executor.bind("b", Tensor(b.type()));
    executor.run();
    BOOST_TEST(executor.output("y").elements() == 0);
  }
}

BOOST_AUTO_TEST_CASE(the_library_is_described_for_run_records) {
  BOOST_TEST(blas_description().find("MKL") != std::string::npos);
  BOOST_TEST(blas_description().find("AUTO") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
