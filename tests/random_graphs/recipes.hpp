// Recipes: how a random graph grows by one op, or by one family of ops.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/ops.hpp"
#include "random_source.hpp"

namespace whorl::testing {

// What a recipe may use of the graph so far.
class Growth {
 public:
  Growth(Graph& graph, RandomSource& random, DType dtype, std::int64_t most_elements)
      : graph_(graph), random_(random), dtype_(dtype), most_elements_(most_elements) {}

  Graph& graph() { return graph_; }
  RandomSource& random() { return random_; }
  DType dtype() const { return dtype_; }
  std::int64_t most_elements() const { return most_elements_; }

  void offer(Value value) { values_.push_back(value); }
  const std::vector<Value>& values() const { return values_; }
  // Any value, the later ones more often.
  Value any();
  // Any of at least this rank, or empty.
  Value of_rank(int least);
  // One that broadcasts against x to a value that is not too large, x itself if need be.
  Value fitting(Value x);
  // One of x's own type, x itself if need be.
  Value like(Value x);

  // op(inputs) through the op table, so that a recipe links before its op is written.
  Value apply(std::string_view op, std::vector<Value> inputs, const AttrList& attributes = {});
  Value integers(const Shape& shape, std::int64_t low, std::int64_t high);

 private:
  Graph& graph_;
  RandomSource& random_;
  DType dtype_;
  std::int64_t most_elements_;
  std::vector<Value> values_;
};

struct Recipe {
  std::string_view needs;  // an op that must be in the table
  double weight;
  Value (*grow)(Growth&);  // empty when nothing fits
};
const std::vector<Recipe>& all_recipes();

}  // namespace whorl::testing
