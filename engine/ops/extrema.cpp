// max and min: over chosen axes, or over all. A NaN among the elements gives NaN.
//
// Where several elements attain the extremum, the gradient is shared equally among them:
// dx = dy [x = y] / (number of elements with x = y), which treats all elements alike.
#include "engine/kernels/exp_rows.hpp"
#include "engine/ops.hpp"
#include "engine/ops/reduction.hpp"

namespace whorl {

namespace {

template <class Better>
struct ExtremumOverAxes : Reduction {
  static constexpr DTypeSet dtypes = numbers;
  static Type infer(const Site& site) { return infer_nonempty_reduction(site); }

  template <class T>
  static void forward(const Call& c, std::int64_t begin, std::int64_t end) {
    const ReductionLoops loops(*c.site);
    const T* x = c.in<T>(0);
    T* y = c.out<T>();
    if (loops.contiguous) {
      over_rows(x, loops.reduced, begin, end, y);
      return;
    }
    constexpr std::int64_t block = 1024;
    loops.blocks(begin, end, block,
                 [&](std::int64_t out, std::int64_t outer, std::int64_t at, std::int64_t count) {
                   std::copy_n(x + loops.offset(outer, 0) + at, count, y + out);
                   for (std::int64_t r = 1; r < loops.reduced; ++r) {
                     const T* run = x + loops.offset(outer, r) + at;
#pragma GCC ivdep
                     for (std::int64_t i = 0; i < count; ++i) Better::into(y[out + i], run[i]);
                   }
                 });
  }
  template <class T>
  static void over_rows(const T* x, std::int64_t n, std::int64_t begin, std::int64_t end, T* y) {
    if (n > short_row) {
      for (std::int64_t row = begin; row < end; ++row)
        y[row] = row_extremum<Better>(x + row * n, n);
      return;
    }
    short_rows(x, n, begin, end, [&](std::int64_t first, const ShortRows<T>& rows) {
      T best[row_group];
      rows.template extremum<Better>(best);
      std::copy_n(best, rows.count, y + first);
    });
  }
  static Value gradient(const Adjoint& a, int) {
    const auto& attrs = a.attrs<ReductionAttrs>();
    const Value attains = cast(equal(a.x(), spread(a.y, a)), a.x().dtype());
    const Value share = a.dy / sum(attains, attrs.axes, attrs.keep);
    return spread(share, a) * attains;
  }
};

}  // namespace

extern constinit const OpDef max_op = define<ExtremumOverAxes<Larger>>("max");
extern constinit const OpDef min_op = define<ExtremumOverAxes<Smaller>>("min");

Value max(Value x, Axes axes, bool keep) { return reduce(max_op, x, std::move(axes), keep); }
Value min(Value x, Axes axes, bool keep) { return reduce(min_op, x, std::move(axes), keep); }

}  // namespace whorl
