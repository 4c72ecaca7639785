// Which values cannot be negative, seen from their ops.
#include <algorithm>

#include "engine/attributes.hpp"
#include "engine/ops.hpp"
#include "samplers/recipe.hpp"

namespace whorl {

namespace {

double number(const Graph& graph, NodeId id, std::string_view attribute) {
  for (const auto& [name, value] : graph.attributes(id).list())
    if (name == attribute)
      if (const auto* found = std::get_if<double>(&value)) return *found;
  return -1;
}

bool constant_non_negative(const Graph& graph, NodeId id) {
  for (const auto& [name, value] : graph.attributes(id).list())
    if (const auto* tensor = std::get_if<Tensor>(&value)) {
      for (std::int64_t i = 0; i < tensor->elements(); ++i)
        if (!(tensor->at(i) >= 0)) return false;
      return true;
    }
  return false;
}

// Given which of the earlier nodes are not negative.
bool judge(const Graph& graph, NodeId id, const std::vector<char>& known) {
  const std::string_view op = graph.op(id).name;
  const auto inputs = graph.inputs(id);
  const auto among = [&](std::initializer_list<std::string_view> ops) {
    return std::find(ops.begin(), ops.end(), op) != ops.end();
  };
  const auto all = [&](std::size_t from) {
    return std::all_of(inputs.begin() + static_cast<std::ptrdiff_t>(from), inputs.end(),
                       [&](NodeId in) { return known[in]; });
  };
  if (among({"square", "abs", "exp", "softplus", "relu", "sigmoid", "step", "random_uniform"}))
    return true;
  if (among({"sqrt",          "rsqrt",   "add",       "div",    "minimum",
             "broadcast",     "reshape", "slice",     "concat", "stack",
             "sum",           "mean",    "max",       "min",    "stop_gradient",
             "assert_finite", "sum_to",  "transpose", "log1p",  "expm1"}))
    return all(0);
  if (op == "mul") return inputs[0] == inputs[1] || all(0);
  if (op == "maximum") return known[inputs[0]] || known[inputs[1]];
  if (op == "select") return all(1);
  if (op == "clamp")
    return number(graph, id, "low") >= 0 || (all(0) && number(graph, id, "high") >= 0);
  if (op == "fill") return number(graph, id, "value") >= 0;
  if (op == "constant") return constant_non_negative(graph, id);
  return false;
}

}  // namespace

bool proven_non_negative(Value value) {
  const Graph& graph = *value.graph;
  std::vector<char> known(std::size_t{value.id} + 1, 0);
  for (NodeId id = 0; id <= value.id; ++id) known[id] = judge(graph, id, known);
  return known[value.id];
}

}  // namespace whorl
