// sum: over chosen axes, or over all. See kernels/reduce.hpp for the order of addition.
#include <cstring>

#include "engine/kernels/reduce.hpp"
#include "engine/ops.hpp"
#include "engine/ops/reduction.hpp"

namespace whorl {

namespace {

struct Sum : Reduction {
  static constexpr Traits traits = Traits::sums;
  static constexpr DTypeSet dtypes = numbers;

  // A row is summed where it lies; other patterns add whole runs into a block of the output,
  // in double, in the order of the reduced index.
  template <class T>
  static void forward(const Call& c, std::int64_t begin, std::int64_t end) {
    const ReductionLoops loops(*c.site);
    const T* x = c.in<T>(0);
    T* y = c.out<T>();
    if (loops.inner == 1) {
      for (std::int64_t row = begin; row < end; ++row)
        y[row] = static_cast<T>(loops.contiguous ? row_sum(x + row * loops.reduced, loops.reduced)
                                                 : strided_sum(x, loops, row));
      return;
    }
    using S = typename SumOf<T>::type;
    constexpr std::int64_t block = 256;
    S total[block];
    loops.blocks(begin, end, block,
                 [&](std::int64_t out, std::int64_t outer, std::int64_t in_at, std::int64_t count) {
                   std::fill_n(total, count, S{});
                   for (std::int64_t r = 0; r < loops.reduced; ++r) {
                     const T* run = x + loops.offset(outer, r) + in_at;
                     for (std::int64_t i = 0; i < count; ++i) total[i] += static_cast<S>(run[i]);
                   }
                   for (std::int64_t i = 0; i < count; ++i) y[out + i] = static_cast<T>(total[i]);
                 });
  }
  template <class T>
  static typename SumOf<T>::type strided_sum(const T* x, const ReductionLoops& loops,
                                             std::int64_t row) {
    typename SumOf<T>::type sum{};
    for (std::int64_t r = 0; r < loops.reduced; ++r)
      sum += static_cast<typename SumOf<T>::type>(x[loops.offset(row, r)]);
    return sum;
  }
  static Value gradient(const Adjoint& a, int) { return spread(a.dy, a); }
};

}  // namespace

extern constinit const OpDef sum_op = define<Sum>("sum");

Value sum(Value x, Axes axes, bool keep) { return reduce(sum_op, x, std::move(axes), keep); }

}  // namespace whorl
