// What the tests of single ops share: inputs from samples, messages of errors, and checks that hold
// for every op: gradients against differences, batches against loops, parts against the whole.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "engine/evaluate.hpp"
#include "engine/floating_point.hpp"
#include "engine/ops.hpp"

namespace whorl::testing {

// The text of the Error that f throws; "" when it throws none.
template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline Tensor random_tensor(const Type& type, double low, double high, std::mt19937_64& random) {
  Tensor tensor(type);
  dispatch(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    std::uniform_real_distribution<double> uniform(low, high);
    for (T& value : tensor.values<T>()) {
      const double drawn = uniform(random);
      value = static_cast<T>(is_float(type.dtype) ? drawn : std::floor(drawn));
    }
  });
  return tensor;
}

// Inputs for a sample, in the given floating type where the sample does not say otherwise.
inline std::vector<Tensor> sample_inputs(const OpDef& op, const Sample& sample, DType key,
                                         std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<Tensor> inputs;
  for (const SampleInput& input : sample.inputs) {
    const DType dtype = input.dtype.value_or(op.dtypes & only(key) ? key : DType::boolean);
    inputs.push_back(random_tensor({dtype, input.shape}, input.low, input.high, random));
  }
  if (sample.prepare != nullptr) sample.prepare(inputs);
  return inputs;
}

inline Attributes sample_attributes(const OpDef& op, const Sample& sample) {
  return make_attributes(op.name, op.attrs(), sample.attributes);
}

// Appends graph `from` to `to` with every composition replaced by its parts; gives the new ids.
inline std::vector<NodeId> append_lowered(const Graph& from, Graph& to) {
  std::vector<NodeId> ids;
  for (NodeId id = 0; id < from.size(); ++id) {
    std::vector<NodeId> inputs;
    std::vector<Value> values;
    for (NodeId in : from.inputs(id)) {
      inputs.push_back(ids[in]);
      values.push_back(to.value(ids[in]));
    }
    if (from.op(id).is_composition()) {
      ids.push_back(from.op(id).compose({values, &from.attributes(id)}).id);
    } else {
      ids.push_back(to.append(from.op(id), inputs, from.attributes(id), from.name(id)));
    }
  }
  return ids;
}

// The graph without compositions, with the value that `id` became.
inline NodeId lower_in_place(Graph& graph, NodeId id) {
  for (;;) {
    bool lowered = true;
    for (NodeId i = 0; i < graph.size(); ++i) lowered &= !graph.op(i).is_composition();
    if (lowered) return id;
    Graph next;
    id = append_lowered(graph, next)[id];
    graph = std::move(next);
  }
}

// d y / d x for every x, by the ops' own rules; an empty Value where y does not depend on x.
inline std::vector<Value> gradients(Value y, const std::vector<Value>& xs) {
  Graph& graph = *y.graph;
  std::vector<Value> adjoint(y.id + 1);
  adjoint[y.id] = fill_like(y, 1);
  for (NodeId id = y.id + 1; id-- > 0;) {
    const OpDef& op = graph.op(id);
    if (!adjoint[id] || op.is(Traits::source) || op.is(Traits::stops_gradient)) continue;
    std::vector<Value> inputs;
    for (NodeId in : graph.inputs(id)) inputs.push_back(graph.value(in));
    const Attributes attributes = graph.attributes(id);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!is_float(inputs[i].dtype()) || op.gradient == nullptr) continue;
      const Value part =
          op.gradient({inputs, graph.value(id), adjoint[id], &attributes}, static_cast<int>(i));
      if (!part) continue;
      BOOST_REQUIRE(part.type() == inputs[i].type());
      Value& sum = adjoint[inputs[i].id];
      sum = sum ? sum + part : part;
    }
  }
  std::vector<Value> result;
  for (const Value& x : xs) result.push_back(adjoint[x.id]);
  return result;
}

// d f / d x[element], by differences of the fourth order.
template <class F>
double difference(F&& f, Tensor& x, std::int64_t element) {
  double& at = x.data<double>()[element];
  const double base = at, h = 1e-3;
  const auto f_at = [&](double step) {
    at = base + step;
    const double value = f();
    at = base;
    return value;
  };
  return (8 * (f_at(h) - f_at(-h)) - (f_at(2 * h) - f_at(-2 * h))) / (12 * h);
}

