// The cases of the algebra pass's rules: a graph for each, and the text it must become.
#pragma once

#include <string_view>
#include <vector>

#include "engine/ops.hpp"

namespace whorl::algebra_test {

using L = std::vector<std::int64_t>;

// A graph that has all of these inputs, in this order, so that %0 is x in every case.
struct Build {
  Graph graph;
  Value x = input(graph, "x", {DType::f32, {2, 3}});
  Value y = input(graph, "y", {DType::f32, {2, 3}});
  Value v = input(graph, "v", {DType::f32, {3}});
  Value s = input(graph, "s", {DType::f32, {}});
  Value i = input(graph, "i", {DType::i32, {2, 3}});
  Value c = input(graph, "c", {DType::boolean, {2, 3}});
  Value row = input(graph, "row", {DType::f32, {1, 3}});
  Value line = input(graph, "line", {DType::f32, {20}});
  Value batch = input(graph, "batch", {DType::f32, {4, 2, 3}});
  Value w = input(graph, "w", {DType::f32, {3, 2}});

  Value f(double value, const Shape& shape = {2, 3}, DType dtype = DType::f32) {
    return fill(graph, {dtype, shape}, value);
  }
  // Nodes by name and attributes, because builders leave out some that a file may have.
  Value op(std::string_view name, const std::vector<Value>& inputs, const AttrList& attributes) {
    const OpDef* def = find_op(name);
    return call(*def, inputs, make_attributes(name, def->attrs(), attributes));
  }
  Value concat(const std::vector<Value>& xs, std::int64_t axis) {
    return op("concat", xs, {{"axis", axis}});
  }
  Value pad(Value from, std::int64_t axis, std::int64_t before, std::int64_t after) {
    return op("pad", {from}, {{"axis", axis}, {"before", before}, {"after", after}});
  }
  Value transpose(Value from, const L& permutation) {
    return op("transpose", {from}, {{"permutation", permutation}});
  }
  Value slice(Value from, std::int64_t axis, std::int64_t begin, std::int64_t end,
              std::int64_t step = 1) {
    return op("slice", {from}, {{"axis", axis}, {"begin", begin}, {"end", end}, {"step", step}});
  }
  Value raw_broadcast(Value from, const L& shape, const L& axes) {
    return op("broadcast", {from}, {{"shape", shape}, {"axes", axes}});
  }
};

enum class Same { bits, nearly };

struct RuleCase {
  std::string_view rule;
  Value (*build)(Build&);
  std::string_view text;  // without the input lines, after a line feed; or `stays`
  Same same = Same::bits;
};

// A graph that the rule must leave alone.
inline constexpr std::string_view stays = "stays as it is";

std::vector<RuleCase> rule_cases();

}  // namespace whorl::algebra_test
