// gather and scatter_add: rows chosen by index, and their sums put back; each is the gradient of
// the other.
//
// With S the first `batch_rank` axes, which values and indices share, and R = the indices' own
// axes:
//   gather       x [S, A, n, B], indices [S, R] -> y [S, A, R, B],  y[s, a, r, :] = x[s, a, i(s,
//   r), :] scatter_add  x [S, A, R, B], indices [S, R] -> y [S, A, n, B],  sums in the order of r
// An index outside 0 .. n-1 ends the run with an Error that names its element.
#include "engine/ops.hpp"
#include "engine/ops/axes.hpp"

namespace whorl {

extern const OpDef gather_op, scatter_add_op;

namespace {

// The sizes of the groups of axes.
struct Loops {
  std::int64_t shared = 1, before = 1, size = 1, chosen = 1, inner = 1;

  // `full` is the shape with n in it; `axis` is where n stands.
  Loops(const Shape& full, const Shape& indices, int axis, int batch_rank)
      : shared(full.span_elements(0, batch_rank)),
        before(full.span_elements(batch_rank, axis)),
        size(full[axis]),
        chosen(indices.span_elements(batch_rank, indices.rank())),
        inner(full.span_elements(axis + 1, full.rank())) {}
};

std::int64_t index_at(std::string_view where, const std::int32_t* indices, std::int64_t element,
                      std::int64_t size) {
  const std::int64_t index = indices[element];
  if (index < 0 || index >= size)
    fail(ErrorKind::data, where, "index out of range: element {} is {}; expected 0 to {}", element,
         index, size - 1);
  return index;
}

// Checks what both ops ask of `values` (rank of the axis, shared axes) and of the indices.
int checked_axis(const Site& site, std::int64_t axis, int rank, std::int64_t batch_rank) {
  const Shape &values = site.in[0].shape, &indices = site.in[1].shape;
  const std::string_view where = site.op->name;
  if (site.in[1].dtype != DType::i32)
    graph_error(where, "input 'indices' is {}; expected i32 (use cast)", name(site.in[1].dtype));
  const std::int64_t found = normal_axis(where, axis, rank);
  if (batch_rank < 0 || batch_rank > found || batch_rank > indices.rank())
    graph_error(where, "batch_rank {} is out of range for axis {} and indices of rank {}",
                batch_rank, found, indices.rank());
  for (int i = 0; i < batch_rank; ++i)
    if (values[i] != indices[i])
      graph_error(where, "shared axis {} differs: {} and {}", i, values[i], indices[i]);
  return static_cast<int>(found);
}

// The shape [front..., middle..., back...].
Shape joined(std::span<const std::int64_t> front, std::span<const std::int64_t> middle,
             std::span<const std::int64_t> back) {
  std::vector<std::int64_t> dims(front.begin(), front.end());
  dims.insert(dims.end(), middle.begin(), middle.end());
  dims.insert(dims.end(), back.begin(), back.end());
  return Shape(std::span<const std::int64_t>(dims));
}

Value gather_shared(Value x, Value indices, std::int64_t axis, std::int64_t batch_rank);
Value scatter_shared(Value x, Value indices, std::int64_t n, std::int64_t axis,
                     std::int64_t batch_rank);

struct Gather {
  struct Attrs {
    std::int64_t axis = 0;
    std::int64_t batch_rank = 0;
    static constexpr auto fields() {
      return std::tuple{
          field("axis", &Attrs::axis).optional(),
          field("batch_rank", &Attrs::batch_rank).optional().within(0, Shape::max_rank)};
    }
  };
  static constexpr std::array<std::string_view, 2> inputs{"x", "indices"};
  static constexpr DTypeSet dtypes = any_dtype;
  static int axis_of(const Site& site) {
    return static_cast<int>(
        normal_axis("gather", site.attrs<Attrs>().axis, site.in[0].shape.rank()));
  }
  static Loops loops(const Site& site) {
    return {site.in[0].shape, site.in[1].shape, axis_of(site),
            static_cast<int>(site.attrs<Attrs>().batch_rank)};
  }
  static Type infer(const Site& site) {
    const auto& attrs = site.attrs<Attrs>();
    const Shape &x = site.in[0].shape, &indices = site.in[1].shape;
    const auto axis =
        static_cast<std::size_t>(checked_axis(site, attrs.axis, x.rank(), attrs.batch_rank));
    if (x[static_cast<int>(axis)] == 0 && indices.elements() > 0)
      graph_error("gather", "axis {} has no elements to choose from", axis);
    const auto shared = static_cast<std::size_t>(attrs.batch_rank);
    return {site.in[0].dtype, joined(x.dims().first(axis), indices.dims().subspan(shared),
                                     x.dims().subspan(axis + 1))};
  }
  // A unit is one chosen row.
  static std::int64_t units(const Site& site) {
    if (site.out.elements() == 0) return 0;
    const Loops l = loops(site);
    return l.shared * l.before * l.chosen;
  }
  template <class T>
  static void forward(const Call& c, std::int64_t begin, std::int64_t end) {
    const Loops l = loops(*c.site);
    const auto* indices = c.in<std::int32_t>(1);
    T* y = c.out<T>();
    while (begin < end) {
      const std::int64_t block = begin / l.chosen, first = begin % l.chosen;
      const std::int64_t count = std::min(l.chosen - first, end - begin);
      const std::int64_t element = block / l.before * l.chosen + first;
      const T* x = c.in<T>(0) + block * l.size * l.inner;
      if (l.inner == 1) {
        for (std::int64_t i = 0; i < count; ++i)
          y[begin + i] = x[index_at("gather", indices, element + i, l.size)];
      } else {
        for (std::int64_t i = 0; i < count; ++i)
          std::copy_n(x + index_at("gather", indices, element + i, l.size) * l.inner, l.inner,
                      y + (begin + i) * l.inner);
      }
      begin += count;
    }
  }
  static Value gradient(const Adjoint& a, int) {
    const auto& attrs = a.attrs<Attrs>();
    const Shape& shape = a.x(0).shape();
    const std::int64_t axis = normal_axis("gather", attrs.axis, shape.rank());
    return scatter_shared(a.dy, a.x(1), shape[static_cast<int>(axis)], axis, attrs.batch_rank);
  }
  static Value batch(const Batch& b) {
    const auto& attrs = b.attrs<Attrs>();
    const int rank = b.x(0).shape().rank() - (b.is_batched(0) ? 1 : 0);
    const std::int64_t axis = normal_axis("gather", attrs.axis, rank);
    if (attrs.batch_rank == 0 && !b.is_batched(1))
      return gather_shared(b.x(0), b.x(1), axis + 1, 0);
    if (attrs.batch_rank > 0 || b.is_batched(0))
      return gather_shared(b.full(0), b.full(1), axis + 1, attrs.batch_rank + 1);
    // All chains choose from one x: [A, C, R, B], with C brought to the front.
    const Value y = gather_shared(b.x(0), b.x(1), axis, 0);
    if (axis == 0) return y;
    Axes order{axis};
    for (std::int64_t i = 0; i < y.shape().rank(); ++i)
      if (i != axis) order.push_back(i);
    return transpose(y, order);
  }
  static std::vector<Sample> samples() {
    const auto i32 = DType::i32;
    const auto attrs = [](std::int64_t axis, std::int64_t batch_rank) {
      return AttrList{{"axis", axis}, {"batch_rank", batch_rank}};
    };
    return {{{{{4, 3}}, {{5}, 0, 4, i32}}, attrs(0, 0)},
            {{{{4}}, {{2, 3}, 0, 4, i32}}, attrs(0, 0)},
            {{{{2, 4, 3}}, {{5}, 0, 4, i32}}, attrs(1, 0)},
            {{{{2, 4}}, {{}, 0, 4, i32}}, attrs(-1, 0)},
            {{{{2, 4, 3}}, {{2, 5}, 0, 4, i32}}, attrs(1, 1)},
            {{{{2, 3, 4}}, {{2, 2}, 0, 4, i32}}, attrs(2, 1)},
            {{{{2, 4}}, {{2}, 0, 4, i32}}, attrs(1, 1)},
            {{{{4, 0}}, {{5}, 0, 4, i32}}, attrs(0, 0)},
            {{{{0, 2}}, {{0}, 0, 1, i32}}, attrs(0, 0)}};
  }
};

struct ScatterAdd {
  struct Attrs {
    std::int64_t size = 0;
    std::int64_t axis = 0;
    std::int64_t batch_rank = 0;
    static constexpr auto fields() {
      return std::tuple{
          field("size", &Attrs::size), field("axis", &Attrs::axis).optional(),
          field("batch_rank", &Attrs::batch_rank).optional().within(0, Shape::max_rank)};
    }
  };
  static constexpr std::array<std::string_view, 2> inputs{"x", "indices"};
  static constexpr DTypeSet dtypes = numbers;
  // A unit is at most this many columns of B: units never meet in one output element.
  static constexpr std::int64_t column_block = 256;

