// matmul: products of matrices over the last two axes, see kernels/matmul.hpp for how.
//
// Leading axes are a batch. Both operands have the same ones, or one operand has none and is shared
// by all products. A vector is a row on the left and a column on the right, and the axis that it
// stands for is not in the result. With no inner dimension the result is zero.
#include "engine/kernels/matmul.hpp"

#include <limits>

#include "engine/ops.hpp"

namespace whorl {

namespace {

struct Matmul {
  struct Attrs {
    bool transpose_a = false;
    bool transpose_b = false;
    static constexpr auto fields() {
      return std::tuple{field("transpose_a", &Attrs::transpose_a).optional(),
                        field("transpose_b", &Attrs::transpose_b).optional()};
    }
  };
  static constexpr std::array<std::string_view, 2> inputs{"a", "b"};
  static constexpr DTypeSet dtypes = floats;

  static Type infer(const Site& site) {
    const Shape &a = site.in[0].shape, &b = site.in[1].shape;
    const auto& attrs = site.attrs<Attrs>();
    if (site.in[0].dtype != site.in[1].dtype) graph_error("matmul", "the inputs' types differ");
    check_operand("a", a, attrs.transpose_a);
    check_operand("b", b, attrs.transpose_b);
    const Product p = product(a, b, attrs);
    const std::int64_t b_inner = b.rank() == 1 ? b[0] : b[b.rank() - (attrs.transpose_b ? 1 : 2)];
    if (p.inner != b_inner)
      graph_error("matmul", "inner dimensions differ: {} and {}", p.inner, b_inner);
    if (a.rank() > 2 && b.rank() > 2 && leading(a) != leading(b))
      graph_error("matmul",
                  "leading axes differ: {} and {}; they must be equal, or one operand "
                  "a plain matrix",
                  to_string(leading(a)), to_string(leading(b)));
    return {site.in[0].dtype, result_shape(a, b, attrs)};
  }

  static std::int64_t units(const Site& site) {
    return plan_of(site, [](const auto& plan) { return plan.units(); });
  }
  static std::int64_t scratch(const Site& site) {
    return plan_of(site, [](const auto& plan) { return plan.scratch_bytes(); });
  }
  static double flops(const Site& site) {
    const Product p = product(site.in[0].shape, site.in[1].shape, site.attrs<Attrs>());
    return 2 * static_cast<double>(site.out.elements()) * static_cast<double>(p.inner);
  }
  template <class T>
  static void forward(const Call& c, std::int64_t begin, std::int64_t end) {
    const MatmulPlan<T> plan(product(c.type(0).shape, c.type(1).shape, c.attrs<Attrs>()));
    plan.run(c.in<T>(0), c.in<T>(1), c.out<T>(), static_cast<T*>(c.scratch), begin, end);
  }

  // With matrices A, B as stored and dY: d op(A) = dY op(B)', d op(B) = op(A)' dY, each transposed
  // when the operand is. A shared operand's adjoint is the sum over the products: one product whose
  // inner dimension runs over all of them.
  static Value gradient(const Adjoint& g, int input) {
    const auto [ta, tb] = g.attrs<Attrs>();
    const Value a = reshape(g.x(0), matrix_shape(g.x(0).shape(), 0));
    const Value b = reshape(g.x(1), matrix_shape(g.x(1).shape(), 1));
    const Value dy = reshape(g.dy, result_shape(a.shape(), b.shape(), g.attrs<Attrs>()));
    const bool shared = g.x(input).shape().rank() <= 2 && dy.shape().rank() > 2;
    Value result;
    if (!shared) {
      if (input == 0)
        result = ta ? matmul(b, dy, tb, true) : matmul(dy, b, false, !tb);
      else
        result = tb ? matmul(dy, a, true, ta) : matmul(a, dy, !ta, false);
    } else if (input == 0) {
      const Value dy_columns = rows_of(transpose(dy)), b_columns = rows_of(tb ? b : transpose(b));
      result = ta ? matmul(b_columns, dy_columns, true) : matmul(dy_columns, b_columns, true);
    } else {
      const Value dy_rows = rows_of(dy), a_rows = rows_of(ta ? transpose(a) : a);
      result = tb ? matmul(dy_rows, a_rows, true) : matmul(a_rows, dy_rows, true);
    }
    return reshape(result, g.x(input).shape());
  }