// Compares the gradient of the scalar node y by every floating input with differences, `orders`
// times over: the gradients of order k, each times a fixed weight, are summed to the next scalar.
inline void check_gradients(Graph graph, NodeId y, Feeds feeds, int orders = 2) {
  std::mt19937_64 random(7);
  for (auto& [name, tensor] : feeds) tensor = tensor.clone();
  for (int order = 1; order <= orders; ++order) {
    y = lower_in_place(graph, y);
    std::vector<Value> xs;
    for (NodeId id : graph.input_nodes())
      if (is_float(graph.type(id).dtype)) xs.push_back(graph.value(id));
    const std::vector<Value> found = gradients(graph.value(y), xs);
    Value next = fill(graph, {DType::f64, {}}, 0);
    for (std::size_t i = 0; i < xs.size(); ++i) {
      Tensor& x = feeds.find(graph.name(xs[i].id))->second;
      const auto f = [&] { return evaluate(graph, feeds, {y}).front().at(0); };
      const Tensor dx = found[i] ? evaluate(graph, feeds, {found[i].id}).front() : Tensor(x.type());
      for (std::int64_t e = 0; e < x.elements(); ++e) {
        const double expected = difference(f, x, e);
        BOOST_TEST(std::abs(dx.at(e) - expected) <= 1e-7 * std::max(1.0, std::abs(expected)),
                   "order " << order << ", input " << graph.name(xs[i].id) << ", element " << e
                            << ": " << dx.at(e) << " instead of " << expected);
      }
      if (!found[i]) continue;
      const Tensor weight = random_tensor(x.type(), -1, 1, random);
      next = next + sum(found[i] * constant(graph, weight));
    }
    y = next.id;
  }
}

// The two orders of gradients of one op in one of its samples.
inline void check_sample_gradients(const OpDef& op, const Sample& sample) {
  Graph graph;
  Feeds feeds;
  std::vector<NodeId> ids;
  for (const Tensor& tensor : sample_inputs(op, sample, DType::f64)) {
    const std::string name = fmt::format("x{}", ids.size());
    ids.push_back(input(graph, name, tensor.type()).id);
    feeds.emplace(name, tensor);
  }
  const Value y = graph.value(graph.append(op, ids, sample_attributes(op, sample)));
  std::mt19937_64 random(3);
  const Tensor weight = random_tensor(y.type(), -1, 1, random);
  check_gradients(graph, sum(y * constant(graph, weight)).id, feeds);
}

// Row c of a tensor with a leading axis.
inline Tensor chain_of(const Tensor& tensor, std::int64_t c) {
  Tensor row({tensor.dtype(), tensor.shape().without_front()});
  const auto bytes = static_cast<std::size_t>(row.bytes());
  std::memcpy(row.raw(),
              static_cast<const char*>(tensor.raw()) + static_cast<std::size_t>(c) * bytes, bytes);
  return row;
}

// One batched call equals one call for each chain, for every choice of batched inputs.
inline void check_sample_batching(const OpDef& op, const Sample& sample) {
  constexpr std::int64_t chains = 3;
  const Attributes attributes = sample_attributes(op, sample);
  const std::size_t count = sample.inputs.size();
  for (unsigned chosen = 1; chosen < 1u << count; ++chosen) {
    const auto is_batched = [&](std::size_t i) { return (chosen >> i & 1) != 0; };
    Sample wide = sample;
    for (std::size_t i = 0; i < count; ++i)
      if (is_batched(i)) wide.inputs[i].shape = sample.inputs[i].shape.with_front(chains);
    wide.prepare = nullptr;
    const std::vector<Tensor> tensors = sample_inputs(op, wide, DType::f64);
    Graph graph;
    Feeds feeds;
    std::vector<Value> values;
    bool flags[8] = {};
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = fmt::format("x{}", i);
      flags[i] = is_batched(i);
      values.push_back(input(graph, name, tensors[i].type()));
      feeds.emplace(name, tensors[i]);
    }
    const Value y =
        op.batch({&graph, &op, values, std::span<const bool>(flags, count), chains, &attributes});
    const Tensor all = evaluate(graph, feeds, {y.id}).front();
    for (std::int64_t c = 0; c < chains; ++c) {
      std::vector<Tensor> one;
      for (std::size_t i = 0; i < count; ++i)
        one.push_back(is_batched(i) ? chain_of(tensors[i], c) : tensors[i]);
      const Tensor expected = evaluate_op(op, one, attributes);
      const Tensor found = chain_of(all, c);
      BOOST_REQUIRE(found.type() == expected.type());
      for (std::int64_t e = 0; e < expected.elements(); ++e)
        BOOST_TEST(found.at(e) == expected.at(e), boost::test_tools::tolerance(1e-12));
    }
  }
}

