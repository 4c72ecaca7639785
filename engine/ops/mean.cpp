// mean: the sum over chosen axes, or over all, divided by the number of elements it is made of.
#include "engine/ops.hpp"
#include "engine/ops/reduction.hpp"

namespace whorl {

namespace {

struct Mean {
  using Attrs = ReductionAttrs;
  static constexpr std::array<std::string_view, 1> inputs{"x"};
  static constexpr DTypeSet dtypes = floats;
  static Type infer(const Site& site) { return infer_nonempty_reduction(site); }
  // Divided, not multiplied by a rounded 1/n.
  static Value compose(const Composition& c) {
    const auto& attrs = c.attrs<Attrs>();
    const std::int64_t n = reduced_count("mean", c.x().shape(), attrs.axes);
    return sum(c.x(), attrs.axes, attrs.keep) / static_cast<double>(n);
  }
  static std::vector<Sample> samples() { return Reduction::samples(); }
};

}  // namespace

extern constinit const OpDef mean_op = define<Mean>("mean");

Value mean(Value x, Axes axes, bool keep) { return reduce(mean_op, x, std::move(axes), keep); }

}  // namespace whorl
