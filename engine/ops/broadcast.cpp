// broadcast and sum_to: each is the gradient of the other.
#include <algorithm>
#include <numeric>

#include "engine/ops.hpp"
#include "engine/ops/axes.hpp"

namespace whorl {

namespace {

struct PlacedAttrs {
  Shape shape;
  Axes axes;
  static constexpr auto fields() {
    return std::tuple{field("shape", &PlacedAttrs::shape), field("axes", &PlacedAttrs::axes)};
  }
};

// Checks that `small` fits into `large`, its axis i standing at axes[i].
void check_placed(std::string_view where, const Shape& small, const Shape& large,
                  const Axes& axes) {
  if (static_cast<int>(axes.size()) != small.rank())
    graph_error(where, "has {} axes for rank {}", axes.size(), small.rank());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= large.rank() || (i > 0 && axes[i] <= axes[i - 1]))
      graph_error(where, "axes must increase and lie in 0..{}: found {}", large.rank() - 1,
                  axes[i]);
    const std::int64_t have = small[static_cast<int>(i)], want = large[static_cast<int>(axes[i])];
    if (have != want && have != 1)
      graph_error(where, "dimension {} does not fit {} on axis {} of {}", have, want, axes[i],
                  to_string(large));
  }
}

// For each axis of the large shape, the step in the small one: 0 where it is repeated.
Strides placed_strides(const Shape& small, const Shape& large, const Axes& axes) {
  Strides strides{};
  std::int64_t stride = 1;
  for (int i = small.rank() - 1; i >= 0; --i) {
    const auto axis = static_cast<std::size_t>(axes[static_cast<std::size_t>(i)]);
    if (small[i] == large[static_cast<int>(axis)]) strides[axis] = stride;
    stride *= small[i];
  }
  return strides;
}

Axes all_axes(int first, int last) {
  Axes axes(static_cast<std::size_t>(last - first));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

Axes batched_axes(const Axes& axes) {
  Axes result{0};
  for (std::int64_t axis : axes) result.push_back(axis + 1);
  return result;
}

struct Broadcast {
  using Attrs = PlacedAttrs;
  static constexpr std::array<std::string_view, 1> inputs{"x"};
  static constexpr Traits traits = Traits::generator;
  static constexpr DTypeSet dtypes = any_dtype;
  static Type infer(const Site& site) {
    const auto& attrs = site.attrs<Attrs>();
    check_placed("broadcast", site.in[0].shape, attrs.shape, attrs.axes);
    return {site.in[0].dtype, attrs.shape};
  }
  static std::optional<std::int64_t> alias(const Site& site) {
    if (site.in[0].elements() == site.out.elements()) return 0;
    return std::nullopt;
  }
  static bool uniform(const Site& site) { return site.in[0].elements() == 1; }
  template <class T>
  static void tile(const Tile& t) {
    const Shape& shape = t.site->out.shape;
    const Shape& from = t.site->in[0].shape;
    const auto& axes = t.attrs<Attrs>().axes;
    const T* x = t.in<T>(0);
    T* y = t.out<T>();
    if (from.elements() == 1) {
      std::fill_n(y, t.n, x[0]);
      return;
    }
    StridedWalk walk(shape, placed_strides(from, shape, axes), t.begin);
    walk.runs(t.n, [&](std::int64_t at, std::int64_t offset, std::int64_t count, bool repeated) {
      if (repeated) {
        std::fill_n(y + at, count, x[offset]);
      } else {
        std::copy_n(x + offset, count, y + at);
      }
    });
  }
  static Value gradient(const Adjoint& a, int) {
    return sum_to(a.dy, a.x().shape(), a.attrs<Attrs>().axes);
  }
  static Value batch(const Batch& b) {
    const auto& attrs = b.attrs<Attrs>();
    return broadcast(b.x(), attrs.shape.with_front(b.size), batched_axes(attrs.axes));
  }
  static std::vector<Sample> samples() {
    using L = std::vector<std::int64_t>;
    return {{{{{3}}}, {{"shape", L{2, 3}}, {"axes", L{1}}}},
            {{{{2}}}, {{"shape", L{2, 3}}, {"axes", L{0}}}},
            {{{{2, 1, 2}}}, {{"shape", L{2, 3, 2}}, {"axes", L{0, 1, 2}}}},
            {{{{}}}, {{"shape", L{2, 3}}, {"axes", L{}}}},
            {{{{2, 3}}}, {{"shape", L{2, 3}}, {"axes", L{0, 1}}}}};
  }
};

struct SumTo {
  using Attrs = PlacedAttrs;
  static constexpr std::array<std::string_view, 1> inputs{"x"};
  static constexpr DTypeSet dtypes = numbers;
  static Type infer(const Site& site) {
    const auto& attrs = site.attrs<Attrs>();
    check_placed("sum_to", attrs.shape, site.in[0].shape, attrs.axes);
    return {site.in[0].dtype, attrs.shape};
  }
  // A sum over the axes that broadcast would have repeated, in the shape it came from.
  static Value compose(const Composition& c) {
    const auto& attrs = c.attrs<Attrs>();
    const Shape& large = c.x().shape();
    Axes summed;
    for (int axis = 0; axis < large.rank(); ++axis) {
      const auto at = std::find(attrs.axes.begin(), attrs.axes.end(), axis);
      const bool placed = at != attrs.axes.end();
      const bool same =
          placed && attrs.shape[static_cast<int>(at - attrs.axes.begin())] == large[axis];
      if (!same) summed.push_back(axis);
    }
    const Value total = summed.empty() ? c.x() : sum(c.x(), summed);
    return total.shape() == attrs.shape ? total : reshape(total, attrs.shape);
  }
  static std::vector<Sample> samples() {
    using L = std::vector<std::int64_t>;
    return {{{{{2, 3}}}, {{"shape", L{3}}, {"axes", L{1}}}},
            {{{{2, 3}}}, {{"shape", L{2}}, {"axes", L{0}}}},
            {{{{2, 3, 2}}}, {{"shape", L{2, 1, 2}}, {"axes", L{0, 1, 2}}}},
            {{{{2, 3}}}, {{"shape", L{}}, {"axes", L{}}}},
            {{{{2, 3}}}, {{"shape", L{2, 3}}, {"axes", L{0, 1}}}}};
  }
};

}  // namespace

extern constinit const OpDef broadcast_op = define<Broadcast>("broadcast");
extern constinit const OpDef sum_to_op = define<SumTo>("sum_to");

Value broadcast(Value x, const Shape& shape, Axes axes) {
  if (x.shape() == shape) return x;
  return call(broadcast_op, {x}, attributes(PlacedAttrs{shape, std::move(axes)}));
}
Value broadcast(Value x, const Shape& shape) {
  if (x.shape().rank() > shape.rank())
    graph_error("broadcast", "rank {} does not fit into {}", x.shape().rank(), to_string(shape));
  return broadcast(x, shape, all_axes(shape.rank() - x.shape().rank(), shape.rank()));
}
Value sum_to(Value x, const Shape& shape, Axes axes) {
  if (x.shape() == shape) return x;
  return call(sum_to_op, {x}, attributes(PlacedAttrs{shape, std::move(axes)}));
}
Value sum_to(Value x, const Shape& shape) {
  if (x.shape().rank() < shape.rank())
    graph_error("sum_to", "rank {} cannot give {}", x.shape().rank(), to_string(shape));
  return sum_to(x, shape, all_axes(x.shape().rank() - shape.rank(), x.shape().rank()));
}

}  // namespace whorl
