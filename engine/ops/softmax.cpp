// softmax and log_softmax over the last axis, row by row.
//
// softmax:      y = e / sum(e) with e = exp(x - max x);  dx = y (dy - sum(dy y))
// log_softmax:  y = x - log_sum_exp(x);                  dx = dy - exp(y) sum(dy)
// A row of which no element is finite has no softmax: its result is NaN.
#include "engine/kernels/exp_rows.hpp"
#include "engine/ops.hpp"
#include "engine/ops/rows.hpp"

namespace whorl {

namespace {

struct Softmax : RowOp {
  template <class T>
  static void forward(const Call& c, std::int64_t begin, std::int64_t end) {
    const std::int64_t n = row_length(c.type(0));
    const T* x = c.in<T>(0);
    T* y = c.out<T>();
    if (n <= short_row) {
      short_rows(x, n, begin, end, [&](std::int64_t first, ShortRows<T>& rows) {
        const ShortExpSums<T> sums(rows);
        rows.change([&](T e, std::int64_t, std::int64_t r) { return e / sums.sum[r]; });
        rows.store(y + first * n);
      });
      return;
    }
    for (std::int64_t row = begin; row < end; ++row) {
      const T* from = x + row * n;
      T* to = y + row * n;
      const T shift = exp_shift(row_extremum<Larger>(from, n));
      for (std::int64_t i = 0; i < n; ++i) to[i] = vmath::exp(from[i] - shift);
      const T sum = static_cast<T>(row_sum(to, n));
      for (std::int64_t i = 0; i < n; ++i) to[i] /= sum;
    }
  }
  static Value gradient(const Adjoint& a, int) {
    return a.y * (a.dy - sum(a.dy * a.y, {-1}, true));
  }
  static Value compose(const Composition& c) { return exp(c.x() - log_sum_exp(c.x(), {-1}, true)); }
};

struct LogSoftmax : RowOp {
  template <class T>
  static void forward(const Call& c, std::int64_t begin, std::int64_t end) {
    const std::int64_t n = row_length(c.type(0));
    const T* x = c.in<T>(0);
    T* y = c.out<T>();
    log_exp_sums(x, n, begin, end, [&](std::int64_t row, T shift, T log_sum) {
      const T* from = x + row * n;
      T* to = y + row * n;
      for (std::int64_t i = 0; i < n; ++i) to[i] = (from[i] - shift) - log_sum;
    });
  }
  static Value gradient(const Adjoint& a, int) { return a.dy - exp(a.y) * sum(a.dy, {-1}, true); }
  static Value compose(const Composition& c) { return c.x() - log_sum_exp(c.x(), {-1}, true); }
};

}  // namespace

extern constinit const OpDef softmax_op = define<Softmax>("softmax");
extern constinit const OpDef log_softmax_op = define<LogSoftmax>("log_softmax");

Value softmax(Value x) { return call(softmax_op, {x}); }
Value log_softmax(Value x) { return call(log_softmax_op, {x}); }

}  // namespace whorl
