// What coordinate_net and its derivative by the weights have in common: attributes, types, how
// coordinates are cut into units and runs, and the formulas in plain ops.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/kernels/coordinate_net.hpp"
#include "engine/ops.hpp"

namespace whorl {

std::vector<std::string_view> coordinate_net_activations();

struct CoordinateNetAttrs {
  std::vector<std::int64_t> hidden;  // the widths of one or two layers
  std::string activation = "relu";
  std::vector<std::int64_t> wrt;  // distinct inputs
  // Which axis of the output counts the value and its derivatives.
  std::int64_t axis = 0;
  static constexpr auto fields() {
    return std::tuple{
        field("hidden", &CoordinateNetAttrs::hidden).within(1, 1 << 20),
        field("activation", &CoordinateNetAttrs::activation)
            .optional()
            .one_of(coordinate_net_activations),
        field("wrt", &CoordinateNetAttrs::wrt).optional().within(0, net::max_inputs - 1),
        field("axis", &CoordinateNetAttrs::axis).optional().within(0, Shape::max_rank - 1)};
  }
};

// Checks the attributes and the types of the weights and of the inputs x; throws a graph Error.
// Returns S, the shape that the inputs are broadcast to.
Shape check_coordinate_net(std::string_view where, const CoordinateNetAttrs& attrs,
                           const Type& weights, std::span<const Type> x);
// S with an axis for the value and its derivatives.
Shape coordinate_net_shape(const CoordinateNetAttrs& attrs, const Shape& s);
Shape without_axis(const Shape& shape, int axis);  // does not allocate
// From the attributes of either op; does not allocate.
template <class Attrs>
net::Layout coordinate_net_layout(const Attrs& attrs, std::size_t inputs) {
  net::Layout net;
  net.activation = attrs.activation == "relu"   ? net::Activation::relu
                   : attrs.activation == "tanh" ? net::Activation::tanh
                                                : net::Activation::softplus;
  net.inputs = static_cast<int>(inputs);
  net.layers = static_cast<int>(attrs.hidden.size());
  net.h1 = attrs.hidden[0];
  net.h2 = net.layers == 2 ? attrs.hidden[1] : 0;
  net.wrt_count = static_cast<int>(attrs.wrt.size());
  for (std::size_t j = 0; j < attrs.wrt.size(); ++j) net.wrt[j] = static_cast<int>(attrs.wrt[j]);
  return net;
}

// The coordinates S in row-major order, as kernels visit them.
//
// A run is a range of neighbouring coordinates, cut from the last axes, over which every input
// either moves by one element a coordinate or does not move, and which stays within one stretch of
// the output. Where runs are shorter than a block of the kernels (`whole_runs` is false), a block
// goes over several: inputs and outputs that are flat, whole and in the order of the coordinates,
// are used where they stand, and the others are copied.
class CoordinateRuns {
 public:
  // Over the coordinates `s`, for an output whose parts are counted by `axis`. Kernels make one: it
  // does not allocate.
  CoordinateRuns(const Shape& s, int axis, std::size_t parts, std::span<const Type> x);

  std::int64_t size() const { return size_; }
  bool whole_runs() const { return run_ >= net::block; }
  // How many of the coordinates [at, end) stand in one run.
  std::int64_t length(std::int64_t at, std::int64_t end) const {
    return std::min(run_ - at % run_, end - at);
  }
  bool varies(std::size_t input) const { return varies_[input]; }
  bool flat(std::size_t input) const { return flat_[input]; }
  bool flat_output() const { return inner_ == size_; }
  // Where coordinate `at` stands in an input, and in the output's part m.
  std::int64_t offset(std::size_t input, std::int64_t at) const {
    return row_offset(input, at / run_) + (varies_[input] ? at % run_ : 0);
  }
  std::int64_t output_offset(std::int64_t m, std::int64_t at) const {
    return (at / inner_ * parts_ + m) * inner_ + at % inner_;
  }
  // Calls visit(at, position, count) for the pieces of [at, at + n) that stand in one stretch of
  // the output each; position counts from 0.
  template <class Visit>
  void output_pieces(std::int64_t at, std::int64_t n, Visit&& visit) const {
    for (std::int64_t done = 0; done < n;) {
      const std::int64_t count = std::min(inner_ - (at + done) % inner_, n - done);
      visit(at + done, done, count);
      done += count;
    }
  }
  // Copies the coordinates [at, at + n) of an input, which is `x`, to a block.
  template <class T>
  void copy(std::size_t input, const T* x, std::int64_t at, std::int64_t n, T* to) const {
    if (flat_[input]) {
      std::copy_n(x + at, n, to);
      return;
    }
    std::int64_t row = at / run_, in_run = at % run_;
    for (std::int64_t done = 0; done < n; ++row) {
      const std::int64_t count = std::min(run_ - in_run, n - done);
      const T* from = x + row_offset(input, row);
      if (varies_[input]) {
        std::copy_n(from + in_run, count, to + done);
      } else {
        std::fill_n(to + done, count, *from);
      }
      done += count;
      in_run = 0;
    }
  }

 private:
  std::int64_t row_offset(std::size_t input, std::int64_t row) const;