  static Value batch(const Batch& g) {
    const auto [ta, tb] = g.attrs<Attrs>();
    const Value a = g.x(0), b = g.x(1);
    const Shape one_a = g.is_batched(0) ? a.shape().without_front() : a.shape();
    const Shape one_b = g.is_batched(1) ? b.shape().without_front() : b.shape();
    if (g.is_batched(0) != g.is_batched(1)) {
      // The batch of vectors is a matrix.
      if (g.is_batched(0) && one_a.rank() == 1 && one_b.rank() <= 2) return matmul(a, b, false, tb);
      if (g.is_batched(1) && one_b.rank() == 1 && one_a.rank() <= 2)
        return matmul(b, a, false, one_a.rank() == 2 && !ta);
      // One plain operand for the whole batch.
      if ((g.is_batched(0) ? one_b : one_a).rank() <= 2) return matmul(a, b, ta, tb);
    }
    const Shape result = result_shape(one_a, one_b, g.attrs<Attrs>()).with_front(g.size);
    const Shape lead = leading(one_a.rank() > 2 ? one_a : one_b).with_front(g.size);
    // All rows of a that meet the same b are rows of one matrix: nothing has to be repeated.
    if (one_a.rank() > 2 && one_b.rank() <= 2 && !ta) {
      const Value matrices = with_leading(g, 1, Shape{g.size});
      Shape rows{one_a.span_elements(0, one_a.rank() - 1), one_a[one_a.rank() - 1]};
      if (g.is_batched(0)) rows = rows.with_front(g.size);
      return reshape(matmul(reshape(a, rows), matrices, false, tb), result);
    }
    return reshape(matmul(with_leading(g, 0, lead), with_leading(g, 1, lead), ta, tb), result);
  }

  static std::vector<Sample> samples() {
    const AttrList ta{{"transpose_a", true}}, tb{{"transpose_b", true}};
    const AttrList both{{"transpose_a", true}, {"transpose_b", true}};
    return {{{{{2, 3}}, {{3, 4}}}},
            {{{{3, 2}}, {{3, 4}}}, ta},
            {{{{2, 3}}, {{4, 3}}}, tb},
            {{{{3, 2}}, {{4, 3}}}, both},
            {{{{3}}, {{3}}}},  // vectors
            {{{{2, 3}}, {{3}}}},
            {{{{3, 2}}, {{3}}}, ta},
            {{{{3}}, {{3, 4}}}},
            {{{{3}}, {{2, 4, 3}}}, tb},
            {{{{2, 2, 3}}, {{3}}}},
            {{{{2, 2, 3}}, {{2, 3, 2}}}},  // leading axes
            {{{{2, 1, 3, 2}}, {{2, 1, 2, 3}}}, both},
            {{{{5, 4}}, {{2, 4, 4}}}},  // a shared left operand
            {{{{4, 5}}, {{2, 4, 4}}}, both},
            {{{{2, 2, 3}}, {{3, 2}}}},  // a shared right operand
            {{{{2, 3, 2}}, {{2, 3}}}, both},
            {{{{2, 0}}, {{0, 3}}}}};  // nothing to add
  }

