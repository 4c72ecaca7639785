// Types, runs and units of coordinate_net.
#include <algorithm>
#include <numeric>

#include "engine/ops/coordinate_net.hpp"

namespace whorl {

std::vector<std::string_view> coordinate_net_activations() { return {"relu", "tanh", "softplus"}; }

namespace {

void check_attributes(std::string_view where, const CoordinateNetAttrs& attrs, std::size_t inputs) {
  if (attrs.hidden.size() != 1 && attrs.hidden.size() != 2)
    graph_error(where, "has {} hidden layers; expected 1 or 2", attrs.hidden.size());
  for (std::int64_t width : attrs.hidden)
    if (width < 1 || width > 1 << 20)
      graph_error(where, "a hidden layer has {} units; expected 1 to 2^20", width);
  const auto known = coordinate_net_activations();
  if (std::find(known.begin(), known.end(), attrs.activation) == known.end())
    graph_error(where, "unknown activation '{}'; expected relu, tanh or softplus",
                attrs.activation);
  if (inputs < 1 || inputs > net::max_inputs)
    graph_error(where, "has {} inputs x; expected 1 to {}", inputs, net::max_inputs);
  for (std::size_t j = 0; j < attrs.wrt.size(); ++j) {
    const std::int64_t i = attrs.wrt[j];
    if (i < 0 || i >= static_cast<std::int64_t>(inputs))
      graph_error(where, "wrt names input {}, but there are {}", i, inputs);
    if (std::find(attrs.wrt.begin(), attrs.wrt.begin() + static_cast<std::ptrdiff_t>(j), i) !=
        attrs.wrt.begin() + static_cast<std::ptrdiff_t>(j))
      graph_error(where, "wrt names input {} twice", i);
  }
}

}  // namespace

std::int64_t coordinate_net_weights(std::size_t inputs, const std::vector<std::int64_t>& hidden) {
  CoordinateNetAttrs attrs;
  attrs.hidden = hidden;
  check_attributes("coordinate_net", attrs, inputs);
  return coordinate_net_layout(attrs, inputs).size();
}

Shape check_coordinate_net(std::string_view where, const CoordinateNetAttrs& attrs,
                           const Type& weights, std::span<const Type> x) {
  check_attributes(where, attrs, x.size());
  std::vector<Shape> shapes;
  for (const Type& one : x) {
    if (one.dtype != weights.dtype)
      graph_error(where, "the dtypes of weights and inputs differ: {} and {}", name(weights.dtype),
                  name(one.dtype));
    if (one.shape.rank() != x[0].shape.rank())
      graph_error(where, "the ranks of the inputs differ: {} and {}", x[0].shape.rank(),
                  one.shape.rank());
    shapes.push_back(one.shape);
  }
  const std::int64_t wanted = coordinate_net_layout(attrs, x.size()).size();
  if (weights.shape != Shape{wanted})
    graph_error(where, "weights must be [{}] for {} inputs and {}: found {}", wanted, x.size(),
                to_string(AttrValue(attrs.hidden)), to_string(weights.shape));
  const Shape s = broadcast_shape(where, shapes);
  if (attrs.axis < 0 || attrs.axis > s.rank())
    graph_error(where, "axis {} is out of range for coordinates {}", attrs.axis, to_string(s));
  return s;
}

Shape coordinate_net_shape(const CoordinateNetAttrs& attrs, const Shape& s) {
  std::vector<std::int64_t> dims(s.begin(), s.end());
  dims.insert(dims.begin() + attrs.axis, static_cast<std::int64_t>(1 + attrs.wrt.size()));
  return Shape(std::span<const std::int64_t>(dims));
}

Shape without_axis(const Shape& shape, int axis) {
  std::array<std::int64_t, Shape::max_rank> dims{};
  const auto rest = std::copy(shape.begin(), shape.begin() + axis, dims.begin());
  std::copy(shape.begin() + axis + 1, shape.end(), rest);
  return Shape(
      std::span<const std::int64_t>(dims.data(), static_cast<std::size_t>(shape.rank() - 1)));
}

CoordinateRuns::CoordinateRuns(const Shape& s, int axis_of_parts, std::size_t parts,
                               std::span<const Type> x)
    : shape_(s),
      size_(s.elements()),
      inner_(s.span_elements(axis_of_parts, s.rank())),
      parts_(static_cast<std::int64_t>(parts)),
      lead_(s.rank()) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::int64_t step = 1;
    for (int axis = s.rank() - 1; axis >= 0; --axis) {
      const std::int64_t dim = x[i].shape[axis];
      if (dim == s[axis]) stride_[i][static_cast<std::size_t>(axis)] = step;
      step *= dim;
    }
  }
  // Axes join the run from the back, as long as each input is either all there or all repeated.
  // Axes of size 1 change nothing.
  std::array<bool, net::max_inputs> full{}, repeated{};
  full.fill(true);
  repeated.fill(true);
  for (; lead_ > axis_of_parts; --lead_) {
    auto still_full = full, still_repeated = repeated;
    bool fits = true;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::int64_t dim = x[i].shape[lead_ - 1];
      if (s[lead_ - 1] == 1) continue;
      still_full[i] &= dim == s[lead_ - 1];
      still_repeated[i] &= dim == 1;
      fits &= still_full[i] || still_repeated[i];
    }
    if (!fits) break;
    full = still_full;
    repeated = still_repeated;
    run_ *= s[lead_ - 1];
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    varies_[i] = full[i];
    flat_[i] = x[i].shape == s;
  }
}

// Where an input stands at the start of a run.
std::int64_t CoordinateRuns::row_offset(std::size_t input, std::int64_t row) const {
  std::int64_t result = 0;
  for (int axis = lead_ - 1; axis > 0; --axis) {
    result += row % shape_[axis] * stride_[input][static_cast<std::size_t>(axis)];
    row /= shape_[axis];
  }
  return lead_ == 0 ? 0 : result + row * stride_[input][0];
}

CoordinateUnits::CoordinateUnits(std::int64_t coordinates, std::int64_t bytes) {
  constexpr std::int64_t smallest = 4096, scratch_limit = std::int64_t{64} << 20;
  const std::int64_t most =
      std::max<std::int64_t>(1, scratch_limit / std::max<std::int64_t>(1, bytes));
  const std::int64_t wanted = (coordinates + most - 1) / most;
  size = std::max(smallest, (wanted + smallest - 1) / smallest * smallest);
  count = (coordinates + size - 1) / size;
}

Value coordinate_net_part(Value value, const CoordinateNetAttrs& attrs, std::size_t m) {
  const int axis = static_cast<int>(attrs.axis);
  const auto at = static_cast<std::int64_t>(m);
  const Value one = slice(value, axis, at, at + 1);
  return reshape(one, without_axis(one.shape(), axis));
}

Value one_chain(const Batch& b, int input, std::int64_t chain) {
  if (!b.is_batched(input)) return b.x(input);
  const Value one = slice(b.x(input), 0, chain, chain + 1);
  return reshape(one, one.shape().without_front());
}

Value with_chain_axis(const Batch& b, int input) {
  return b.is_batched(input) ? b.x(input) : reshape(b.x(input), b.x(input).shape().with_front(1));
}

}  // namespace whorl
