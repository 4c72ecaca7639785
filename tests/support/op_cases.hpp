// OpCase: one op on one of its samples in one element type; what the conformance tests walk.
//
// The cases come from the op table and from nothing else, so a new op is tested from its first
// build. Thread safety: plain values.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/evaluate.hpp"
#include "engine/op.hpp"

namespace whorl::testing {

struct OpCase {
  const OpDef* op;
  Sample sample;
  int index;  // of the sample
  DType key;  // the element type that chooses the kernel
  std::vector<Tensor> inputs;
  Attributes attributes;

  std::string label() const;  // "sum sample 2 f64"
};

// Every op but inputs and constants, on all samples, in those of `keys` that it takes.
std::vector<OpCase> op_cases(DTypeSet keys);
// Inputs for a sample whose shapes may have been changed: uniform numbers in its ranges. They are
// the same numbers in f32 and f64.
std::vector<Tensor> sample_inputs(const OpDef& op, const Sample& sample, DType key);
// The sample's attributes, with dtype = key where an op has no input to tell it by.
// Empty when they name another dtype.
std::optional<AttrList> sample_attributes(const OpDef& op, const Sample& sample, DType key);

// A graph of inputs x0, x1, ... and the op's node, with feeds for the inputs.
struct CaseGraph {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  std::vector<Value> inputs;
  Value y;
  Feeds feeds;

  // The inputs that a gradient can reach.
  std::vector<Value> float_inputs() const;
  Tensor value(Value v) const { return evaluate(*graph, feeds, {v.id}).front(); }
};
CaseGraph graph_of(const OpDef& op, const std::vector<Tensor>& inputs,
                   const Attributes& attributes);
inline CaseGraph graph_of(const OpCase& c) { return graph_of(*c.op, c.inputs, c.attributes); }

// Whether a gradient can pass from some input to the output, by types and rows.
bool is_differentiable(const CaseGraph& g);

// The same numbers in another type.
Tensor converted(const Tensor& tensor, DType dtype);
// Numbers in [0.5, 1.5) that follow no pattern.
Tensor uneven(const Type& type);
double largest(const Tensor& tensor);
// max |a - b| / max |b|; infinite where one is NaN and the other is not, or where types differ in
// shape.
double distance(const Tensor& a, const Tensor& b);

}  // namespace whorl::testing
