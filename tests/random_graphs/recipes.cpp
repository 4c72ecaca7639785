#include "recipes.hpp"

#include <algorithm>
#include <numeric>

#include "autodiff/tape.hpp"

namespace whorl::testing {

Value Growth::any() {
  const auto count = static_cast<std::int64_t>(values_.size());
  const std::int64_t a = random_.integer(0, count), b = random_.integer(0, count);
  return values_[static_cast<std::size_t>(std::max(a, b))];
}

Value Growth::of_rank(int least) {
  for (int attempt = 0; attempt < 20; ++attempt)
    if (const Value x = any(); x.shape().rank() >= least) return x;
  return {};
}

Value Growth::fitting(Value x) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    const Value other = any();
    try {
      const std::vector<Shape> shapes{x.shape(), other.shape()};
      if (broadcast_shape("test", shapes).elements() <= most_elements_) return other;
    } catch (const Error&) {
      continue;
    }
  }
  return x;
}

Value Growth::like(Value x) {
  for (int attempt = 0; attempt < 20; ++attempt)
    if (const Value other = any(); other.type() == x.type()) return other;
  return x;
}

Value Growth::apply(std::string_view name, std::vector<Value> inputs, const AttrList& attributes) {
  const OpDef* op = find_op(name);
  if (op == nullptr) return {};
  return call(*op, inputs, make_attributes(name, op->attrs(), attributes));
}

Value Growth::integers(const Shape& shape, std::int64_t low, std::int64_t high) {
  Tensor tensor({DType::i32, shape});
  for (std::int32_t& i : tensor.values<std::int32_t>())
    i = static_cast<std::int32_t>(random_.integer(low, high));
  return constant(graph_, tensor);
}

