// coordinate_net in plain ops: what the fused kernels must equal, and where second derivatives come
// from. See engine/kernels/coordinate_net.hpp for the formulas and the names.
#include "engine/ops/coordinate_net.hpp"

namespace whorl {

namespace {

// Sums and products in which an empty Value is zero.
Value plus(Value a, Value b) { return !a ? b : (!b ? a : a + b); }
Value times(Value a, Value b) { return a && b ? a * b : Value{}; }
// A matrix summed over coordinates.
Value over_coordinates(Value x) { return sum(x, {1}); }

}  // namespace

// What the reverse pass finds; all matrices [width, n].
struct PlainNet::Reverse {
  Value v;        // by h1
  Value r_slope;  // R_k s'(h1_k)
  Value by_w, by_b2, by_w2;
};

PlainNet::PlainNet(const CoordinateNetAttrs& attrs, Value weights, std::span<const Value> x)
    : attrs_(attrs), net_(coordinate_net_layout(attrs, x.size())), weights_(weights) {
  std::vector<Shape> shapes;
  for (const Value& one : x) shapes.push_back(one.shape());
  shape_ = broadcast_shape("coordinate_net", shapes);
  n_ = shape_.elements();
  std::vector<Value> rows;
  for (const Value& one : x) rows.push_back(reshape(broadcast(one, shape_), Shape{1, n_}));
  x_ = joined(rows);
  w1_ = piece(0, {net_.h1, net_.inputs});
  b1_ = piece(net_.b1(), {net_.h1, 1});
  w_ = piece(net_.w(), {net_.last(), 1});
  b_ = piece(net_.b(), {1, 1});
  first_ = activate(matmul(w1_, x_) + b1_);
  if (net_.layers == 1) return;
  w2_ = piece(net_.w2(), {net_.h2, net_.h1});
  b2_ = piece(net_.b2(), {net_.h2, 1});
  second_ = activate(matmul(w2_, first_.a) + b2_);
}

Value PlainNet::piece(std::int64_t begin, const Shape& shape) const {
  return reshape(slice(weights_, 0, begin, begin + shape.elements()), shape);
}

Value PlainNet::joined(const std::vector<Value>& rows) const {
  return rows.size() == 1 ? rows[0] : concat(rows, 0);
}

PlainNet::Layer PlainNet::activate(Value h) const {
  switch (net_.activation) {
    case net::Activation::relu:
      return {relu(h), step(h), {}};
    case net::Activation::tanh: {
      const Value a = tanh(h), slope = 1.0 - square(a);
      return {a, slope, -2.0 * (a * slope)};
    }
    case net::Activation::softplus:
      break;
  }
  const Value slope = sigmoid(h);
  return {softplus(h), slope, slope * (1.0 - slope)};
}

Value PlainNet::column(int input) const { return slice(w1_, 1, input, input + 1); }

Value PlainNet::outputs() const {
  const Layer& last = net_.layers == 1 ? first_ : second_;
  std::vector<Value> rows{matmul(w_, last.a, true) + b_};
  for (std::int64_t i : attrs_.wrt) {
    Value tangent = first_.slope * column(static_cast<int>(i));
    if (net_.layers == 2) tangent = second_.slope * matmul(w2_, tangent);
    rows.push_back(matmul(w_, tangent, true));
  }
  const int axis = static_cast<int>(attrs_.axis);
  const Shape stretch{shape_.span_elements(0, axis), 1, shape_.span_elements(axis, shape_.rank())};
  for (Value& row : rows) row = reshape(row, stretch);
  const Value all = rows.size() == 1 ? rows[0] : concat(rows, 1);
  return reshape(all, coordinate_net_shape(attrs_, shape_));
}

std::vector<Value> PlainNet::parts(Value dy) const {
  const int axis = static_cast<int>(attrs_.axis);
  const auto count = static_cast<std::int64_t>(1 + attrs_.wrt.size());
  const Value flat = reshape(
      dy, Shape{shape_.span_elements(0, axis), count, shape_.span_elements(axis, shape_.rank())});
  std::vector<Value> rows;
  for (std::int64_t m = 0; m < count; ++m)
    rows.push_back(reshape(slice(flat, 1, m, m + 1), Shape{1, n_}));
  return rows;
}

PlainNet::Reverse PlainNet::reverse(const std::vector<Value>& y) const {
  Value q;
  for (std::size_t j = 0; j < attrs_.wrt.size(); ++j)
    q = plus(q, column(static_cast<int>(attrs_.wrt[j])) * y[1 + j]);
  const Value e = times(first_.slope, q);
  Reverse result;
  Value big_a, big_r;
  if (net_.layers == 1) {
    result.by_w = over_coordinates(plus(y[0] * first_.a, e));
    big_a = w_ * y[0];
    big_r = broadcast(w_, first_.slope.shape());
  } else {
    const Value big_q = e ? matmul(w2_, e) : Value{};
    result.by_w = over_coordinates(plus(y[0] * second_.a, times(second_.slope, big_q)));
    const Value u = w_ * plus(y[0] * second_.slope, times(second_.curvature, big_q));
    const Value r = w_ * second_.slope;
    result.by_b2 = over_coordinates(u);
    result.by_w2 = plus(matmul(u, first_.a, false, true), e ? matmul(r, e, false, true) : Value{});
    big_a = matmul(w2_, u, true);
    big_r = matmul(w2_, r, true);
  }
  result.v = plus(big_a * first_.slope, times(first_.curvature, times(big_r, q)));
  result.r_slope = big_r * first_.slope;
  return result;
}

Value PlainNet::weights_gradient(const std::vector<Value>& y) const {
  const Reverse back = reverse(y);
  Value by_w1 = matmul(back.v, x_, false, true);
  if (!attrs_.wrt.empty()) {
    // The derivatives' own share, in the columns of the inputs they belong to.
    std::vector<Value> columns(static_cast<std::size_t>(net_.inputs),
                               fill(*weights_.graph, b1_.type(), 0));
    for (std::size_t j = 0; j < attrs_.wrt.size(); ++j)
      columns[static_cast<std::size_t>(attrs_.wrt[j])] =
          reshape(over_coordinates(back.r_slope * y[1 + j]), Shape{net_.h1, 1});
    by_w1 = by_w1 + (columns.size() == 1 ? columns[0] : concat(columns, 1));
  }
  std::vector<Value> flat{reshape(by_w1, Axes{-1}), over_coordinates(back.v)};
  if (net_.layers == 2) {
    flat.push_back(reshape(back.by_w2, Axes{-1}));
    flat.push_back(back.by_b2);
  }
  flat.push_back(back.by_w);
  flat.push_back(over_coordinates(y[0]));
  return concat(flat, 0);
}

Value PlainNet::input_gradient(const std::vector<Value>& y, int input) const {
  return reshape(matmul(column(input), reverse(y).v, true), shape_);
}

}  // namespace whorl
