// coordinate_net: a small MLP applied to every coordinate, with its derivatives by chosen inputs.
//
//   f(x_1, ..., x_n) = b + w . s(b1 + W1 x)                     one hidden layer
//   f(x_1, ..., x_n) = b + w . s(b2 + W2 s(b1 + W1 x))          two
//
// s is relu, tanh or softplus. The weights are one flat vector: W1 [width, n] row by row, b1, then
// for two layers W2 [width 2, width 1] and b2, then w, then b. The inputs have one rank and are
// broadcast against each other, to S, without being copied: an input [C,1] beside others [C,D] is
// read once a row. The output has an axis more, in front unless the attribute `axis` says
// otherwise: the value, then its derivatives by the inputs in `wrt`, in that order.
//
// The derivative by the weights, of the value and of its derivatives, is an op of its own. The
// value's derivative by an input is a coordinate_net again (the pass `nets` makes both one node);
// that of the derivatives is made of plain ops, except for relu: there they have no slope.
#include "engine/ops/coordinate_net.hpp"

namespace whorl {

namespace {

struct CoordinateNetOp {
  using Attrs = CoordinateNetAttrs;
  static constexpr std::array<std::string_view, 2> inputs{"weights", "x"};
  static constexpr bool variadic = true;
  static constexpr Traits traits = Traits::coordinatewise;
  static constexpr DTypeSet dtypes = floats;

  static Shape coordinates(const Site& site) {
    return check_coordinate_net(site.op->name, site.attrs<Attrs>(), site.in[0], site.in.subspan(1));
  }
  static Type infer(const Site& site) {
    return {site.in[0].dtype, coordinate_net_shape(site.attrs<Attrs>(), coordinates(site))};
  }
  static net::Layout layout(const Site& site) {
    return coordinate_net_layout(site.attrs<Attrs>(), site.in.size() - 1);
  }
  static std::int64_t size(const Site& site) {
    return site.out.elements() / static_cast<std::int64_t>(1 + site.attrs<Attrs>().wrt.size());
  }
  static std::int64_t unit_bytes(const Site& site) {
    const std::int64_t bytes =
        net::forward_scratch(layout(site)) * static_cast<std::int64_t>(size_of(site.out.dtype));
    return (bytes + 63) / 64 * 64;
  }
  static CoordinateUnits cut(const Site& site) { return {size(site), unit_bytes(site)}; }
  static std::int64_t units(const Site& site) { return cut(site).count; }
  static std::int64_t scratch(const Site& site) { return units(site) * unit_bytes(site); }
  static double flops(const Site& site) {
    return 2.0 * static_cast<double>(site.out.elements()) *
           static_cast<double>(layout(site).size());
  }

  template <class T>
  static void forward(const Call& c, std::int64_t begin, std::int64_t end) {
    const Site& site = *c.site;
    const net::Layout net = layout(site);
    const std::span<const Type> x = site.in.subspan(1);
    const auto axis = static_cast<int>(site.attrs<Attrs>().axis);
    const CoordinateRuns runs(without_axis(site.out.shape, axis), axis,
                              1 + site.attrs<Attrs>().wrt.size(), x);
    const CoordinateUnits all = cut(site);
    const T* weights = c.in<T>(0);
    const std::int64_t bytes = unit_bytes(site);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      T* scratch = reinterpret_cast<T*>(static_cast<char*>(c.scratch) + unit * bytes);
      const std::int64_t from = unit * all.size, to = std::min(from + all.size, runs.size());
      visit_coordinates<T>(runs, c.inputs + 1, x.size(), from, to,
                           [&](const CoordinateStretch<T>& stretch) {
                             if (stretch.fresh) net::prepare(net, weights, stretch.in, scratch);
                             compute(net, weights, runs, stretch, scratch, c.out<T>());
                           });
    }
  }
  // What a loop can make: the hot case, whose scratch fits on the stack.
  static constexpr std::int64_t widest = 64;
  static std::int64_t planes(const Site& site) {
    const auto& attrs = site.attrs<Attrs>();
    const bool hot = attrs.hidden.size() == 1 && attrs.activation == "relu";
    if (!hot || attrs.hidden[0] > widest || attrs.axis != 0) return 0;
    return static_cast<std::int64_t>(1 + attrs.wrt.size());
  }
  template <class T>
  static void coordinates(const Tile& t) {
    const net::Layout net = layout(*t.site);
    const std::span<const Type> x = t.site->in.subspan(1);
    const CoordinateRuns runs(without_axis(t.site->out.shape, 0), 0,
                              1 + static_cast<std::size_t>(net.wrt_count), x);
    const T* weights = t.in<T>(0);
    alignas(64) T scratch[widest * net::prepared_width];
    alignas(64) T made[1 + net::max_inputs][CoordinateStretch<T>::longest];
    visit_coordinates<T>(
        runs, t.inputs + 1, x.size(), t.begin, t.begin + t.n,
        [&](const CoordinateStretch<T>& stretch) {
          if (stretch.fresh) net::prepare(net, weights, stretch.in, scratch);
          T* y[1 + net::max_inputs];
          T* to = t.out<T>() + stretch.at - t.begin;
          for (int m = 0; m <= net.wrt_count; ++m)
            y[m] = stretch.direct ? to + m * t.plane : made[m];
          const std::int64_t n = stretch.direct ? stretch.n : stretch.padded();
          net::forward<T>(net, weights, stretch.in, y, n, scratch);
          if (stretch.direct) return;
          for (int m = 0; m <= net.wrt_count; ++m)
            std::copy_n(made[m], stretch.n, to + m * t.plane);
        },
        t.begin);
  }

