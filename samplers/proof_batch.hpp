// BatchedGraph: a graph of one chain as a function of many rows of numbers.
//
// Thread safety: one thread at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/evaluate.hpp"
#include "engine/executor.hpp"

namespace whorl {

// Rows of f64 numbers.
struct Table {
  std::int64_t columns = 1;
  std::vector<double> values;

  Table() = default;
  Table(std::int64_t rows, std::int64_t width)
      : columns(width), values(static_cast<std::size_t>(rows * width)) {}
  std::int64_t rows() const { return static_cast<std::int64_t>(values.size()) / columns; }
  double* row(std::int64_t r) { return values.data() + r * columns; }
  const double* row(std::int64_t r) const { return values.data() + r * columns; }
};
using Tables = std::map<std::string, Table, std::less<>>;

class BatchedGraph {
 public:
  // `inputs` differ from row to row; all other inputs are in `shared`.
  BatchedGraph(const Graph& graph, const std::vector<std::string>& inputs, const Feeds& shared,
               const std::vector<std::string>& outputs);

  void share(std::string_view input, const Tensor& value) { executor_.bind(input, value); }
  // The outputs for every row of the inputs.
  Tables operator()(const Tables& inputs);

 private:
  std::map<std::string, Tensor, std::less<>> inputs_;
  std::vector<std::string> outputs_;
  Executor executor_;
};

// Roughly how many operations one evaluation costs.
double evaluation_cost(const Graph& graph);

}  // namespace whorl
