// Energy: what is sampled, U(theta) = -log p(theta, data), as a graph over one flat vector.
//
// A user writes the energy of one chain as a graph: inputs with the role "parameter" are sampled,
// the others are data, and the output is the scalar U. A graph that is to be sampled by minibatches
// has two scalar outputs instead, `prior` and `likelihood`: then
//
//   U(theta) = prior(theta) + (N / M) likelihood(theta, M rows),
//
// an unbiased estimate of the energy of all N rows. Two more outputs are for predictions, and
// sampling does not look at them: `logits` of a classifier, and `losses`, -log p of each row.
// All samplers see one vector theta[n] instead of the parameters; a parameter is a slice of it, row
// by row, in the order of the graph's inputs.
// Thread safety: immutable.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/graph.hpp"

namespace whorl {

// The names of the outputs that predictions are made from.
inline constexpr std::string_view logits_output = "logits", losses_output = "losses";

// A parameter of the energy and its place in the flat vector.
struct Parameter {
  std::string name;
  Shape shape;
  std::int64_t offset;
};

class Energy {
 public:
  // `likelihood_scale` is N / M. Throws a graph Error when the graph has no parameters, parameters
  // of several dtypes, or outputs other than those above; a usage Error for a scale other than 1
  // where the graph has a single output.
  explicit Energy(Graph graph, double likelihood_scale = 1);

  DType dtype() const { return dtype_; }
  std::int64_t size() const { return size_; }  // n
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const Graph& graph() const { return graph_; }
  // The inputs that are not parameters.
  std::vector<std::string> data() const;

  // What a graph says of a position.
  struct Parts {
    Value energy;  // U, a scalar
    Value prior;   // -log p(theta) alone; empty where the graph has a single output
  };
  // Appends U(theta) to theta's graph. Data that are not given become inputs of that graph, and
  // named nodes keep their names behind `prefix`. A `scale`, where there is one, takes the place of
  // N / M: that of sequences is known when they are.
  Parts parts(Value theta, const std::map<std::string, Value, std::less<>>& data = {},
              std::string_view prefix = "energy/", Value scale = {}) const;
  Value operator()(Value theta, const std::map<std::string, Value, std::less<>>& data = {},
                   std::string_view prefix = "energy/") const {
    return parts(theta, data, prefix).energy;
  }

  // One of the outputs for predictions as a graph of theta [n] and data. Throws a usage Error when
  // the energy's graph has none of that name.
  Graph prediction(std::string_view output = logits_output) const;
  bool has_output(std::string_view name) const;

 private:
  // The graph's inputs, with the parameters taken out of theta.
  std::map<std::string, Value, std::less<>> inputs_of(
      Value theta, const std::map<std::string, Value, std::less<>>& data) const;

  Graph graph_;
  DType dtype_ = DType::f32;
  std::int64_t size_ = 0;
  double likelihood_scale_;
  std::vector<Parameter> parameters_;
};

}  // namespace whorl
