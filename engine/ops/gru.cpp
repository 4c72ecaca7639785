// gru: a gated recurrent unit over a whole sequence, as one op.
//
//   a = x w_x + b_x,   c = h_{t-1} w_h + b_h                        gates in the order r, z, n
//   r = sigmoid(a_r + c_r),   z = sigmoid(a_z + c_z),   n = tanh(a_n + r c_n)
//   h_t = (1 - z) n + z h_{t-1}
//
// The result is the states h_1, ..., h_T. `length` says at run time how many frames count, so that
// sequences of different lengths share one plan: later rows of the result are zeros, and what x
// holds there has no influence as long as it is finite.
//
// gru is a composition: the projection of all frames is one product, gru_trace runs the recurrence
// and keeps what the way back needs (see kernels/gru.hpp for its rows), and the states are a slice
// of that. gru_adjoint is the one recurrence backwards, which also adds up the gradients of the
// biases; weights get theirs from single products over the whole sequence. Orders above the first
// go through gru_adjoint's composition, in which every frame is nodes of its own.
//
// Both ops take a leading axis of chains on any of their inputs; those without one are shared by
// all chains and not copied.
#include "engine/ops/gru.hpp"

#include "engine/kernels/gru.hpp"

namespace whorl {

extern const OpDef pad_op, gru_trace_op, gru_adjoint_op;

namespace {

// Of the products with w_h, which are nearly all of the work.
double product_flops(const Site& site, const recurrent::Sizes& s) {
  return 6.0 * static_cast<double>(chain_count(site.out.shape) * s.frames) *
         static_cast<double>(s.units * s.units);
}

SampleInput sample_length(std::int64_t length) {
  return {{}, static_cast<double>(length), static_cast<double>(length + 1), DType::i32};
}

struct Gru {
  static constexpr std::array<std::string_view, 7> inputs{"x",   "length", "w_x", "w_h",
                                                          "b_x", "b_h",    "h_0"};
  static constexpr std::array<int, 7> ranks{2, 0, 2, 2, 1, 1, 1};
  static constexpr DTypeSet dtypes = floats;
  static Type infer(const Site& site) {
    check_dtypes(site, 0, 1);
    for (std::size_t i = 0; i < ranks.size(); ++i)
      if (site.in[i].shape.rank() != ranks[i])
        graph_error("gru", "input '{}' has rank {}; expected {}", inputs[i],
                    site.in[i].shape.rank(), ranks[i]);
    const std::int64_t frames = site.in[0].shape[0], features = site.in[0].shape[1];
    const std::int64_t units = site.in[6].shape[0];
    const std::int64_t wide = 3 * units;
    const Shape expected[] = {
        {frames, features}, {}, {features, wide}, {units, wide}, {wide}, {wide}, {units}};
    for (std::size_t i = 0; i < ranks.size(); ++i)
      check_shape(site, i, site.in[i].shape, expected[i]);
    return {site.in[0].dtype, Shape{frames, units}};
  }
  static Value compose(const Composition& c) {
    const Value a = matmul(c.x(0), c.x(2));
    const Value trace = call(gru_trace_op, {a, c.x(1), c.x(3), c.x(4), c.x(5), c.x(6)});
    return slice(trace, 0, 1, 1 + c.x(0).shape()[0]);
  }
  static std::vector<Sample> samples() {
    const auto sample = [](std::int64_t t, std::int64_t features, std::int64_t h,
                           std::int64_t length) {
      return Sample{{{{t, features}},
                     sample_length(length),
                     {{features, 3 * h}, -1, 1},
                     {{h, 3 * h}, -1, 1},
                     {{3 * h}, -1, 1},
                     {{3 * h}, -1, 1},
                     {{h}, -1, 1}}};
    };
    return {sample(3, 2, 2, 3), sample(1, 1, 1, 1), sample(4, 3, 1, 2),
            sample(2, 1, 9, 2), sample(2, 2, 3, 0), sample(0, 2, 2, 0)};
  }
};

// What both recurrences have: one or two units for each chain, and what those share. Op gives sizes
// and the bytes of work_space.
template <class Op>
struct Recurrence {
  static std::int64_t units(const Site& site) {
    return chain_count(site.out.shape) * hands(Op::sizes(site).units);
  }
  static std::int64_t scratch(const Site& site) {
    return chain_count(site.out.shape) * ChainWork::bytes(Op::work_space(site));
  }
  static double flops(const Site& site) { return product_flops(site, Op::sizes(site)); }
  template <class T>
  static void prepare(const Call& c) {
    for (std::int64_t chain = 0; chain < chain_count(c.type().shape); ++chain)
      ChainWork(c, Op::work_space(*c.site), chain).reset();
  }
};

// (x [T, 3H], the projected input; length, w_h, b_x, b_h, h_0) -> [5T + 1, H].
struct GruTrace : Recurrence<GruTrace> {
  static constexpr std::array<std::string_view, 6> inputs{"x",   "length", "w_h",
                                                          "b_x", "b_h",    "h_0"};
  static constexpr std::array<int, 6> ranks{2, 0, 2, 1, 1, 1};
  static constexpr DTypeSet dtypes = floats;
  static Type infer(const Site& site) {
    check_dtypes(site, 0, 1);
    const Shape lead = chain_axis(site, ranks);
    const Shape x = one_chain(site.in[0].shape, 2);
    const std::int64_t units = one_chain(site.in[5].shape, 1)[0];
    const std::int64_t wide = 3 * units;
    const Shape expected[] = {{x[0], wide}, {}, {units, wide}, {wide}, {wide}, {units}};
    for (std::size_t i = 0; i < ranks.size(); ++i)
      check_shape(site, i, one_chain(site.in[i].shape, ranks[i]), expected[i]);
    return {site.in[0].dtype, with_lead(lead, Shape{5 * x[0] + 1, units})};
  }
  static recurrent::Sizes sizes(const Site& site) { return sizes(site.in[0]); }
  static recurrent::Sizes sizes(const Type& x) {
    const Shape shape = one_chain(x.shape, 2);
    return {shape[0], shape[1] / 3, 0};
  }
  static std::int64_t work_space(const Site& site) {
    const std::int64_t width = sizes(site).units;
    if (site.in[0].dtype == DType::f32)
      return whole_lines<float>(recurrent::forward_scratch<float>(width));
    return whole_lines<double>(recurrent::forward_scratch<double>(width));
  }
  template <class T>
  static void forward(const Call& c, std::int64_t begin, std::int64_t end) {
    recurrent::Sizes s = sizes(*c.site);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t chain = unit / hands(s.units);
      const ChainWork work(c, work_space(*c.site), chain);
      s.length = length_of(c, 1, chain, s.frames);
      recurrent::forward(s, of_chain<T>(c, 0, 2, chain), of_chain<T>(c, 2, 2, chain),
                         of_chain<T>(c, 3, 1, chain), of_chain<T>(c, 4, 1, chain),
                         of_chain<T>(c, 5, 1, chain), c.out<T>() + chain * s.trace_rows() * s.units,
                         work.memory<T>(), work.halves());
    }
  }

