// concat: values one after the other along an axis; and stack, along a new one.
#include "engine/ops.hpp"
#include "engine/ops/axes.hpp"

namespace whorl {

namespace {

struct Concat {
  struct Attrs {
    std::int64_t axis = 0;
    static constexpr auto fields() { return std::tuple{field("axis", &Attrs::axis)}; }
  };
  static constexpr std::array<std::string_view, 1> inputs{"xs"};
  static constexpr bool variadic = true;
  static constexpr DTypeSet dtypes = any_dtype;
  static int axis_of(const Site& site) {
    return static_cast<int>(
        normal_axis("concat", site.attrs<Attrs>().axis, site.in[0].shape.rank()));
  }
  static Type infer(const Site& site) {
    const Type& first = site.in[0];
    const int axis = axis_of(site);
    std::vector<std::int64_t> dims(first.shape.begin(), first.shape.end());
    std::int64_t total = 0;
    for (std::size_t i = 0; i < site.in.size(); ++i) {
      const Type& type = site.in[i];
      bool fits = type.dtype == first.dtype && type.shape.rank() == first.shape.rank();
      for (int a = 0; fits && a < first.shape.rank(); ++a)
        fits = a == axis || type.shape[a] == first.shape[a];
      if (!fits)
        graph_error("concat", "input {} is {}, which does not fit {} along axis {}", i,
                    to_string(type), to_string(first), axis);
      total += type.shape[axis];
    }
    dims[static_cast<std::size_t>(axis)] = total;
    return {first.dtype, Shape(std::span<const std::int64_t>(dims))};
  }
  static std::optional<std::int64_t> alias(const Site& site) {
    if (site.in.size() == 1) return 0;
    return std::nullopt;
  }
  // A unit is one index along the axes up to and with `axis`.
  static std::int64_t units(const Site& site) {
    return site.out.elements() == 0 ? 0 : site.out.shape.span_elements(0, axis_of(site) + 1);
  }
  template <class T>
  static void forward(const Call& c, std::int64_t begin, std::int64_t end) {
    const Shape& shape = c.type().shape;
    const int axis = axis_of(*c.site);
    const std::int64_t inner = shape.span_elements(axis + 1, shape.rank());
    T* y = c.out<T>() + begin * inner;
    while (begin < end) {
      const std::int64_t outer = begin / shape[axis];
      std::int64_t row = begin % shape[axis], left = std::min(shape[axis] - row, end - begin);
      begin += left;
      for (int i = 0; left > 0; ++i) {
        const std::int64_t size = c.type(i).shape[axis];
        if (row < size) {
          const std::int64_t count = std::min(size - row, left);
          y = std::copy_n(c.in<T>(i) + (outer * size + row) * inner, count * inner, y);
          left -= count;
          row += count;
        }
        row -= size;
      }
    }
  }
  static Value gradient(const Adjoint& a, int input) {
    const std::int64_t axis = normal_axis("concat", a.attrs<Attrs>().axis, a.x(0).shape().rank());
    std::int64_t begin = 0;
    for (int i = 0; i < input; ++i) begin += a.x(i).shape()[static_cast<int>(axis)];
    return slice(a.dy, axis, begin, begin + a.x(input).shape()[static_cast<int>(axis)]);
  }
  static Value batch(const Batch& b) {
    std::vector<Value> full;
    for (int i = 0; i < static_cast<int>(b.inputs.size()); ++i) full.push_back(b.full(i));
    return concat(full,
                  normal_axis("concat", b.attrs<Attrs>().axis, full[0].shape().rank() - 1) + 1);
  }
  static std::vector<Sample> samples() {
    const auto axis = [](std::int64_t a) { return AttrList{{"axis", a}}; };
    return {{{{{2}}, {{3}}}, axis(0)},
            {{{{2, 3}}, {{2, 1}}, {{2, 2}}}, axis(1)},
            {{{{2, 2, 2}}, {{2, 1, 2}}}, axis(-2)},
            {{{{2, 2}}}, axis(0)},
            {{{{2, 0}}, {{2, 3}}, {{2, 0}}}, axis(1)},
            {{{{0, 2}}, {{0, 1}}}, axis(1)}};
  }
};

// Values of one type along a new axis: each gets that axis with size 1, then they are joined.
struct Stack {
  struct Attrs {
    std::int64_t axis = 0;
    static constexpr auto fields() { return std::tuple{field("axis", &Attrs::axis).optional()}; }
  };
  static constexpr std::array<std::string_view, 1> inputs{"xs"};
  static constexpr bool variadic = true;
  static constexpr DTypeSet dtypes = any_dtype;
  // One input with the new axis, of the given size.
  static Shape widened(const Shape& shape, std::int64_t axis, std::int64_t size) {
    std::vector<std::int64_t> dims(shape.begin(), shape.end());
    dims.insert(dims.begin() + normal_axis("stack", axis, shape.rank() + 1), size);
    return Shape(std::span<const std::int64_t>(dims));
  }
  static Type infer(const Site& site) {
    const Type& first = site.in[0];
    for (const Type& type : site.in)
      if (type != first)
        graph_error("stack", "the inputs' types differ: {} and {}", to_string(first),
                    to_string(type));
    const auto count = static_cast<std::int64_t>(site.in.size());
    return {first.dtype, widened(first.shape, site.attrs<Attrs>().axis, count)};
  }
  static Value compose(const Composition& c) {
    const Shape shape = c.x().shape();
    const std::int64_t axis = c.attrs<Attrs>().axis;
    std::vector<Value> rows;
    for (const Value& x : c.inputs) rows.push_back(reshape(x, widened(shape, axis, 1)));
    return concat(rows, normal_axis("stack", axis, shape.rank() + 1));
  }
  static std::vector<Sample> samples() {
    return {{{{{2, 3}}, {{2, 3}}}, {{"axis", std::int64_t{1}}}},
            {{{{}}, {{}}, {{}}}},
            {{{{3}}, {{3}}}, {{"axis", std::int64_t{-1}}}}};
  }
};

}  // namespace

extern constinit const OpDef concat_op = define<Concat>("concat");
extern constinit const OpDef stack_op = define<Stack>("stack");

Value concat(const std::vector<Value>& xs, std::int64_t axis) {
  if (xs.empty()) graph_error("concat", "takes at least 1 input (xs), got 0");
  axis = normal_axis("concat", axis, xs[0].shape().rank());
  if (xs.size() == 1) return xs[0];
  return call(concat_op, xs, attributes(Concat::Attrs{axis}));
}

Value stack(const std::vector<Value>& xs, std::int64_t axis) {
  if (xs.empty()) graph_error("stack", "takes at least 1 input (xs), got 0");
  return call(stack_op, xs, attributes(Stack::Attrs{axis}));
}

}  // namespace whorl