  static int full_rank(const Site& site) {
    const auto own = site.in[1].shape.rank() - static_cast<int>(site.attrs<Attrs>().batch_rank);
    return site.in[0].shape.rank() - own + 1;
  }
  static int axis_of(const Site& site) {
    return static_cast<int>(normal_axis("scatter_add", site.attrs<Attrs>().axis, full_rank(site)));
  }
  static Loops loops(const Site& site) {
    return {site.out.shape, site.in[1].shape, axis_of(site),
            static_cast<int>(site.attrs<Attrs>().batch_rank)};
  }
  static Type infer(const Site& site) {
    const auto& attrs = site.attrs<Attrs>();
    const Shape &x = site.in[0].shape, &indices = site.in[1].shape;
    if (full_rank(site) < 1)
      graph_error("scatter_add", "indices of rank {} do not fit x of rank {}", indices.rank(),
                  x.rank());
    const int axis = checked_axis(site, attrs.axis, full_rank(site), attrs.batch_rank);
    const auto shared = static_cast<int>(attrs.batch_rank);
    const int own = indices.rank() - shared;
    if (x.slice(axis, axis + own) != indices.slice(shared, indices.rank()))
      graph_error("scatter_add", "axes {} to {} of x must be those of the indices: {} and {}", axis,
                  axis + own - 1, to_string(x.slice(axis, axis + own)),
                  to_string(indices.slice(shared, indices.rank())));
    if (attrs.size < 0 || attrs.size > std::int64_t{1} << 31)
      graph_error("scatter_add", "size {} is out of range; expected 0 to 2^31", attrs.size);
    if (attrs.size == 0 && indices.elements() > 0)
      graph_error("scatter_add", "size is 0, which leaves no place for {} indices",
                  indices.elements());
    const auto at = static_cast<std::size_t>(axis);
    return {site.in[0].dtype, joined(x.dims().first(at), std::span(&attrs.size, 1),
                                     x.dims().subspan(at + static_cast<std::size_t>(own)))};
  }
  static std::int64_t blocks(const Loops& l) { return (l.inner + column_block - 1) / column_block; }
  static std::int64_t units(const Site& site) {
    if (site.out.elements() == 0) return 0;
    const Loops l = loops(site);
    return l.shared * l.before * blocks(l);
  }
  static double flops(const Site& site) {
    return static_cast<double>(site.in[0].elements() + site.out.elements());
  }
  template <class T>
  static void forward(const Call& c, std::int64_t begin, std::int64_t end) {
    const Loops l = loops(*c.site);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t slab = unit / blocks(l), first = unit % blocks(l) * column_block;
      add_columns(c.in<T>(0) + slab * l.chosen * l.inner + first, c.in<std::int32_t>(1),
                  slab / l.before * l.chosen, l, std::min(column_block, l.inner - first),
                  c.out<T>() + slab * l.size * l.inner + first);
    }
  }
  // Adds `columns` neighbouring columns of one [chosen, inner] slab into a [size, inner] one.
  template <class T>
  static void add_columns(const T* x, const std::int32_t* indices, std::int64_t first_index,
                          const Loops& l, std::int64_t columns, T* y) {
    for (std::int64_t i = 0; i < l.size; ++i) std::fill_n(y + i * l.inner, columns, T{});
    for (std::int64_t i = 0; i < l.chosen; ++i) {
      const T* from = x + i * l.inner;
      T* to = y + index_at("scatter_add", indices, first_index + i, l.size) * l.inner;
#pragma GCC ivdep
      for (std::int64_t j = 0; j < columns; ++j) to[j] = plus(to[j], from[j]);
    }
  }
  template <class T>
  static T plus(T a, T b) {
    if constexpr (std::is_integral_v<T>)  // integers wrap around
      return static_cast<T>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
    return a + b;
  }
  static Value gradient(const Adjoint& a, int) {
    const auto& attrs = a.attrs<Attrs>();
    return gather_shared(a.dy, a.x(1), normal_axis("scatter_add", attrs.axis, a.y.shape().rank()),
                         attrs.batch_rank);
  }
  static Value batch(const Batch& b) {
    const auto& attrs = b.attrs<Attrs>();
    const int own =
        b.x(1).shape().rank() - (b.is_batched(1) ? 1 : 0) - static_cast<int>(attrs.batch_rank);
    const int rank = b.x(0).shape().rank() - (b.is_batched(0) ? 1 : 0) - own + 1;
    const std::int64_t axis = normal_axis("scatter_add", attrs.axis, rank);
    if (attrs.batch_rank == 0 && !b.is_batched(1))
      return scatter_shared(b.x(0), b.x(1), attrs.size, axis + 1, 0);
    return scatter_shared(b.full(0), b.full(1), attrs.size, axis + 1, attrs.batch_rank + 1);
  }
  static std::vector<Sample> samples() {
    const auto i32 = DType::i32;
    const auto attrs = [](std::int64_t size, std::int64_t axis, std::int64_t batch_rank) {
      return AttrList{{"size", size}, {"axis", axis}, {"batch_rank", batch_rank}};
    };
    return {{{{{5, 3}}, {{5}, 0, 4, i32}}, attrs(4, 0, 0)},
            {{{{2, 3}}, {{2, 3}, 0, 4, i32}}, attrs(4, 0, 0)},
            {{{{2, 5, 3}}, {{5}, 0, 4, i32}}, attrs(4, 1, 0)},
            {{{{2}}, {{}, 0, 4, i32}}, attrs(4, -1, 0)},
            {{{{2, 5, 3}}, {{2, 5}, 0, 4, i32}}, attrs(4, 1, 1)},
            {{{{2}}, {{2}, 0, 4, i32}}, attrs(4, 1, 1)},
            {{{{0, 3}}, {{0}, 0, 4, i32}}, attrs(4, 0, 0)},
            {{{{5, 0}}, {{5}, 0, 4, i32}}, attrs(4, 0, 0)}};
  }
};

Value gather_shared(Value x, Value indices, std::int64_t axis, std::int64_t batch_rank) {
  return call(gather_op, {x, indices}, attributes(Gather::Attrs{axis, batch_rank}));
}
Value scatter_shared(Value x, Value indices, std::int64_t n, std::int64_t axis,
                     std::int64_t batch_rank) {
  return call(scatter_add_op, {x, indices}, attributes(ScatterAdd::Attrs{n, axis, batch_rank}));
}

}  // namespace

extern constinit const OpDef gather_op = define<Gather>("gather");
extern constinit const OpDef scatter_add_op = define<ScatterAdd>("scatter_add");

Value gather(Value x, Value indices, std::int64_t axis) {
  return gather_shared(x, indices, normal_axis("gather", axis, x.shape().rank()), 0);
}
Value scatter_add(Value x, Value indices, std::int64_t n, std::int64_t axis) {
  const int rank = x.shape().rank() - indices.shape().rank() + 1;
  if (axis < 0 && rank > 0) axis = normal_axis("scatter_add", axis, rank);
  return scatter_shared(x, indices, n, axis, 0);
}

}  // namespace whorl