namespace {

std::int64_t any_axis(Growth& g, Value x) { return g.random().integer(0, x.shape().rank()); }
std::int64_t size_of_axis(Value x, std::int64_t axis) { return x.shape()[static_cast<int>(axis)]; }
Value positive(Value x) { return square(x) + 0.5; }

template <Value (*f)(Value)>
Value unary(Growth& g) {
  return f(g.any());
}
template <Value (*f)(Value)>
Value of_positive(Growth& g) {
  return f(positive(g.any()));
}
template <Value (*f)(Value, Value)>
Value binary(Growth& g) {
  const Value a = g.any();
  return f(a, g.fitting(a));
}
template <Value (*f)(Value, Axes, bool)>
Value reduction(Growth& g) {
  const Value x = g.of_rank(1);
  if (!x) return {};
  Axes axes;
  for (int axis = 0; axis < x.shape().rank(); ++axis)
    if (g.random().chance(0.5)) axes.push_back(axis);
  return f(x, axes, g.random().chance(0.3));
}

Value chosen(Growth& g) {
  const Value a = g.any(), b = g.like(a), c = g.like(a);
  const Value condition = g.random().chance(0.5) ? less(a, b) : greater_equal(b, fill_like(b, 0.1));
  return select(g.random().chance(0.3) ? logical_not(condition) : condition, c, a * 0.5);
}
Value scaled(Growth& g) {
  const Value x = g.any();
  const double factor = g.random().uniform(-1.5, 1.5);
  return g.random().chance(0.5) ? x * factor + 0.25 : (factor - x) / 1.5;
}
Value powered(Growth& g) {
  const Value a = g.any();
  return pow(positive(a), tanh(g.like(a)));
}
Value divided(Growth& g) {
  const Value a = g.any();
  return a / positive(g.fitting(a));
}
Value with_casts(Growth& g) {
  const Value x = g.any();
  const DType other = g.dtype() == DType::f32 ? DType::f64 : DType::i32;
  const Value there = cast(cast(x, other), g.dtype());
  return g.random().chance(0.5) ? there + x : x * 0.5 - there;
}
Value half_stopped(Growth& g) {
  const Value x = g.any();
  return g.random().chance(0.5) ? x * stop_gradient(tanh(x)) : stop_gradient(x) + g.fitting(x);
}
Value no_ops(Growth& g) {
  const Value x = g.any();
  // What algebra takes away again.
  switch (g.random().integer(0, 5)) {
    case 0:
      return x * 1.0;
    case 1:
      return x + 0.0;
    case 2:
      return -(-x);
    case 3:
      return x - fill_like(x, 0);
    default:
      return x / 1.0;
  }
}
Value cross_entropy(Growth& g) {
  const Value x = g.of_rank(1);
  if (!x || x.shape()[x.shape().rank() - 1] == 0) return {};
  const Shape lead = x.shape().slice(0, x.shape().rank() - 1);
  return softmax_cross_entropy(x, g.integers(lead, 0, x.shape()[x.shape().rank() - 1]));
}
Value bernoulli(Growth& g) {
  const Value x = g.any();
  return bernoulli_cross_entropy(x, sigmoid(g.like(x)));
}
Value over_last(Growth& g) {
  const Value x = g.of_rank(1);
  if (!x) return {};
  return g.random().chance(0.5) ? softmax(x) : log_softmax(x);
}
Value reshaped(Growth& g) {
  const Value x = g.any();
  const Shape& shape = x.shape();
  switch (g.random().integer(0, 3)) {
    case 0:
      return reshape(x, std::vector<std::int64_t>{-1});
    case 1:
      return shape.rank() < 4 ? reshape(x, shape.with_front(1)) : Value{};
    default:
      if (shape.rank() < 2) return {};
      return reshape(x, std::vector<std::int64_t>{shape[shape.rank() - 1], -1});
  }
}
Value transposed(Growth& g) {
  const Value x = g.of_rank(2);
  if (!x) return {};
  Axes axes(static_cast<std::size_t>(x.shape().rank()));
  std::iota(axes.begin(), axes.end(), 0);
  for (std::size_t i = axes.size(); i-- > 1;)
    std::swap(
        axes[i],
        axes[static_cast<std::size_t>(g.random().integer(0, static_cast<std::int64_t>(i) + 1))]);
  return transpose(x, axes);
}
Value sliced(Growth& g) {
  const Value x = g.of_rank(1);
  if (!x) return {};
  const std::int64_t axis = any_axis(g, x), size = size_of_axis(x, axis);
  const std::int64_t begin = g.random().integer(0, size);
  return slice(x, axis, begin, g.random().integer(begin, size) + 1, g.random().integer(1, 3));
}
Value padded(Growth& g) {
  const Value x = g.of_rank(1);
  if (!x || x.type().elements() * 4 > g.most_elements()) return {};
  return pad(x, any_axis(g, x), g.random().integer(0, 2), g.random().integer(0, 3), 0.25);
}
Value joined(Growth& g) {
  const Value x = g.any();
  if (x.type().elements() * 3 > g.most_elements() || x.shape().rank() > 3) return {};
  const std::vector<Value> xs{x, g.like(x), x * 0.5};
  if (x.shape().rank() == 0 || g.random().chance(0.5))
    return stack(xs, g.random().integer(0, x.shape().rank() + 1));
  return concat(xs, any_axis(g, x));
}
Value spread(Growth& g) {
  const Value x = g.any();
  if (x.type().elements() * 2 > g.most_elements() || x.shape().rank() > 3) return {};
  return broadcast(x, x.shape().with_front(2));
}
Value gathered(Growth& g) {
  const Value x = g.of_rank(1);
  if (!x) return {};
  const std::int64_t axis = any_axis(g, x), size = size_of_axis(x, axis);
  if (size == 0 || x.type().elements() / size * 3 > g.most_elements()) return {};
  return gather(x, g.integers({3}, 0, size), axis);
}
Value scattered(Growth& g) {
  const Value x = g.of_rank(1);
  if (!x) return {};
  const std::int64_t axis = any_axis(g, x), size = size_of_axis(x, axis);
  return scatter_add(x, g.integers({size}, 0, 3), 3, axis);
}
Value coded(Growth& g) {
  const Value x = g.any();
  return x.shape().rank() == 0 ? x * sum(one_hot(g.integers({2}, 0, 3), 3, g.dtype())) : Value{};
}
Value counted(Growth& g) {
  const Value x = g.of_rank(1);
  if (!x) return {};
  return x + iota(g.graph(), x.type(), any_axis(g, x)) * 0.1;
}

Value product(Growth& g) {
  const Value a = g.of_rank(2);
  if (!a || a.shape().rank() > 3) return {};
  const bool ta = g.random().chance(0.3), tb = g.random().chance(0.3);
  const int rank = a.shape().rank();
  // b from a's own shape, so that the inner dimensions fit: a' a, a a', or a times a matrix of it.
  Value b =
      a.shape().rank() == 2 ? a : reshape(a, std::vector<std::int64_t>{-1, a.shape()[rank - 1]});
  const std::int64_t inner = ta ? a.shape()[rank - 2] : a.shape()[rank - 1];
  const std::int64_t n = b.type().elements();
  if (inner == 0 || n % inner != 0) return {};
  b = reshape(b, tb ? std::vector<std::int64_t>{n / inner, inner}
                    : std::vector<std::int64_t>{inner, n / inner});
  if (a.type().elements() / inner * (n / inner) > g.most_elements()) return {};
  return g.apply("matmul", {a, b}, {{"transpose_a", ta}, {"transpose_b", tb}}) * 0.3;
}
// A A' + I, for the ops that want a symmetric positive matrix.
Value symmetric(Growth& g) {
  const Value a = g.of_rank(2);
  if (!a || a.shape().rank() != 2) return {};
  const std::int64_t n = a.shape()[0];
  if (n * n > g.most_elements() || n == 0) return {};
  const Type type{g.dtype(), {n, n}};
  const Value rows = iota(g.graph(), type, 0), columns = iota(g.graph(), type, 1);
  const Value identity = cast(equal(rows, columns), g.dtype());
  return g.apply("matmul", {a, a}, {{"transpose_b", true}}) * 0.3 + identity;
}
Value factor(Growth& g) {
  const Value s = symmetric(g);
  if (!s) return {};
  const Value l = g.apply("cholesky", {s});
  if (g.random().chance(0.5)) return l;
  return g.apply("triangular_solve", {l, s * 0.5}, {{"transpose", g.random().chance(0.5)}});
}
Value solved(Growth& g) {
  const Value s = symmetric(g);
  if (!s) return {};
  return g.random().chance(0.5) ? g.apply("symmetric_solve", {s, tanh(s)})
                                : g.apply("log_determinant", {s});
}
Value drawn(Growth& g) {
  const Value x = g.any();
  const Value seed = g.integers({2}, 0, 1000), step = g.integers({}, 0, 1000);
  const std::int64_t stream = g.random().integer(0, 100);
  const Value r = g.random().chance(0.5) ? random_normal(seed, step, x.type(), stream)
                                         : random_uniform(seed, step, x.type(), stream);
  return x * r * 0.5;
}
Value network(Growth& g) {
  const Value a = g.any(), b = g.like(a);
  const std::vector<std::int64_t> hidden{3}, wrt{0};
  const std::int64_t count = 3 * 2 + 3 + 3 + 1;
  Tensor weights({g.dtype(), {count}});
  dispatch(g.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (T& w : weights.values<T>()) w = static_cast<T>(g.random().uniform(-1, 1));
  });
  const Value w = constant(g.graph(), weights) * (1.0 + tanh(mean(g.any())));
  return g.apply("coordinate_net", {w, a, b},
                 {{"hidden", hidden}, {"activation", std::string("tanh")}, {"wrt", wrt}});
}
// A gradient inside the graph: what is differentiated later is then of second order.
Value inner_gradient(Growth& g) {
  const Value x = g.any(), h = sum(tanh(x) * g.like(x));
  return gradient(h, x, {.allow_unused = true});
}

}  // namespace

