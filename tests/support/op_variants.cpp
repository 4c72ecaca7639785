#include "op_variants.hpp"

#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <set>

#include "autodiff/tape.hpp"
#include "engine/ops.hpp"

namespace whorl::testing {

namespace {

using Dims = std::vector<std::int64_t>;

Shape shape_of(const Dims& dims) { return Shape(std::span<const std::int64_t>(dims)); }
Dims dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

// Every attribute that is a list of integers with `from` replaced by `to`.
AttrList replaced(AttrList list, std::int64_t from, std::int64_t to) {
  for (auto& [name, value] : list)
    if (auto* integers = std::get_if<Dims>(&value))
      std::replace(integers->begin(), integers->end(), from, to);
  return list;
}

AttrList base_attributes(const OpCase& c) {
  return sample_attributes(*c.op, c.sample, c.key).value();
}

void add_shape(std::vector<Variant>& variants, const OpCase& c, std::size_t input, const Dims& dims,
               std::string_view what) {
  Variant v{fmt::format("{} x{} {}", what, input, fmt::join(dims, ",")), c.sample,
            base_attributes(c)};
  v.sample.inputs[input].shape = shape_of(dims);
  variants.push_back(v);
}

std::vector<AttrValue> hostile_values(const AttrSpec& spec, const AttrValue& now, int rank) {
  constexpr std::int64_t low = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t high = std::numeric_limits<std::int64_t>::max();
  Dims integers{low, low + 1, -(std::int64_t{1} << 40), (std::int64_t{1} << 32), high - 1, high};
  for (std::int64_t i = -rank - 2; i <= rank + 2; ++i) integers.push_back(i);
  std::vector<AttrValue> values;
  switch (spec.kind) {
    case AttrKind::integer:
      for (std::int64_t i : integers) values.emplace_back(i);
      break;
    case AttrKind::number:
      for (double d : {std::nan(""), HUGE_VAL, -HUGE_VAL, 1e300, -1e300, 0.0, 0.5, -1.0})
        values.emplace_back(d);
      break;
    case AttrKind::integers: {
      const auto& list = std::get<Dims>(now);
      for (std::size_t at = 0; at < list.size(); ++at)
        for (std::int64_t i : integers) {
          Dims changed = list;
          changed[at] = i;
          values.emplace_back(changed);
        }
      for (std::int64_t i : integers) values.emplace_back(Dims{i});
      values.emplace_back(Dims{});
      values.emplace_back(Dims(9, 1));
      values.emplace_back(Dims{0, 0});
      values.emplace_back(Dims{low, high});
      break;
    }
    case AttrKind::boolean:
      values.insert(values.end(), {true, false});
      break;
    case AttrKind::text:
      values.insert(values.end(), {std::string(), std::string("nonsense")});
      break;
    case AttrKind::dtype:
      for (int d = 0; d < dtype_count; ++d) values.emplace_back(static_cast<DType>(d));
      break;
    case AttrKind::tensor:
      values.emplace_back(Tensor({DType::f32, {0}}));
      break;
  }
  // Every other kind.
  for (const AttrValue& other :
       {AttrValue(std::int64_t{1}), AttrValue(1.0), AttrValue(true), AttrValue(std::string("x")),
        AttrValue(Dims{1}), AttrValue(DType::f32), AttrValue(Tensor())})
    if (kind_of(other) != spec.kind) values.push_back(other);
  return values;
}

}  // namespace

std::vector<Variant> empty_variants(const OpCase& c) {
  std::vector<Variant> variants;
  std::set<std::int64_t> sizes;
  for (std::size_t i = 0; i < c.sample.inputs.size(); ++i) {
    const Shape& shape = c.sample.inputs[i].shape;
    sizes.insert(shape.begin(), shape.end());
    for (int axis = 0; axis < shape.rank(); ++axis) {
      Dims dims = dims_of(shape);
      dims[static_cast<std::size_t>(axis)] = 0;
      add_shape(variants, c, i, dims, "empty");
    }
    add_shape(variants, c, i, {}, "scalar");
  }
  for (std::int64_t size : sizes) {
    Variant all{fmt::format("every {} is 0", size), c.sample, base_attributes(c)};
    for (SampleInput& in : all.sample.inputs) {
      Dims dims = dims_of(in.shape);
      std::replace(dims.begin(), dims.end(), size, std::int64_t{0});
      in.shape = shape_of(dims);
    }
    variants.push_back(all);
    all.attributes = replaced(all.attributes, size, 0);
    variants.push_back(all);
  }
  Variant scalars{"all scalars", c.sample, base_attributes(c)};
  for (SampleInput& in : scalars.sample.inputs) in.shape = {};
  variants.push_back(scalars);
  Variant empty = scalars;
  empty.label = "all empty";
  for (std::size_t i = 0; i < empty.sample.inputs.size(); ++i)
    empty.sample.inputs[i].shape = shape_of(Dims(dims_of(c.sample.inputs[i].shape).size(), 0));
  variants.push_back(empty);
  return variants;
}

std::vector<Variant> input_variants(const OpCase& c) {
  std::vector<Variant> variants;
  const Variant base{"", c.sample, base_attributes(c)};
  const std::size_t count = c.sample.inputs.size();
  for (std::size_t n :
       {std::size_t{0}, count - std::min<std::size_t>(count, 1), count + 1, count + 2}) {
    Variant v = base;
    v.label = fmt::format("{} inputs", n);
    v.sample.inputs.resize(n, n > 0 && count > 0 ? c.sample.inputs[0] : SampleInput{{2}});
    if (n != count) variants.push_back(v);
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (int d = 0; d < dtype_count; ++d) {
      Variant v = base;
      v.sample.inputs[i].dtype = static_cast<DType>(d);
      v.label = fmt::format("x{} is {}", i, name(static_cast<DType>(d)));
      variants.push_back(v);
    }
    const Dims dims = dims_of(c.sample.inputs[i].shape);
    for (std::size_t axis = 0; axis < dims.size(); ++axis)
      for (std::int64_t size : {dims[axis] + 1, dims[axis] - 1, std::int64_t{1}}) {
        Dims changed = dims;
        changed[axis] = std::max<std::int64_t>(size, 0);
        add_shape(variants, c, i, changed, "size");
      }
    Dims longer = dims, ones = dims, shorter = dims;
    longer.insert(longer.begin(), 2);
    ones.insert(ones.begin(), 8 - ones.size(), 1);
    if (!shorter.empty()) shorter.pop_back();
    add_shape(variants, c, i, longer, "rank + 1");
    add_shape(variants, c, i, ones, "rank 8");
    add_shape(variants, c, i, shorter, "rank - 1");
  }
  Variant wide = base;
  wide.label = "all of rank 8";
  for (SampleInput& in : wide.sample.inputs) {
    Dims dims = dims_of(in.shape);
    dims.insert(dims.begin(), 8 - dims.size(), 1);
    in.shape = shape_of(dims);
  }
  variants.push_back(wide);
  return variants;
}

std::vector<Variant> attribute_variants(const OpCase& c) {
  std::vector<Variant> variants;
  const AttrList list = c.attributes.list();
  int rank = 1;
  for (const SampleInput& in : c.sample.inputs) rank = std::max(rank, in.shape.rank());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const AttrSpec& spec = c.attributes.spec(static_cast<int>(i));
    for (const AttrValue& value : hostile_values(spec, list[i].second, rank)) {
      Variant v{fmt::format("{} = {}", spec.name, to_string(value)), c.sample, list};
      v.attributes[i].second = value;
      variants.push_back(v);
    }
    Variant missing{fmt::format("without {}", spec.name), c.sample, list};
    missing.attributes.erase(missing.attributes.begin() + static_cast<std::ptrdiff_t>(i));
    variants.push_back(missing);
    Variant twice{fmt::format("{} twice", spec.name), c.sample, list};
    twice.attributes.push_back(list[i]);
    variants.push_back(twice);
  }
  Variant unknown{"an unknown attribute", c.sample, list};
  unknown.attributes.emplace_back("no_such_attribute", true);
  variants.push_back(unknown);
  return variants;
}

Trial attempt(const OpCase& c, const Variant& variant) {
  constexpr std::int64_t most_elements = 100000;
  CaseGraph g;
  try {
    const Attributes attributes = make_attributes(c.op->name, c.op->attrs(), variant.attributes);
    Sample plain = variant.sample;
    plain.prepare = nullptr;  // it was written for the sample's own shapes
    g = graph_of(*c.op, sample_inputs(*c.op, plain, c.key), attributes);
  } catch (const Error& error) {
    return {Outcome::refused, error.what(), error.kind()};
  }
  if (g.y.type().elements() > most_elements) return {Outcome::ran, ""};
  try {
    g.value(g.y);
    if (is_differentiable(g)) {
      const Value seed = constant(*g.graph, uneven(g.y.type()));
      for (const Value& dx : gradient(g.y, g.float_inputs(), {.seed = seed, .allow_unused = true}))
        g.value(dx);
    }
  } catch (const Error& error) {
    return {Outcome::failed_at_run, error.what(), error.kind()};
  }
  return {Outcome::ran, ""};
}

}  // namespace whorl::testing
