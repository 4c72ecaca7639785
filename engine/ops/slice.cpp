// slice and pad along one axis: each is the gradient of the other.
//
// slice takes the indices begin, begin + step, ... below end. pad puts `before` and `after` new
// elements around the axis and `between` new ones between neighbours, so that it undoes any slice.
#include <cmath>

#include "engine/ops.hpp"
#include "engine/ops/axes.hpp"

namespace whorl {

extern const OpDef slice_op, pad_op;

namespace {

// A shape seen along one axis: [outer, size, inner].
struct AlongAxis {
  std::int64_t outer, size, inner;
  AlongAxis(const Shape& shape, int axis)
      : outer(shape.span_elements(0, axis)),
        size(shape[axis]),
        inner(shape.span_elements(axis + 1, shape.rank())) {}
};

Shape with_size(const Shape& shape, int axis, std::int64_t size) {
  std::vector<std::int64_t> dims(shape.begin(), shape.end());
  dims[static_cast<std::size_t>(axis)] = size;
  return Shape(std::span<const std::int64_t>(dims));
}

Value dilate(Value x, std::int64_t axis, std::int64_t before, std::int64_t after,
             std::int64_t between);

struct Slice {
  struct Attrs {
    std::int64_t axis = 0, begin = 0, end = 0, step = 1;
    static constexpr auto fields() {
      return std::tuple{field("axis", &Attrs::axis), field("begin", &Attrs::begin),
                        field("end", &Attrs::end), field("step", &Attrs::step).optional()};
    }
    int axis_in(const Shape& shape) const {
      return static_cast<int>(normal_axis("slice", axis, shape.rank()));
    }
    std::int64_t count() const { return (end - begin + step - 1) / step; }
  };
  static constexpr std::array<std::string_view, 1> inputs{"x"};
  static constexpr DTypeSet dtypes = any_dtype;
  static Type infer(const Site& site) {
    const auto& attrs = site.attrs<Attrs>();
    const Shape& shape = site.in[0].shape;
    const int axis = attrs.axis_in(shape);
    if (attrs.step < 1 || attrs.step > Shape::max_elements)
      graph_error("slice", "step {} is out of range; expected 1 to 2^40", attrs.step);
    if (attrs.begin < 0 || attrs.begin > attrs.end || attrs.end > shape[axis])
      graph_error("slice", "range {} to {} does not lie in axis {} of size {}", attrs.begin,
                  attrs.end, axis, shape[axis]);
    return {site.in[0].dtype, with_size(shape, axis, attrs.count())};
  }
  static AlongAxis from(const Site& site) {
    return {site.in[0].shape, site.attrs<Attrs>().axis_in(site.in[0].shape)};
  }
  static std::optional<std::int64_t> alias(const Site& site) {
    const auto& attrs = site.attrs<Attrs>();
    const AlongAxis x = from(site);
    const bool run = attrs.step == 1 || attrs.count() <= 1;
    if (run && (x.outer == 1 || attrs.count() == x.size)) return attrs.begin * x.inner;
    return std::nullopt;
  }
  // A unit is `inner` neighbouring elements of the output.
  static std::int64_t units(const Site& site) {
    const AlongAxis x = from(site);
    return x.inner == 0 ? 0 : x.outer * site.attrs<Attrs>().count();
  }
  template <class T>
  static void forward(const Call& c, std::int64_t begin, std::int64_t end) {
    const auto& attrs = c.attrs<Attrs>();
    const AlongAxis x = from(*c.site);
    const std::int64_t rows = attrs.count();
    T* y = c.out<T>() + begin * x.inner;
    while (begin < end) {
      const std::int64_t outer = begin / rows, row = begin % rows;
      const std::int64_t count = std::min(rows - row, end - begin);
      const T* source = c.in<T>(0) + (outer * x.size + attrs.begin + row * attrs.step) * x.inner;
      copy_rows(source, attrs.step, x.inner, count, y);
      y += count * x.inner;
      begin += count;
    }
  }
  template <class T>
  static void copy_rows(const T* source, std::int64_t step, std::int64_t inner, std::int64_t count,
                        T* y) {
    if (step == 1) {
      std::copy_n(source, count * inner, y);
    } else if (inner == 1) {
      for (std::int64_t i = 0; i < count; ++i) y[i] = source[i * step];
    } else {
      for (std::int64_t i = 0; i < count; ++i)
        std::copy_n(source + i * step * inner, inner, y + i * inner);
    }
  }
  static Value gradient(const Adjoint& a, int) {
    const auto& attrs = a.attrs<Attrs>();
    const Shape& shape = a.x().shape();
    const int axis = attrs.axis_in(shape);
    const std::int64_t count = attrs.count();
    const std::int64_t span = count == 0 ? 0 : (count - 1) * attrs.step + 1;
    return dilate(a.dy, axis, attrs.begin, shape[axis] - attrs.begin - span, attrs.step - 1);
  }
  static Value batch(const Batch& b) {
    Attrs attrs = b.attrs<Attrs>();
    attrs.axis = normal_axis("slice", attrs.axis, b.x().shape().rank() - 1) + 1;
    return call(*b.op, {b.x()}, attributes(attrs));
  }
  static std::vector<Sample> samples() {
    const auto attrs = [](std::int64_t axis, std::int64_t begin, std::int64_t end,
                          std::int64_t step) {
      return AttrList{{"axis", axis}, {"begin", begin}, {"end", end}, {"step", step}};
    };
    return {{{{{5}}}, attrs(0, 1, 4, 1)},       {{{{2, 5}}}, attrs(1, 0, 3, 1)},
            {{{{2, 5, 2}}}, attrs(1, 1, 5, 2)}, {{{{2, 5}}}, attrs(-1, 0, 5, 3)},
            {{{{3, 2}}}, attrs(0, 2, 3, 1)},    {{{{2, 3}}}, attrs(1, 1, 1, 1)},
            {{{{0, 3}}}, attrs(1, 0, 2, 1)}};
  }
};

struct Pad {
  struct Attrs {
    std::int64_t axis = 0, before = 0, after = 0, between = 0;
    double value = 0;
    static constexpr auto fields() {
      return std::tuple{field("axis", &Attrs::axis), field("before", &Attrs::before),
                        field("after", &Attrs::after), field("between", &Attrs::between).optional(),
                        field("value", &Attrs::value).optional().allow_nonfinite()};
    }
    int axis_in(const Shape& shape) const {
      return static_cast<int>(normal_axis("pad", axis, shape.rank()));
    }
    // What n elements span with those between them.
    std::int64_t span(std::int64_t n) const { return n == 0 ? 0 : n + (n - 1) * between; }
  };
  static constexpr std::array<std::string_view, 1> inputs{"x"};
  static constexpr DTypeSet dtypes = any_dtype;
  static Type infer(const Site& site) {
    const auto& attrs = site.attrs<Attrs>();
    const Type& x = site.in[0];
    const int axis = attrs.axis_in(x.shape);
    for (std::int64_t width : {attrs.before, attrs.after, attrs.between})
      if (width < 0 || width > Shape::max_elements)
        graph_error("pad", "width {} is out of range; expected 0 to 2^40", width);
    if (attrs.between > 0 && x.shape[axis] > Shape::max_elements / (attrs.between + 1))
      graph_error("pad", "the result has more than the limit of 2^40 elements");
    check_pad_value(x.dtype, attrs.value);
    return {x.dtype,
            with_size(x.shape, axis, attrs.before + attrs.span(x.shape[axis]) + attrs.after)};
  }
  static void check_pad_value(DType dtype, double value) {
    if (dtype == DType::i32 && !(value == std::floor(value) && std::abs(value) <= 2147483647.0))
      graph_error("pad", "value {} is not an i32", value);
    if (dtype == DType::boolean && value != 0 && value != 1)
      graph_error("pad", "value {} is not a bool: expected 0 or 1", value);
  }
  static std::optional<std::int64_t> alias(const Site& site) {
    if (site.in[0].shape == site.out.shape) return 0;
    return std::nullopt;
  }
  static AlongAxis to(const Site& site) {
    return {site.out.shape, site.attrs<Attrs>().axis_in(site.out.shape)};
  }
  // A unit is `inner` neighbouring elements of the output.
  static std::int64_t units(const Site& site) {
    const AlongAxis y = to(site);
    return y.inner == 0 ? 0 : y.outer * y.size;
  }
  template <class T>
  static void forward(const Call& c, std::int64_t begin, std::int64_t end) {
    const auto& attrs = c.attrs<Attrs>();
    const AlongAxis to_y = to(*c.site);
    const std::int64_t n = c.type(0).shape[attrs.axis_in(c.type().shape)];
    while (begin < end) {
      const std::int64_t outer = begin / to_y.size, row = begin % to_y.size;
      const std::int64_t last = std::min(to_y.size, row + end - begin);
      pad_rows(c.in<T>(0) + outer * n * to_y.inner, attrs, n, to_y.inner, row, last,
               c.out<T>() + begin * to_y.inner);
      begin += last - row;
    }
  }
  // The rows [row, last) of one padded axis, written to y.
  template <class T>
  static void pad_rows(const T* x, const Attrs& attrs, std::int64_t n, std::int64_t inner,
                       std::int64_t row, std::int64_t last, T* y) {
    const T value = static_cast<T>(attrs.value);
    const std::int64_t first = attrs.before, behind = attrs.before + attrs.span(n);
    const std::int64_t step = attrs.between + 1;
    while (row < last) {
      std::int64_t count = 1;
      const bool between = row >= first && row < behind && (row - first) % step != 0;
      if (row < first || row >= behind || between) {
        count = (row < first ? std::min(first, last) : (between ? row + 1 : last)) - row;
        std::fill_n(y, count * inner, value);
      } else {
        if (step == 1) count = std::min(behind, last) - row;
        std::copy_n(x + (row - first) / step * inner, count * inner, y);
      }
      y += count * inner;
      row += count;
    }
  }
  static Value gradient(const Adjoint& a, int) {
    const auto& attrs = a.attrs<Attrs>();
    const int axis = attrs.axis_in(a.x().shape());
    const std::int64_t span = attrs.span(a.x().shape()[axis]);
    return slice(a.dy, axis, attrs.before, attrs.before + span, attrs.between + 1);
  }
  static Value batch(const Batch& b) {
    Attrs attrs = b.attrs<Attrs>();
    attrs.axis = normal_axis("pad", attrs.axis, b.x().shape().rank() - 1) + 1;
    return call(*b.op, {b.x()}, attributes(attrs));
  }
  static std::vector<Sample> samples() {
    const auto attrs = [](std::int64_t axis, std::int64_t before, std::int64_t after,
                          std::int64_t between) {
      return AttrList{{"axis", axis},
                      {"before", before},
                      {"after", after},
                      {"between", between},
                      {"value", 0.5}};
    };
    return {{{{{3}}}, attrs(0, 1, 2, 0)},       {{{{2, 3}}}, attrs(1, 0, 2, 0)},
            {{{{2, 3, 2}}}, attrs(1, 2, 1, 2)}, {{{{2, 3}}}, attrs(-2, 1, 0, 1)},
            {{{{2, 0}}}, attrs(1, 1, 1, 3)},    {{{{0, 2}}}, attrs(1, 1, 1, 0)}};
  }
};

Value dilate(Value x, std::int64_t axis, std::int64_t before, std::int64_t after,
             std::int64_t between) {
  if (before == 0 && after == 0 && between == 0) return x;
  return call(pad_op, {x}, attributes(Pad::Attrs{axis, before, after, between, 0}));
}

}  // namespace

extern constinit const OpDef slice_op = define<Slice>("slice");
extern constinit const OpDef pad_op = define<Pad>("pad");

Value slice(Value x, std::int64_t axis, std::int64_t begin, std::int64_t end, std::int64_t step) {
  axis = normal_axis("slice", axis, x.shape().rank());
  const std::int64_t size = x.shape()[static_cast<int>(axis)];
  if (begin < 0) begin += size;
  if (end < 0) end += size;
  if (begin == 0 && end == size && step == 1) return x;
  return call(slice_op, {x}, attributes(Slice::Attrs{axis, begin, end, step}));
}

Value pad(Value x, std::int64_t axis, std::int64_t before, std::int64_t after, double value) {
  axis = normal_axis("pad", axis, x.shape().rank());
  if (before == 0 && after == 0) return x;
  return call(pad_op, {x}, attributes(Pad::Attrs{axis, before, after, 0, value}));
}

}  // namespace whorl