 private:
  static void check_operand(std::string_view name, const Shape& shape, bool transposed) {
    if (shape.rank() == 0)
      graph_error("matmul", "{} is a scalar; expected a vector or a matrix", name);
    if (shape.rank() == 1 && transposed)
      graph_error("matmul", "transpose_{} is set for a vector", name);
    for (int axis = std::max(0, shape.rank() - 2); axis < shape.rank(); ++axis)
      if (shape[axis] > std::numeric_limits<std::int32_t>::max())
        graph_error("matmul", "{} has a side of {}; the limit is 2^31 - 1", name, shape[axis]);
  }
  static Shape leading(const Shape& shape) {
    return shape.rank() > 2 ? shape.slice(0, shape.rank() - 2) : Shape{};
  }
  static Product product(const Shape& a, const Shape& b, const Attrs& attrs) {
    const int ra = a.rank(), rb = b.rank();
    Product p;
    p.transpose_a = attrs.transpose_a;
    p.transpose_b = attrs.transpose_b;
    p.rows = ra == 1 ? 1 : a[attrs.transpose_a ? ra - 1 : ra - 2];
    p.inner = ra == 1 ? a[0] : a[attrs.transpose_a ? ra - 2 : ra - 1];
    p.columns = rb == 1 ? 1 : b[attrs.transpose_b ? rb - 2 : rb - 1];
    p.count = ra > 2 ? a.span_elements(0, ra - 2) : (rb > 2 ? b.span_elements(0, rb - 2) : 1);
    p.shared_a = ra <= 2;
    p.shared_b = rb <= 2;
    return p;
  }
  static Shape result_shape(const Shape& a, const Shape& b, const Attrs& attrs) {
    const Product p = product(a, b, attrs);
    const Shape lead = leading(a.rank() > 2 ? a : b);
    std::vector<std::int64_t> dims(lead.begin(), lead.end());
    if (a.rank() > 1) dims.push_back(p.rows);
    if (b.rank() > 1) dims.push_back(p.columns);
    return Shape(std::span<const std::int64_t>(dims));
  }
  // The shape of operand 0 or 1 with a vector written as the row or column that it is.
  static Shape matrix_shape(const Shape& shape, int operand) {
    if (shape.rank() != 1) return shape;
    return operand == 0 ? Shape{1, shape[0]} : Shape{shape[0], 1};
  }
  // [..., m, n] as the rows of one matrix [..., n].
  static Value rows_of(Value x) {
    const Shape& shape = x.shape();
    const int last = shape.rank() - 1;
    return reshape(x, Shape{shape.span_elements(0, last), shape[last]});
  }
  // An operand of a batch as matrices with the leading axes `lead`, the first of which is the
  // batch.
  static Value with_leading(const Batch& g, int operand, const Shape& lead) {
    const Value x = g.x(operand);
    const bool batched = g.is_batched(operand);
    Shape shape = matrix_shape(batched ? x.shape().without_front() : x.shape(), operand);
    std::vector<std::int64_t> full(lead.begin(), lead.end());
    full.insert(full.end(), shape.end() - 2, shape.end());
    Axes axes;
    for (int axis = 0; axis < shape.rank(); ++axis)
      axes.push_back(axis < shape.rank() - 2 ? axis + 1 : lead.rank() + axis - shape.rank() + 2);
    if (batched) {
      shape = shape.with_front(g.size);
      axes.insert(axes.begin(), 0);
    }
    return broadcast(reshape(x, shape), Shape(std::span<const std::int64_t>(full)), axes);
  }
  template <class F>
  static std::int64_t plan_of(const Site& site, F&& f) {
    const Product p = product(site.in[0].shape, site.in[1].shape, site.attrs<Attrs>());
    return site.in[0].dtype == DType::f32 ? f(MatmulPlan<float>(p)) : f(MatmulPlan<double>(p));
  }
};

}  // namespace

extern constinit const OpDef matmul_op = define<Matmul>("matmul");

Value matmul(Value a, Value b, bool transpose_a, bool transpose_b) {
  return call(matmul_op, {a, b}, attributes(Matmul::Attrs{transpose_a, transpose_b}));
}

}  // namespace whorl
