#include "cumulative_sum.hpp"

#include <whorl/engine/ops.hpp>

namespace {

using namespace whorl;

struct CumulativeSum {
  static constexpr std::array<std::string_view, 1> inputs{"x"};
  static constexpr DTypeSet dtypes = floats;

  static Type infer(const Site& site) {
    if (site.in[0].shape.rank() == 0) graph_error("cumulative_sum", "a scalar has no last axis");
    return site.in[0];
  }

  // A unit of work is a row. The engine decides which thread runs which rows.
  static std::int64_t row(const Site& site) { return site.out.shape[site.out.shape.rank() - 1]; }
  static std::int64_t units(const Site& site) {
    return row(site) == 0 ? 0 : site.out.elements() / row(site);
  }
  template <class T>
  static void forward(const Call& call, std::int64_t begin, std::int64_t end) {
    const std::int64_t n = row(*call.site);
    for (std::int64_t r = begin; r < end; ++r) {
      const T* x = call.in<T>(0) + r * n;
      T* y = call.out<T>() + r * n;
      double total = 0;
      for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(total += x[i]);
    }
  }

  // dx_i = dy_i + dy_i+1 + ...: the whole sum, less the sum up to i, plus dy_i. These are values of
  // the graph, so the gradient can be differentiated again.
  static Value gradient(const Adjoint& a, int) {
    return sum(a.dy, {-1}, true) - cumulative_sum(a.dy) + a.dy;
  }

  // Axes before the last one are rows already: one more of them changes nothing.
  static Value batch(const Batch& b) { return cumulative_sum(b.x()); }

  static std::vector<Sample> samples() { return {{{{{2, 3}}}}, {{{{4}}}}}; }
};

constinit const OpDef cumulative_sum_op = define<CumulativeSum>("cumulative_sum");

}  // namespace

void register_cumulative_sum() { whorl::register_op(cumulative_sum_op); }

whorl::Value cumulative_sum(whorl::Value x) { return whorl::call(cumulative_sum_op, {x}); }