  Shape shape_;  // S
  std::int64_t size_, inner_, parts_, run_ = 1;
  int lead_;  // the axes before those of a run
  std::array<std::array<std::int64_t, Shape::max_rank>, net::max_inputs> stride_{};
  std::array<bool, net::max_inputs> varies_{}, flat_{};
};

// What a kernel is asked to do: n coordinates from `at` on.
template <class T>
struct CoordinateStretch {
  net::Inputs<T> in;
  std::int64_t at = 0, n = 0;
  // n is a multiple of the kernels' block, and outputs may be used where they stand. Otherwise n is
  // at most `longest`, and the inputs are padded to whole blocks with zeros.
  bool direct = false;
  static constexpr std::int64_t longest = 8 * net::block;
  std::int64_t padded() const { return (n + net::block - 1) / net::block * net::block; }
  bool fresh = false;  // the constant inputs are not those of the stretch before
};

// Cuts the coordinates [from, to) into stretches; x are the inputs' memory, from coordinate
// `origin` on where they are flat.
template <class T, class Visit>
void visit_coordinates(const CoordinateRuns& runs, const void* const* x, std::size_t inputs,
                       std::int64_t from, std::int64_t to, Visit&& visit, std::int64_t origin = 0) {
  constexpr std::int64_t most = CoordinateStretch<T>::longest;
  alignas(64) T copied[net::max_inputs][most];
  const auto at_input = [&](std::size_t i, std::int64_t at) {
    return static_cast<const T*>(x[i]) + (runs.flat(i) ? at - origin : runs.offset(i, at));
  };
  CoordinateStretch<T> stretch;
  net::Inputs<T>& in = stretch.in;
  // Without whole runs an input that is repeated is copied, too.
  for (std::size_t i = 0; i < inputs; ++i) {
    in.constant[i] = runs.whole_runs() && !runs.varies(i);
    if (!in.constant[i]) in.index[static_cast<std::size_t>(in.varying++)] = static_cast<int>(i);
  }
  const auto take = [&](std::int64_t at, std::int64_t n) {
    const std::int64_t rest = (net::block - n % net::block) % net::block;
    for (std::size_t v = 0; v < static_cast<std::size_t>(in.varying); ++v) {
      const auto i = static_cast<std::size_t>(in.index[v]);
      const T* whole = static_cast<const T*>(x[i]);
      if (rest == 0 && runs.flat(i)) {
        in.x[v] = whole + at - origin;
        continue;
      }
      runs.copy(i, whole, runs.flat(i) ? at - origin : at, n, copied[v]);
      std::fill_n(copied[v] + n, rest, T(0));
      in.x[v] = copied[v];
    }
  };
  const auto go = [&](std::int64_t at, std::int64_t n, bool direct) {
    stretch.at = at;
    stretch.n = n;
    stretch.direct = direct;
    visit(std::as_const(stretch));
    stretch.fresh = false;
  };
  stretch.fresh = true;
  for (std::int64_t at = from; at < to;) {
    if (!runs.whole_runs()) {
      const std::int64_t n = std::min(most, to - at);
      take(at, n);
      go(at, n, runs.flat_output() && n % net::block == 0);
      at += n;
      continue;
    }
    const std::int64_t n = runs.length(at, to), whole = n / net::block * net::block;
    for (std::size_t i = 0; i < inputs; ++i)
      if (in.constant[i]) in.value[i] = *at_input(i, at);
    stretch.fresh = true;
    if (whole > 0) {
      for (std::size_t v = 0; v < static_cast<std::size_t>(in.varying); ++v)
        in.x[v] = at_input(static_cast<std::size_t>(in.index[v]), at);
      go(at, whole, true);
    }
    if (whole < n) {
      take(at + whole, n - whole);
      go(at + whole, n - whole, false);
    }
    at += n;
  }
}

// Units: ranges of coordinates, a function of the types alone. Their scratch, `bytes` each, stays
// below a limit together, because units grow with the number of coordinates where it would not.
struct CoordinateUnits {
  std::int64_t size;  // coordinates of a unit
  std::int64_t count;
  CoordinateUnits(std::int64_t coordinates, std::int64_t bytes);
};

// The network in plain ops. Coordinates are flat: [n]; hidden layers are matrices [width, n].
class PlainNet {
 public:
  PlainNet(const CoordinateNetAttrs& attrs, Value weights, std::span<const Value> x);

  // Value and derivatives, in the shape of coordinate_net.
  Value outputs() const;
  // A value of that shape in its parts, each [1, n].
  std::vector<Value> parts(Value dy) const;
  // The derivative by the weights [P], and by input i in S, of sum_m y_m output_m.
  Value weights_gradient(const std::vector<Value>& y) const;
  Value input_gradient(const std::vector<Value>& y, int input) const;

 private:
  struct Layer {
    Value a, slope, curvature;  // an empty curvature is zero
  };
  struct Reverse;
  Value piece(std::int64_t begin, const Shape& shape) const;
  Layer activate(Value h) const;
  Value column(int input) const;  // of W1
  Value joined(const std::vector<Value>& rows) const;
  Reverse reverse(const std::vector<Value>& y) const;

  CoordinateNetAttrs attrs_;
  net::Layout net_;
  Shape shape_;
  std::int64_t n_;
  Value weights_, x_;
  Value w1_, b1_, w2_, b2_, w_, b_;
  Layer first_, second_;
};

// Part m of a value that has coordinate_net's shape, in S.
Value coordinate_net_part(Value value, const CoordinateNetAttrs& attrs, std::size_t m);
// coordinate_net's derivative by its weights: dy has coordinate_net's shape.
Value coordinate_net_weights_gradient(Value weights, Value dy, std::span<const Value> x,
                                      const CoordinateNetAttrs& attrs);

// Batching, the same for both ops: input j of chain c of the batch, for rules that go chain by
// chain.
Value one_chain(const Batch& b, int input, std::int64_t chain);
// Input j with a leading axis of size 1 where it has no chain axis: the kernels broadcast it.
Value with_chain_axis(const Batch& b, int input);

}  // namespace whorl
