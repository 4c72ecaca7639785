// log_sum_exp: log(sum exp x) over chosen axes, or over all, as m + log(sum exp(x - m)) with m the
// maximum. Of elements that are all -inf, or of none, it is -inf.
//
// dx = dy exp(x - y). Where y is -inf the gradient is 0, the limit of a vanishing sum.
#include <limits>

#include "engine/kernels/exp_rows.hpp"
#include "engine/ops.hpp"
#include "engine/ops/reduction.hpp"

namespace whorl {

namespace {

struct LogSumExp : Reduction {
  static constexpr DTypeSet dtypes = floats;

  template <class T>
  static void forward(const Call& c, std::int64_t begin, std::int64_t end) {
    const ReductionLoops loops(*c.site);
    const T* x = c.in<T>(0);
    T* y = c.out<T>();
    if (loops.reduced == 0) {
      std::fill(y + begin, y + end, -std::numeric_limits<T>::infinity());
    } else if (loops.contiguous) {
      log_exp_sums(x, loops.reduced, begin, end,
                   [&](std::int64_t row, T shift, T log_sum) { y[row] = shift + log_sum; });
    } else {
      constexpr std::int64_t block = 256;
      loops.blocks(begin, end, block,
                   [&](std::int64_t out, std::int64_t outer, std::int64_t at, std::int64_t count) {
                     run_block(x + at, loops, outer, count, y + out);
                   });
    }
  }
  // `count` neighbouring outputs, each over elements that lie apart.
  template <class T>
  static void run_block(const T* x, const ReductionLoops& loops, std::int64_t outer,
                        std::int64_t count, T* y) {
    double sum[256];
    T shift[256];
    std::copy_n(x + loops.offset(outer, 0), count, shift);
    for (std::int64_t r = 1; r < loops.reduced; ++r) {
      const T* run = x + loops.offset(outer, r);
      for (std::int64_t i = 0; i < count; ++i) Larger::into(shift[i], run[i]);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      shift[i] = exp_shift(shift[i]);
      sum[i] = 0;
    }
    for (std::int64_t r = 0; r < loops.reduced; ++r) {
      const T* run = x + loops.offset(outer, r);
      for (std::int64_t i = 0; i < count; ++i)
        sum[i] += static_cast<double>(vmath::exp(run[i] - shift[i]));
    }
    for (std::int64_t i = 0; i < count; ++i) y[i] = shift[i] + vmath::log(static_cast<T>(sum[i]));
  }
  static Value gradient(const Adjoint& a, int) {
    const Value lowest = fill_like(a.y, -std::numeric_limits<double>::infinity());
    const Value base = select(equal(a.y, lowest), fill_like(a.y, 0), a.y);
    return spread(a.dy, a) * exp(a.x() - spread(base, a));
  }
};

}  // namespace

extern constinit const OpDef log_sum_exp_op = define<LogSumExp>("log_sum_exp");

Value log_sum_exp(Value x, Axes axes, bool keep) {
  return reduce(log_sum_exp_op, x, std::move(axes), keep);
}

}  // namespace whorl