// The output made in parts, last part first, has the bits of the output made at once, and leaves
// no element unwritten.
inline void check_sample_parts(const OpDef& op, const Sample& sample, DType dtype) {
  const std::vector<Tensor> inputs = sample_inputs(op, sample, dtype);
  const Attributes attributes = sample_attributes(op, sample);
  const Tensor whole = evaluate_op(op, inputs, attributes);
  std::vector<Type> types;
  std::vector<const void*> pointers;
  for (const Tensor& tensor : inputs) {
    types.push_back(tensor.type());
    pointers.push_back(tensor.raw());
  }
  Site site{&op, types, attributes, {}};
  site.out = op.infer(site);
  Tensor parts(site.out);
  std::memset(parts.raw(), 0x5a, static_cast<std::size_t>(parts.bytes()));
  const FlushDenormals guard;
  const std::size_t kernel = op.kernel_index(site);
  if (op.tile[kernel] != nullptr) {
    const bool shifted = op.is(Traits::elementwise);
    for (std::int64_t i = parts.elements(); i-- > 0;) {
      std::vector<const void*> at = pointers;
      for (std::size_t k = 0; shifted && k < at.size(); ++k)
        at[k] = static_cast<const char*>(at[k]) +
                i * static_cast<std::int64_t>(size_of(types[k].dtype));
      const auto size = static_cast<std::int64_t>(size_of(site.out.dtype));
      op.tile[kernel]({&site, at.data(), static_cast<char*>(parts.raw()) + i * size, i, 1});
    }
  } else {
    const auto scratch = allocate_storage(op.scratch(site));
    const Call call{&site, pointers.data(), parts.raw(), scratch.get()};
    if (op.prepare[kernel] != nullptr) op.prepare[kernel](call);
    for (std::int64_t unit = op.units(site); unit-- > 0;) op.forward[kernel](call, unit, unit + 1);
    if (op.finish[kernel] != nullptr) op.finish[kernel](call);
  }
  BOOST_TEST(parts.same_bits(whole), op.name << " differs when it is made in parts");
}

// The value in f32 agrees with that in f64, and a fused form with its composition.
inline void check_sample_values(const OpDef& op, const Sample& sample) {
  const Attributes attributes = sample_attributes(op, sample);
  std::vector<Tensor> wide = sample_inputs(op, sample, DType::f64), narrow;
  for (Tensor& tensor : wide) {
    if (tensor.dtype() != DType::f64) {
      narrow.push_back(tensor);
      continue;
    }
    Tensor rounded({DType::f32, tensor.shape()});
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      rounded.data<float>()[i] = static_cast<float>(tensor.at(i));
      tensor.data<double>()[i] = static_cast<double>(rounded.data<float>()[i]);
    }
    narrow.push_back(rounded);
  }
  const Tensor y = evaluate_op(op, wide, attributes);
  const auto compare = [&](const Tensor& other, double tolerance) {
    BOOST_REQUIRE(other.shape() == y.shape());
    for (std::int64_t e = 0; e < y.elements(); ++e)
      BOOST_TEST(std::abs(other.at(e) - y.at(e)) <= tolerance * std::max(1.0, std::abs(y.at(e))));
  };
  if (op.dtypes & only(DType::f32)) compare(evaluate_op(op, narrow, attributes), 1e-6);
  if (op.compose == nullptr || op.is_composition()) return;
  OpDef composition = op;
  composition.tile = {};
  composition.forward = {};
  compare(evaluate_op(composition, wide, attributes), 1e-12);
}

// All of these checks, for all samples of an op.
inline void check_op(std::string_view name) {
  const OpDef* op = find_op(name);
  BOOST_REQUIRE(op != nullptr);
  int number = 0;
  for (const Sample& sample : op->samples()) {
    BOOST_TEST_CONTEXT(name << ", sample " << number++) {
      check_sample_values(*op, sample);
      if (op->no_gradient.empty()) check_sample_gradients(*op, sample);
      if (op->is_composition()) continue;
      check_sample_batching(*op, sample);
      check_sample_parts(*op, sample, DType::f64);
      if (op->dtypes & only(DType::f32)) check_sample_parts(*op, sample, DType::f32);
    }
  }
}

}  // namespace whorl::testing