  // The states alone are what a gru passes on: their adjoint arrives as a slice's does, padded with
  // zeros to the size of the trace. The rows themselves are enough.
  static Value without_padding(Value dy, std::int64_t frames) {
    const Graph& graph = *dy.graph;
    const int axis = dy.shape().rank() - 2;
    if (&graph.op(dy.id) != &pad_op) return dy;
    const AttrList padded{{"axis", std::int64_t{axis}},
                          {"before", std::int64_t{1}},
                          {"after", 4 * frames},
                          {"between", std::int64_t{0}},
                          {"value", 0.0}};
    const Attributes expected = make_attributes(pad_op.name, pad_op.attrs(), padded);
    return graph.attributes(dy.id) == expected ? dy.graph->value(graph.inputs(dy.id)[0]) : dy;
  }
  static Value gradient(const Adjoint& g, int input) {
    const recurrent::Sizes size = sizes(g.x(0).type());
    const std::int64_t frames = size.frames, height = size.units;
    const Shape lead = g.y.shape().slice(0, g.y.shape().rank() - 2);
    const Value adjoint =
        call(gru_adjoint_op, {g.x(1), g.x(2), g.y, without_padding(g.dy, frames)});
    const auto rows = [&](std::int64_t from, std::int64_t to, const Shape& shape) {
      return reshape(slice(adjoint, -2, from, to), with_lead(lead, shape));
    };
    const auto for_all_chains = [&](Value dx) {
      return dx.shape().rank() > g.x(input).shape().rank() ? sum(dx, {0}) : dx;
    };
    const Shape side{frames, 3 * height};
    if (input == 0) return for_all_chains(rows(0, 3 * frames, side));
    const std::int64_t behind = 6 * frames;  // the adjoints of the frames
    if (input == 5) return for_all_chains(rows(behind, behind + 1, Shape{height}));
    if (input == 3) return for_all_chains(rows(behind + 1, behind + 4, Shape{3 * height}));
    if (input == 4) return for_all_chains(rows(behind + 4, behind + 7, Shape{3 * height}));
    Value dc = rows(3 * frames, behind, side);
    Value before = slice(g.y, -2, 0, frames);
    if (lead.rank() > 0 && g.x(2).shape().rank() == 2) {
      // One product whose inner dimension runs over the frames of all chains.
      dc = reshape(dc, Shape{lead[0] * frames, 3 * height});
      before = reshape(before, Shape{lead[0] * frames, height});
    }
    return matmul(before, dc, true);
  }
  static Value compose(const Composition& c) { return plain_gru_trace(c.inputs); }
  static Value batch(const Batch& b) { return batch_chains(b, ranks); }
  static std::vector<Sample> samples() {
    const auto sample = [](std::int64_t t, std::int64_t h, std::int64_t length) {
      return Sample{{{{t, 3 * h}},
                     sample_length(length),
                     {{h, 3 * h}, -1, 1},
                     {{3 * h}, -1, 1},
                     {{3 * h}, -1, 1},
                     {{h}, -1, 1}}};
    };
    std::vector<Sample> all{sample(3, 2, 3), sample(1, 1, 1), sample(4, 3, 2),
                            sample(2, 9, 2), sample(2, 2, 0), sample(0, 2, 0)};
    // Chains: of everything, and of weights that read one sequence.
    all.push_back({{{{2, 3, 6}},
                    {{2}, 1, 4, DType::i32},
                    {{2, 2, 6}, -1, 1},
                    {{2, 6}, -1, 1},
                    {{2, 6}, -1, 1},
                    {{2, 2}, -1, 1}}});
    all.push_back({{{{3, 6}},
                    sample_length(2),
                    {{2, 2, 6}, -1, 1},
                    {{6}, -1, 1},
                    {{6}, -1, 1},
                    {{2}, -1, 1}}});
    all.push_back(
        {{{{2, 3, 6}}, sample_length(3), {{2, 6}, -1, 1}, {{6}, -1, 1}, {{2, 6}, -1, 1}, {{2}}}});
    return all;
  }
};

// (length, w_h, trace, dtrace) -> [6T + 7, H], the rows of kernels/gru.hpp. dtrace is the adjoint
// of the trace, or [T, H], that of the states alone.
struct GruAdjoint : Recurrence<GruAdjoint> {
  static constexpr std::array<std::string_view, 4> inputs{"length", "w_h", "trace", "dtrace"};
  static constexpr std::array<int, 4> ranks{0, 2, 2, 2};
  static constexpr DTypeSet dtypes = floats;
  static constexpr int key = 1;
  static Type infer(const Site& site) {
    check_dtypes(site, key, 0);
    const Shape lead = chain_axis(site, ranks);
    const Shape w = one_chain(site.in[1].shape, 2), trace = one_chain(site.in[2].shape, 2);
    const std::int64_t units = w[0], frames = trace[0] / 5;
    if (trace[0] % 5 != 1)
      graph_error("gru_adjoint", "input 'trace' has {} rows; expected 5 for each frame and 1",
                  trace[0]);
    check_shape(site, 0, one_chain(site.in[0].shape, 0), {});
    check_shape(site, 1, w, {units, 3 * units});
    check_shape(site, 2, trace, {trace[0], units});
    const Shape dtrace = one_chain(site.in[3].shape, 2);
    check_shape(site, 3, dtrace, dtrace[0] == frames ? Shape{frames, units} : trace);
    return {site.in[1].dtype, with_lead(lead, Shape{6 * frames + 7, units})};
  }
  static recurrent::Sizes sizes(const Site& site) {
    const Shape trace = one_chain(site.in[2].shape, 2);
    return {trace[0] / 5, trace[1], 0};
  }
  static std::int64_t work_space(const Site& site) {
    const std::int64_t count = recurrent::backward_scratch(sizes(site).units);
    return site.in[1].dtype == DType::f32 ? whole_lines<float>(count) : whole_lines<double>(count);
  }
  template <class T>
  static void forward(const Call& c, std::int64_t begin, std::int64_t end) {
    recurrent::Sizes s = sizes(*c.site);
    const bool states_only = one_chain(c.type(3).shape, 2)[0] == s.frames;
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t chain = unit / hands(s.units);
      const ChainWork work(c, work_space(*c.site), chain);
      s.length = length_of(c, 0, chain, s.frames);
      recurrent::backward(s, of_chain<T>(c, 1, 2, chain), of_chain<T>(c, 2, 2, chain),
                          of_chain<T>(c, 3, 2, chain), states_only,
                          c.out<T>() + chain * s.adjoint_rows() * s.units, work.memory<T>(),
                          work.halves());
    }
  }
  static Value compose(const Composition& c) { return plain_gru_adjoint(c.inputs); }
  static Value batch(const Batch& b) { return batch_chains(b, ranks); }
  static std::vector<Sample> samples() {
    const auto sample = [](std::int64_t t, std::int64_t h, std::int64_t length, bool states_only) {
      return Sample{{sample_length(length),
                     {{h, 3 * h}, -1, 1},
                     {{5 * t + 1, h}, -1, 1},
                     {{states_only ? t : 5 * t + 1, h}, -1, 1}}};
    };
    std::vector<Sample> all{sample(3, 2, 3, true), sample(3, 2, 2, false), sample(1, 1, 1, true),
                            sample(2, 9, 2, true), sample(2, 9, 1, false), sample(2, 2, 0, true),
                            sample(0, 2, 0, false)};
    all.push_back(
        {{{{2}, 1, 4, DType::i32}, {{2, 2, 6}, -1, 1}, {{2, 16, 2}, -1, 1}, {{2, 3, 2}, -1, 1}}});
    all.push_back({{sample_length(2), {{2, 6}, -1, 1}, {{2, 16, 2}, -1, 1}, {{16, 2}, -1, 1}}});
    return all;
  }
};

}  // namespace

extern constinit const OpDef gru_op = define<Gru>("gru");
extern constinit const OpDef gru_trace_op = define<GruTrace>("gru_trace");
extern constinit const OpDef gru_adjoint_op = define<GruAdjoint>("gru_adjoint");

Value gru(Value x, Value length, Value w_x, Value w_h, Value b_x, Value b_h, Value h_0) {
  return call(gru_op, {x, length, w_x, w_h, b_x, b_h, h_0});
}

}  // namespace whorl
