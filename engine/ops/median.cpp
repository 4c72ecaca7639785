// median: the lower median of all elements, element floor((n-1)/2) of the sorted list.
//
// With batch_rank = k the first k axes are kept and each of their entries has a median of its own.
// A NaN among the elements gives NaN.
#include "engine/kernels/select.hpp"
#include "engine/ops.hpp"

namespace whorl {

namespace {

struct Median {
  struct Attrs {
    std::int64_t batch_rank = 0;
    static constexpr auto fields() {
      return std::tuple{
          field("batch_rank", &Attrs::batch_rank).optional().within(0, Shape::max_rank)};
    }
  };
  static constexpr std::array<std::string_view, 1> inputs{"x"};
  static constexpr DTypeSet dtypes = numbers;
  static constexpr std::string_view no_gradient =
      "the median picks one element by its rank; use stop_gradient where it is a mere scale";
  static int kept(const Site& site) { return static_cast<int>(site.attrs<Attrs>().batch_rank); }
  static std::int64_t count(const Site& site) {
    const Shape& shape = site.in[0].shape;
    return shape.span_elements(kept(site), shape.rank());
  }
  static Type infer(const Site& site) {
    const Shape& shape = site.in[0].shape;
    if (kept(site) < 0 || kept(site) > shape.rank())
      graph_error("median", "batch_rank {} is out of range for rank {}", kept(site), shape.rank());
    if (count(site) == 0) graph_error("median", "has no value over zero elements");
    return {site.in[0].dtype, shape.slice(0, kept(site))};
  }
  static std::int64_t units(const Site& site) { return site.out.elements(); }
  // Each unit has room for a key for each of its elements.
  static std::int64_t scratch(const Site& site) { return site.in[0].bytes(); }
  static double flops(const Site& site) { return 8.0 * static_cast<double>(site.in[0].elements()); }
  template <class T>
  static void forward(const Call& c, std::int64_t begin, std::int64_t end) {
    const std::int64_t n = count(*c.site);
    for (std::int64_t row = begin; row < end; ++row) {
      const T* x = c.in<T>(0) + row * n;
      T* scratch = static_cast<T*>(c.scratch) + row * n;
      c.out<T>()[row] = has_nan(x, n) ? first_nan(x) : select_rank(x, n, (n - 1) / 2, scratch);
    }
  }
  // Numbers that do not compare have no order.
  template <class T>
  static bool has_nan(const T* x, std::int64_t n) {
    int found = 0;  // not bool: this loop vectorises
    for (std::int64_t i = 0; i < n; ++i) found |= x[i] != x[i];
    return found != 0;
  }
  template <class T>
  static T first_nan(const T* x) {
    while (*x == *x) ++x;
    return *x;
  }
  static Value batch(const Batch& b) {
    return call(*b.op, {b.x()}, attributes(Attrs{b.attrs<Attrs>().batch_rank + 1}));
  }
  static std::vector<Sample> samples() {
    const AttrList keep_one{{"batch_rank", std::int64_t{1}}};
    return {{{{{7}}}}, {{{{2, 3}}}}, {{{{}}}}, {{{{2, 3, 2}}}, keep_one}, {{{{0, 3}}}, keep_one}};
  }
};

}  // namespace

extern constinit const OpDef median_op = define<Median>("median");

Value median(Value x) { return call(median_op, {x}, attributes(Median::Attrs{})); }

}  // namespace whorl
