// coordinate_net_weights_gradient: the derivative of coordinate_net, value and derivatives alike,
// by its weights.
//
// The adjoints of the value and of the derivatives are inputs of their own, each in S, so that they
// can be read wherever they were made. Every unit of coordinates adds up its share in double; the
// shares are added in the units' order. Its own gradient is that of its composition: those are the
// second derivatives of the network's outputs, of which a meta-gradient needs few.
#include "engine/ops/coordinate_net.hpp"

namespace whorl {

namespace {

struct CoordinateNetGradient {
  struct Attrs {
    std::vector<std::int64_t> hidden;
    std::string activation = "relu";
    std::vector<std::int64_t> wrt;
    static constexpr auto fields() {
      return std::tuple{
          field("hidden", &Attrs::hidden).within(1, 1 << 20),
          field("activation", &Attrs::activation).optional().one_of(coordinate_net_activations),
          field("wrt", &Attrs::wrt).optional().within(0, net::max_inputs - 1)};
    }
    CoordinateNetAttrs net() const { return {hidden, activation, wrt, 0}; }
    std::size_t parts() const { return 1 + wrt.size(); }
  };
  // First the inputs x of the network, then dy, one for each of its outputs.
  static constexpr std::array<std::string_view, 2> inputs{"weights", "x_dy"};
  static constexpr bool variadic = true;
  static constexpr DTypeSet dtypes = floats;

  static std::span<const Type> x(const Site& site) {
    return site.in.subspan(1, site.in.size() - 1 - site.attrs<Attrs>().parts());
  }
  static Type infer(const Site& site) {
    const auto& attrs = site.attrs<Attrs>();
    const std::string_view where = site.op->name;
    if (site.in.size() < 2 + attrs.parts())
      graph_error(where, "has {} inputs after the weights; expected x, and dy of {} outputs",
                  site.in.size() - 1, attrs.parts());
    const Type wanted{site.in[0].dtype,
                      check_coordinate_net(where, attrs.net(), site.in[0], x(site))};
    for (const Type& dy : site.in.last(attrs.parts()))
      if (dy != wanted)
        graph_error(where, "dy must be {}: found {}", to_string(wanted), to_string(dy));
    return site.in[0];
  }
  static net::Layout layout(const Site& site) {
    return coordinate_net_layout(site.attrs<Attrs>(), x(site).size());
  }
  static std::int64_t size(const Site& site) { return site.in.back().elements(); }
  // A unit's scratch: its sums, then what the kernel needs.
  static std::int64_t sum_bytes(const Site& site) { return (site.out.elements() + 7) / 8 * 64; }
  static std::int64_t unit_bytes(const Site& site) {
    const std::int64_t bytes =
        net::gradient_scratch(layout(site)) * static_cast<std::int64_t>(size_of(site.out.dtype));
    return sum_bytes(site) + (bytes + 63) / 64 * 64;
  }
  static CoordinateUnits cut(const Site& site) { return {size(site), unit_bytes(site)}; }
  static std::int64_t units(const Site& site) { return cut(site).count; }
  static std::int64_t scratch(const Site& site) { return units(site) * unit_bytes(site); }
  static double flops(const Site& site) {
    return 4.0 * static_cast<double>(site.in.back().elements()) *
           static_cast<double>(site.attrs<Attrs>().parts()) *
           static_cast<double>(layout(site).size());
  }