  template <class T>
  static void compute(const net::Layout& net, const T* weights, const CoordinateRuns& runs,
                      const CoordinateStretch<T>& stretch, T* scratch, T* out) {
    T* y[1 + net::max_inputs];
    if (stretch.direct) {
      for (int m = 0; m <= net.wrt_count; ++m) y[m] = out + runs.output_offset(m, stretch.at);
      net::forward<T>(net, weights, stretch.in, y, stretch.n, scratch);
      return;
    }
    alignas(64) T made[1 + net::max_inputs][CoordinateStretch<T>::longest];
    for (int m = 0; m <= net.wrt_count; ++m) y[m] = made[m];
    net::forward<T>(net, weights, stretch.in, y, stretch.padded(), scratch);
    for (int m = 0; m <= net.wrt_count; ++m)
      runs.output_pieces(stretch.at, stretch.n,
                         [&](std::int64_t at, std::int64_t position, std::int64_t count) {
                           std::copy_n(made[m] + position, count, out + runs.output_offset(m, at));
                         });
  }

  static Value compose(const Composition& c) {
    return PlainNet(c.attrs<Attrs>(), c.x(0), c.inputs.subspan(1)).outputs();
  }

  static Value gradient(const Adjoint& a, int input) {
    const auto& attrs = a.attrs<Attrs>();
    const auto x = a.inputs.subspan(1);
    if (input == 0) return coordinate_net_weights_gradient(a.x(0), a.dy, x, attrs);
    const bool only_value = attrs.wrt.empty() || attrs.activation == "relu";
    const Value by_input = only_value ? value_gradient(a, input - 1) : whole_gradient(a, input - 1);
    return sum_to(by_input, a.x(input).shape());
  }
  // Of the value and the derivatives.
  static Value whole_gradient(const Adjoint& a, int input) {
    const PlainNet net(a.attrs<Attrs>(), a.x(0), a.inputs.subspan(1));
    return net.input_gradient(net.parts(a.dy), input);
  }
  static Value value_gradient(const Adjoint& a, int input) {
    Attrs attrs = a.attrs<Attrs>();
    const Value dy = coordinate_net_part(a.dy, attrs, 0);
    attrs.wrt = {input};
    const Value both = call(a.y.graph->op(a.y.id), a.inputs, attributes(attrs));
    return dy * coordinate_net_part(both, attrs, 1);
  }
  // One more axis of coordinates. Chains with weights of their own are different networks: those go
  // chain by chain.
  static Value batch(const Batch& b) {
    const int count = static_cast<int>(b.inputs.size());
    std::vector<Value> in(b.inputs.size());
    if (!b.is_batched(0)) {
      Attrs attrs = b.attrs<Attrs>();
      ++attrs.axis;
      in[0] = b.x(0);
      for (int i = 1; i < count; ++i) in[static_cast<std::size_t>(i)] = with_chain_axis(b, i);
      return call(*b.op, in, attributes(std::move(attrs)));
    }
    std::vector<Value> chains;
    for (std::int64_t chain = 0; chain < b.size; ++chain) {
      for (int i = 0; i < count; ++i) in[static_cast<std::size_t>(i)] = one_chain(b, i, chain);
      chains.push_back(call(*b.op, in, *b.attributes));
    }
    return stack(chains, 0);
  }

