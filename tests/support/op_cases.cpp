#include "op_cases.hpp"

#include <fmt/format.h>

#include <cmath>

#include "engine/ops.hpp"
#include "random_source.hpp"

namespace whorl::testing {

std::string OpCase::label() const {
  return fmt::format("{} sample {} {}", op->name, index, name(key));
}

std::vector<Tensor> sample_inputs(const OpDef& op, const Sample& sample, DType key) {
  std::vector<Tensor> inputs;
  bool empty = false;
  for (const SampleInput& in : sample.inputs) {
    RandomSource random(fmt::format("{}{}", op.name, inputs.size()));
    Tensor tensor({in.dtype.value_or(key), in.shape});
    dispatch(tensor.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for (T& element : tensor.values<T>()) {
        const double number = random.uniform(in.low, in.high);
        if constexpr (std::is_floating_point_v<T>) {
          element = static_cast<T>(static_cast<float>(number));
        } else {
          element = static_cast<T>(std::floor(number));
        }
      }
    });
    empty = empty || tensor.elements() == 0;
    inputs.push_back(tensor);
  }
  if (sample.prepare != nullptr && !empty) sample.prepare(inputs);
  return inputs;
}

std::optional<AttrList> sample_attributes(const OpDef& op, const Sample& sample, DType key) {
  AttrList list = sample.attributes;
  if (op.key >= 0) return list;
  for (const auto& [name, value] : list)
    if (name == "dtype") return std::get<DType>(value) == key ? std::optional(list) : std::nullopt;
  for (const AttrSpec& spec : op.attrs()->specs)
    if (spec.name == "dtype") list.emplace_back("dtype", key);
  return list;
}

namespace {

bool is_accepted(const OpCase& c) {
  try {
    graph_of(c);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::vector<OpCase> op_cases(DTypeSet keys) {
  std::vector<OpCase> cases;
  for (const OpDef* op : all_ops()) {
    int index = -1;
    for (const Sample& sample : op->samples()) {
      ++index;
      for (int d = 0; d < dtype_count; ++d) {
        const auto key = static_cast<DType>(d);
        if ((op->dtypes & keys & only(key)) == 0) continue;
        const auto list = sample_attributes(*op, sample, key);
        if (!list) continue;
        const OpCase c{op,
                       sample,
                       index,
                       key,
                       sample_inputs(*op, sample, key),
                       make_attributes(op->name, op->attrs(), *list)};
        // Samples are written for floating point; some do not fit integers (fill with 1.5).
        if (is_float(key) || is_accepted(c)) cases.push_back(c);
      }
    }
  }
  return cases;
}

std::vector<Value> CaseGraph::float_inputs() const {
  std::vector<Value> result;
  for (const Value& x : inputs)
    if (is_float(x.dtype())) result.push_back(x);
  return result;
}

CaseGraph graph_of(const OpDef& op, const std::vector<Tensor>& inputs,
                   const Attributes& attributes) {
  CaseGraph g;
  std::vector<NodeId> ids;
  for (const Tensor& tensor : inputs) {
    const std::string name = fmt::format("x{}", g.inputs.size());
    g.inputs.push_back(input(*g.graph, name, tensor.type()));
    g.feeds.emplace(name, tensor);
    ids.push_back(g.inputs.back().id);
  }
  g.y = g.graph->value(g.graph->append(op, ids, attributes));
  return g;
}

bool is_differentiable(const CaseGraph& g) {
  const OpDef& op = g.graph->op(g.y.id);
  return is_float(g.y.dtype()) && !g.float_inputs().empty() &&
         (op.gradient != nullptr || op.compose != nullptr);
}

Tensor converted(const Tensor& tensor, DType dtype) {
  if (!is_float(tensor.dtype())) return tensor;
  Tensor result({dtype, tensor.shape()});
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
      result.data<T>()[i] = static_cast<T>(tensor.at(i));
  });
  return result;
}

Tensor uneven(const Type& type) {
  RandomSource random(std::uint64_t{17});
  Tensor result({DType::f64, type.shape});
  for (double& element : result.values<double>())
    element = static_cast<float>(random.uniform(0.5, 1.5));
  return converted(result, type.dtype);
}

double largest(const Tensor& tensor) {
  double result = 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    result = std::max(result, std::abs(tensor.at(i)));
  return result;
}

double distance(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return HUGE_VAL;
  double apart = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    if (a.at(i) == b.at(i) || (std::isnan(a.at(i)) && std::isnan(b.at(i)))) continue;
    const double d = std::abs(a.at(i) - b.at(i));
    apart = std::isnan(d) ? HUGE_VAL : std::max(apart, d);
  }
  return apart == 0 ? 0 : apart / largest(b);
}

}  // namespace whorl::testing
