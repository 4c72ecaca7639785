// softmax_cross_entropy and bernoulli_cross_entropy: negative log likelihoods.
//
// softmax_cross_entropy: y = log_sum_exp(z) - z[label] for each row z of the logits. Its gradient
// by the logits, (softmax(z) - one_hot(label)) dy, is an op of its own, so that one pass over the
// rows makes it and no one-hot matrix is stored.
#include "engine/kernels/exp_rows.hpp"
#include "engine/ops.hpp"
#include "engine/ops/axes.hpp"
#include "engine/ops/rows.hpp"

namespace whorl {

extern const OpDef softmax_cross_entropy_gradient_op;

namespace {

// The label of a row, checked.
std::int64_t label_at(const std::int32_t* labels, std::int64_t row, std::int64_t classes) {
  const std::int64_t label = labels[row];
  if (label < 0 || label >= classes)
    fail(ErrorKind::data, "softmax_cross_entropy",
         "label out of range: element {} is {}; expected 0 to {}", row, label, classes - 1);
  return label;
}

void check_labels(const Site& site) {
  const Type &logits = site.in[0], &labels = site.in[1];
  check_rows(site.op->name, logits);
  if (labels.dtype != DType::i32)
    graph_error(site.op->name, "input 'labels' is {}; expected i32 (use cast)", name(labels.dtype));
  if (labels.shape != logits.shape.slice(0, logits.shape.rank() - 1))
    graph_error(site.op->name, "there must be one label for each row: labels {} for logits {}",
                to_string(labels.shape), to_string(logits.shape));
}

Value ones_for(Value labels, DType dtype) {
  return fill(*labels.graph, {dtype, labels.shape()}, 1);
}

// A value for each row, repeated along the row.
Value along_rows(Value value, const Shape& shape) {
  Axes axes;
  for (int axis = 0; axis + 1 < shape.rank(); ++axis) axes.push_back(axis);
  return broadcast(value, shape, axes);
}

Value entropy_gradient(Value logits, Value labels, Value dy) {
  return call(softmax_cross_entropy_gradient_op, {logits, labels, dy});
}

struct SoftmaxCrossEntropy {
  static constexpr std::array<std::string_view, 2> inputs{"logits", "labels"};
  static constexpr DTypeSet dtypes = floats;
  static Type infer(const Site& site) {
    check_labels(site);
    return {site.in[0].dtype, site.in[1].shape};
  }
  static std::int64_t units(const Site& site) { return site.out.elements(); }
  static double flops(const Site& site) {
    return 10.0 * static_cast<double>(site.in[0].elements());
  }
  template <class T>
  static void forward(const Call& c, std::int64_t begin, std::int64_t end) {
    const std::int64_t n = row_length(c.type(0));
    const T* z = c.in<T>(0);
    const auto* labels = c.in<std::int32_t>(1);
    T* y = c.out<T>();
    log_exp_sums(z, n, begin, end, [&](std::int64_t row, T shift, T log_sum) {
      y[row] = log_sum - (z[row * n + label_at(labels, row, n)] - shift);
    });
  }
  static Value gradient(const Adjoint& a, int) { return entropy_gradient(a.x(0), a.x(1), a.dy); }
  static Value compose(const Composition& c) {
    const Value hot = one_hot(c.x(1), row_length(c.x(0).type()), c.x(0).dtype());
    return -sum(hot * log_softmax(c.x(0)), {-1});
  }
  static Value batch(const Batch& b) { return call(*b.op, {b.full(0), b.full(1)}); }
  static std::vector<Sample> samples() {
    const auto i32 = DType::i32;
    return {{{{{4, 3}}, {{4}, 0, 3, i32}}},
            {{{{2, 3, 5}}, {{2, 3}, 0, 5, i32}}},
            {{{{5}}, {{}, 0, 5, i32}}},
            {{{{2, 40}}, {{2}, 0, 40, i32}}},
            {{{{0, 3}}, {{0}, 0, 3, i32}}}};
  }
};

// g = (p - h) dy with p = softmax(z) and h = one_hot(label). With G the adjoint of g:
// the adjoint of z is dy p (G - sum(G p)), that of dy is sum(G (p - h)).
struct SoftmaxCrossEntropyGradient {
  static constexpr std::array<std::string_view, 3> inputs{"logits", "labels", "dy"};
  static constexpr DTypeSet dtypes = floats;
  static Type infer(const Site& site) {
    check_labels(site);
    if (site.in[2] != Type{site.in[0].dtype, site.in[1].shape})
      graph_error(site.op->name, "dy is {}; expected {}", to_string(site.in[2]),
                  to_string(Type{site.in[0].dtype, site.in[1].shape}));
    return site.in[0];
  }
  static std::int64_t units(const Site& site) { return site.in[1].elements(); }
  static double flops(const Site& site) { return 10.0 * static_cast<double>(site.out.elements()); }
  template <class T>
  static void forward(const Call& c, std::int64_t begin, std::int64_t end) {
    const std::int64_t n = row_length(c.type(0));
    const T* z = c.in<T>(0);
    const auto* labels = c.in<std::int32_t>(1);
    const T* dy = c.in<T>(2);
    T* g = c.out<T>();
    if (n <= short_row) {
      short_rows(z, n, begin, end, [&](std::int64_t first, ShortRows<T>& rows) {
        short_group(rows, labels, dy, first, g);
      });
      return;
    }
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t label = label_at(labels, row, n);
      const auto [shift, sum] = exp_sum(z + row * n, n);
      const T* from = z + row * n;
      T* to = g + row * n;
      for (std::int64_t i = 0; i < n; ++i) to[i] = vmath::exp(from[i] - shift) / sum * dy[row];
      to[label] = (vmath::exp(from[label] - shift) / sum - T(1)) * dy[row];
    }
  }
  template <class T>
  static void short_group(ShortRows<T>& rows, const std::int32_t* labels, const T* dy,
                          std::int64_t first, T* g) {
    std::int32_t label[row_group];
    T d[row_group];
    for (std::int64_t r = 0; r < row_group; ++r) {
      const std::int64_t row = first + std::min(r, rows.count - 1);
      label[r] = static_cast<std::int32_t>(label_at(labels, row, rows.n));
      d[r] = dy[row];
    }
    const ShortExpSums<T> sums(rows);
    rows.change([&](T e, std::int64_t j, std::int64_t r) {
      return (e / sums.sum[r] - (label[r] == static_cast<std::int32_t>(j) ? T(1) : T(0))) * d[r];
    });
    rows.store(g + first * rows.n);
  }
  static Value gradient(const Adjoint& a, int input) {
    const Value logits = a.x(0), labels = a.x(1), dy = a.x(2);
    if (input == 2)
      return sum(a.dy * entropy_gradient(logits, labels, ones_for(labels, logits.dtype())), {-1});
    const Value p = softmax(logits);
    return along_rows(dy, logits.shape()) * p * (a.dy - sum(a.dy * p, {-1}, true));
  }
  static Value compose(const Composition& c) {
    const Value hot = one_hot(c.x(1), row_length(c.x(0).type()), c.x(0).dtype());
    return (softmax(c.x(0)) - hot) * along_rows(c.x(2), c.x(0).shape());
  }
  static Value batch(const Batch& b) { return call(*b.op, {b.full(0), b.full(1), b.full(2)}); }
  static std::vector<Sample> samples() {
    const auto i32 = DType::i32;
    return {{{{{4, 3}}, {{4}, 0, 3, i32}, {{4}}}},
            {{{{2, 3, 5}}, {{2, 3}, 0, 5, i32}, {{2, 3}}}},
            {{{{5}}, {{}, 0, 5, i32}, {{}}}},
            {{{{2, 40}}, {{2}, 0, 40, i32}, {{2}}}},
            {{{{0, 3}}, {{0}, 0, 3, i32}, {{0}}}}};
  }
};

// softplus(z) - t z, added in an order that keeps the digits of a small result: for t = 1 and a
// large z, max(z, 0) - t z is exactly 0 and log(1 + exp(-|z|)) is what remains.
struct BernoulliCrossEntropy {
  static constexpr std::array<std::string_view, 2> inputs{"logits", "targets"};
  static constexpr Traits traits = Traits::elementwise;
  static constexpr DTypeSet dtypes = floats;
  template <class T>
  static T apply(T z, T t) {
    return ((z > T(0) ? z : T(0)) - t * z) + vmath::log1p(vmath::exp(-std::fabs(z)));
  }
  static Value gradient(const Adjoint& a, int input) {
    return input == 0 ? a.dy * (sigmoid(a.x(0)) - a.x(1)) : -(a.dy * a.x(0));
  }
  static Value compose(const Composition& c) { return softplus(c.x(0)) - c.x(1) * c.x(0); }
  static double flops(const Site& site) { return 20.0 * static_cast<double>(site.out.elements()); }
  static Value batch(const Batch& b) { return detail::batch_elementwise(b); }
  static std::vector<Sample> samples() {
    return {{{{{2, 3}}, {{2, 3}, 0, 1}}}, {{{{}}, {{}, 0, 1}}}, {{{{0, 2}}, {{0, 2}, 0, 1}}}};
  }
};

}  // namespace

extern constinit const OpDef softmax_cross_entropy_op =
    define<SoftmaxCrossEntropy>("softmax_cross_entropy");
extern constinit const OpDef softmax_cross_entropy_gradient_op =
    define<SoftmaxCrossEntropyGradient>("softmax_cross_entropy_gradient");
extern constinit const OpDef bernoulli_cross_entropy_op =
    define<BernoulliCrossEntropy>("bernoulli_cross_entropy");

Value softmax_cross_entropy(Value logits, Value labels) {
  return call(softmax_cross_entropy_op, {logits, labels});
}
Value bernoulli_cross_entropy(Value logits, Value targets) {
  return call(bernoulli_cross_entropy_op, {logits, targets});
}

}  // namespace whorl