  static std::vector<Sample> samples();
};

using L = std::vector<std::int64_t>;

// Every other unit off, every h at a distance from 0, so that differences see no corner. Inputs are
// positive in these cases, and weights too until here.
void away_from_corners(std::span<Tensor> in, std::int64_t h1, std::int64_t h2) {
  const auto flip = [&](auto zero) {
    using T = decltype(zero);
    const auto inputs = static_cast<std::int64_t>(in.size()) - 1;
    T* w = in[0].data<T>();
    const auto flip_rows = [](T* rows, T* biases, std::int64_t height, std::int64_t width) {
      for (std::int64_t k = 1; k < height; k += 2) {
        for (std::int64_t i = 0; i < width; ++i) rows[k * width + i] *= T(-1);
        biases[k] *= T(-1);
      }
    };
    T* b1 = w + h1 * inputs;
    flip_rows(w, b1, h1, inputs);
    if (h2 > 0) flip_rows(b1 + h1, b1 + h1 + h2 * h1, h2, h1);
  };
  in[0].dtype() == DType::f32 ? flip(float{}) : flip(double{});
}

std::vector<Sample> CoordinateNetOp::samples() {
  const auto weights = [](std::size_t inputs, const L& hidden, double low = -1) {
    return SampleInput{{coordinate_net_weights(inputs, hidden)}, low, 1};
  };
  const auto attrs = [](const L& hidden, const char* activation, const L& wrt,
                        std::int64_t axis = 0) {
    return AttrList{
        {"hidden", hidden}, {"activation", std::string(activation)}, {"wrt", wrt}, {"axis", axis}};
  };
  return {{{weights(2, {3}), {{2, 3}}, {{2, 3}}}, attrs({3}, "tanh", {0, 1})},
          {{weights(3, {4}), {{2, 1}}, {{2, 3}}, {{1, 3}}}, attrs({4}, "softplus", {2, 0})},
          {{weights(1, {2, 3}), {{}}}, attrs({2, 3}, "tanh", {0})},
          {{weights(4, {2, 2}), {{3}}, {{3}}, {{1}}, {{3}}}, attrs({2, 2}, "softplus", {1, 3})},
          {{weights(2, {3}), {{2, 3}}, {{2, 3}}}, attrs({3}, "tanh", {1}, 1)},
          {{weights(2, {3}), {{2, 3}}, {{2, 1}}}, attrs({3}, "softplus", {})},
          {{weights(2, {3}, 0.2), {{2, 3}, 0.5, 2}, {{2, 3}, 0.5, 2}},
           attrs({3}, "relu", {0, 1}),
           [](std::span<Tensor> in) { away_from_corners(in, 3, 0); }},
          {{weights(3, {4, 3}, 0.2), {{2, 3}, 0.5, 2}, {{2, 1}, 0.5, 2}, {{2, 3}, 0.5, 2}},
           attrs({4, 3}, "relu", {2}),
           [](std::span<Tensor> in) { away_from_corners(in, 4, 3); }}};
}

}  // namespace

extern constinit const OpDef coordinate_net_op = define<CoordinateNetOp>("coordinate_net");

Value coordinate_net(const std::vector<Value>& inputs, Value weights, const CoordinateNet& net) {
  int rank = 0;
  for (const Value& x : inputs) rank = std::max(rank, x.shape().rank());
  std::vector<Value> in{weights};
  for (const Value& x : inputs) {
    Shape shape = x.shape();
    while (shape.rank() < rank) shape = shape.with_front(1);
    in.push_back(reshape(x, shape));
  }
  return call(coordinate_net_op, in,
              attributes(CoordinateNetAttrs{net.hidden, net.activation, net.wrt, 0}));
}

}  // namespace whorl