const std::vector<Recipe>& all_recipes() {
  static const std::vector<Recipe> recipes{
      {"neg", 1, unary<neg>},
      {"square", 1, unary<square>},
      {"tanh", 2, unary<tanh>},
      {"sigmoid", 1, unary<sigmoid>},
      {"softplus", 1, unary<softplus>},
      {"sin", 1, unary<sin>},
      {"cos", 1, unary<cos>},
      {"erf", 1, unary<erf>},
      {"exp", 0.5, unary<exp>},
      {"expm1", 0.5, unary<expm1>},
      {"relu", 1, unary<relu>},
      {"abs", 1, unary<abs>},
      {"sign", 0.3, unary<sign>},
      {"step", 0.3, unary<step>},
      {"assert_finite", 0.3, unary<assert_finite>},
      {"clamp", 1, [](Growth& g) { return clamp(g.any(), -0.8, 1.2); }},
      {"sqrt", 1, of_positive<sqrt>},
      {"rsqrt", 1, of_positive<rsqrt>},
      {"log", 1, of_positive<log>},
      {"log1p", 0.5, of_positive<log1p>},
      {"pow", 0.5, powered},
      {"add", 2, binary<add>},
      {"sub", 2, binary<sub>},
      {"mul", 2, binary<mul>},
      {"div", 1, divided},
      {"maximum", 1, binary<maximum>},
      {"minimum", 1, binary<minimum>},
      {"select", 1, chosen},
      {"fill", 2, scaled},
      {"cast", 0.5, with_casts},
      {"stop_gradient", 1, half_stopped},
      {"add", 1, no_ops},
      {"sum", 2, reduction<sum>},
      {"mean", 1, reduction<mean>},
      {"max", 0.5, reduction<max>},
      {"min", 0.5, reduction<min>},
      {"log_sum_exp", 1, reduction<log_sum_exp>},
      {"median", 0.2, [](Growth& g) { return stop_gradient(median(g.any())) * g.any(); }},
      {"softmax", 1, over_last},
      {"softmax_cross_entropy", 1, cross_entropy},
      {"bernoulli_cross_entropy", 0.5, bernoulli},
      {"reshape", 1, reshaped},
      {"transpose", 1, transposed},
      {"slice", 1, sliced},
      {"pad", 1, padded},
      {"concat", 1, joined},
      {"broadcast", 0.5, spread},
      {"gather", 1, gathered},
      {"scatter_add", 0.5, scattered},
      {"one_hot", 0.3, coded},
      {"iota", 0.3, counted},
      {"matmul", 3, product},
      {"cholesky", 0.7, factor},
      {"symmetric_solve", 0.7, solved},
      {"random_normal", 0.5, drawn},
      {"coordinate_net", 1, network},
      {"sum", 0.7, inner_gradient},
  };
  return recipes;
}

}  // namespace whorl::testing