  template <class T>
  static void forward(const Call& c, std::int64_t begin, std::int64_t end) {
    const Site& site = *c.site;
    const net::Layout net = layout(site);
    const std::span<const Type> types = x(site);
    const std::size_t parts = site.attrs<Attrs>().parts();
    const CoordinateRuns runs(site.in.back().shape, 0, parts, types);
    const void* const* dy = c.inputs + 1 + types.size();
    const CoordinateUnits all = cut(site);
    const T* weights = c.in<T>(0);
    const std::int64_t bytes = unit_bytes(site), before = sum_bytes(site);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      char* own = static_cast<char*>(c.scratch) + unit * bytes;
      double* sums = reinterpret_cast<double*>(own);
      T* scratch = reinterpret_cast<T*>(own + before);
      std::fill_n(sums, net.size(), 0.0);
      const std::int64_t from = unit * all.size, to = std::min(from + all.size, runs.size());
      visit_coordinates<T>(runs, c.inputs + 1, types.size(), from, to,
                           [&](const CoordinateStretch<T>& stretch) {
                             if (stretch.fresh) net::prepare(net, weights, stretch.in, scratch);
                             compute(net, weights, stretch, dy, scratch, sums);
                           });
    }
  }
  template <class T>
  static void compute(const net::Layout& net, const T* weights, const CoordinateStretch<T>& stretch,
                      const void* const* dy, T* scratch, double* sums) {
    const T* y[1 + net::max_inputs];
    for (int m = 0; m <= net.wrt_count; ++m) y[m] = static_cast<const T*>(dy[m]) + stretch.at;
    if (stretch.direct) {
      net::weights_gradient<T>(net, weights, stretch.in, y, stretch.n, scratch, sums);
      return;
    }
    // Beyond n the adjoints are 0, so that the padding adds nothing.
    alignas(64) T copied[1 + net::max_inputs][CoordinateStretch<T>::longest];
    for (int m = 0; m <= net.wrt_count; ++m) {
      std::copy_n(y[m], stretch.n, copied[m]);
      std::fill(copied[m] + stretch.n, copied[m] + stretch.padded(), T(0));
      y[m] = copied[m];
    }
    net::weights_gradient<T>(net, weights, stretch.in, y, stretch.padded(), scratch, sums);
  }
  template <class T>
  static void finish(const Call& c) {
    const Site& site = *c.site;
    const std::int64_t bytes = unit_bytes(site), count = units(site);
    T* out = c.out<T>();
    for (std::int64_t p = 0; p < site.out.elements(); ++p) {
      double sum = 0;
      for (std::int64_t unit = 0; unit < count; ++unit)
        sum +=
            reinterpret_cast<const double*>(static_cast<const char*>(c.scratch) + unit * bytes)[p];
      out[p] = static_cast<T>(sum);
    }
  }

  static Value compose(const Composition& c) {
    const auto& attrs = c.attrs<Attrs>();
    const auto given = c.inputs.subspan(1);
    const PlainNet net(attrs.net(), c.x(0), given.first(given.size() - attrs.parts()));
    std::vector<Value> dy;
    for (const Value& part : given.last(attrs.parts()))
      dy.push_back(reshape(part, Shape{1, part.shape().elements()}));
    return net.weights_gradient(dy);
  }

  // Every chain has a sum of its own: chain by chain.
  static Value batch(const Batch& b) {
    std::vector<Value> chains, in(b.inputs.size());
    for (std::int64_t chain = 0; chain < b.size; ++chain) {
      for (int i = 0; i < static_cast<int>(in.size()); ++i)
        in[static_cast<std::size_t>(i)] = one_chain(b, i, chain);
      chains.push_back(call(*b.op, in, *b.attributes));
    }
    return stack(chains, 0);
  }

  static std::vector<Sample> samples() {
    using Ints = std::vector<std::int64_t>;
    const auto weights = [](std::size_t inputs, const Ints& hidden) {
      return SampleInput{{coordinate_net_weights(inputs, hidden)}, -1, 1};
    };
    const auto attrs = [](const Ints& hidden, const char* activation, const Ints& wrt) {
      return AttrList{{"hidden", hidden}, {"activation", std::string(activation)}, {"wrt", wrt}};
    };
    return {{{weights(2, {3}), {{2, 1}}, {{2, 2}}, {{2, 2}}, {{2, 2}}, {{2, 2}}},
             attrs({3}, "tanh", {1, 0})},
            {{weights(1, {2, 2}), {{3}}, {{3}}, {{3}}}, attrs({2, 2}, "softplus", {0})},
            {{weights(2, {2, 3}), {{2}}, {{2}}, {{2}}}, attrs({2, 3}, "tanh", {})}};
  }
};

}  // namespace

extern constinit const OpDef coordinate_net_weights_gradient_op =
    define<CoordinateNetGradient>("coordinate_net_weights_gradient");

Value coordinate_net_weights_gradient(Value weights, Value dy, std::span<const Value> x,
                                      const CoordinateNetAttrs& attrs) {
  std::vector<Value> in{weights};
  in.insert(in.end(), x.begin(), x.end());
  for (std::size_t m = 0; m <= attrs.wrt.size(); ++m)
    in.push_back(coordinate_net_part(dy, attrs, m));
  return call(coordinate_net_weights_gradient_op, in,
              attributes(CoordinateNetGradient::Attrs{attrs.hidden, attrs.activation, attrs.wrt}));
}

}  // namespace whorl
