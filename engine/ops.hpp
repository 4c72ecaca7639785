// The builders: one function per op, which appends a node and returns its Value.
//
// Elementwise builders broadcast their inputs against each other. All throw a graph Error that
// names the op and the types it was given. Axes may be negative: -1 is the last one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph.hpp"

namespace whorl {

using Axes = std::vector<std::int64_t>;

// Sources.
Value input(Graph& graph, std::string_view name, const Type& type, std::string_view role = "data");
Value constant(Graph& graph, const Tensor& value);
Value fill(Graph& graph, const Type& type, double value);
Value fill_like(Value like, double value);
Value iota(Graph& graph, const Type& type, std::int64_t axis);  // index along one axis

// Element by element.
Value neg(Value x);
Value abs(Value x);   // gradient at 0: 0
Value sign(Value x);  // gradient: 0
Value square(Value x);
Value sqrt(Value x);
Value rsqrt(Value x);
Value exp(Value x);
Value log(Value x);
Value log1p(Value x);
Value expm1(Value x);
Value tanh(Value x);
Value sigmoid(Value x);
Value softplus(Value x);
Value relu(Value x);  // gradient at 0: 0
Value step(Value x);  // 1 where x > 0, else 0; gradient: 0
Value sin(Value x);
Value cos(Value x);
Value erf(Value x);
Value clamp(Value x, double low, double high);  // gradient 1 on the closed interval, 0 outside
Value add(Value a, Value b);
Value sub(Value a, Value b);
Value mul(Value a, Value b);
Value div(Value a, Value b);
Value pow(Value a, Value b);
Value maximum(Value a, Value b);  // gradient at a tie: to a
Value minimum(Value a, Value b);  // gradient at a tie: to a
Value equal(Value a, Value b);
Value less(Value a, Value b);
Value less_equal(Value a, Value b);
Value greater(Value a, Value b);
Value greater_equal(Value a, Value b);
Value logical_and(Value a, Value b);
Value logical_or(Value a, Value b);
Value logical_not(Value a);
Value select(Value condition, Value yes, Value no);
Value cast(Value x, DType dtype);
Value stop_gradient(Value x);
Value assert_finite(Value x);  // x, or a numeric Error that names the node

Value operator-(Value x);
Value operator+(Value a, Value b);
Value operator-(Value a, Value b);
Value operator*(Value a, Value b);
Value operator/(Value a, Value b);
Value operator+(Value a, double b);
Value operator+(double a, Value b);
Value operator-(Value a, double b);
Value operator-(double a, Value b);
Value operator*(Value a, double b);
Value operator*(double a, Value b);
Value operator/(Value a, double b);
Value operator/(double a, Value b);

// Products. Operands are [..., M, K] and [..., K, N] with equal leading axes, or one operand is a
// plain matrix that all share; a vector operand is a row (left) or a column (right).
Value matmul(Value a, Value b, bool transpose_a = false, bool transpose_b = false);

// Reductions. No axes: over all of them.
Value sum(Value x, Axes axes = {}, bool keep = false);
Value mean(Value x, Axes axes = {}, bool keep = false);
Value max(Value x, Axes axes = {}, bool keep = false);  // ties share the gradient equally
Value min(Value x, Axes axes = {}, bool keep = false);
Value log_sum_exp(Value x, Axes axes = {}, bool keep = false);
Value median(Value x);       // the lower median of all elements, a scalar; no gradient
Value softmax(Value x);      // over the last axis
Value log_softmax(Value x);  // over the last axis
// -log softmax(logits)[label]: logits [..., classes], labels i32 [...] -> [...].
Value softmax_cross_entropy(Value logits, Value labels);
// -log p(target | logit) of a Bernoulli variable, element by element: softplus(z) - t z.
Value bernoulli_cross_entropy(Value logits, Value targets);

// Shapes.
Value reshape(Value x, const std::vector<std::int64_t>& shape);  // one dimension may be -1
Value reshape(Value x, const Shape& shape);
Value transpose(Value x, Axes permutation = {});  // default: swaps the last two axes
Value slice(Value x, std::int64_t axis, std::int64_t begin, std::int64_t end,
            std::int64_t step = 1);
Value pad(Value x, std::int64_t axis, std::int64_t before, std::int64_t after, double value = 0);
Value concat(const std::vector<Value>& xs, std::int64_t axis);
Value stack(const std::vector<Value>& xs, std::int64_t axis = 0);
// Input axis i becomes output axis axes[i] (increasing), repeated where its size is 1; the other
// output axes are new. The second form aligns at the last axis.
Value broadcast(Value x, const Shape& shape, Axes axes);
Value broadcast(Value x, const Shape& shape);
// The gradient of broadcast: sums x back to `shape`, whose axis i stems from x's axis axes[i].
Value sum_to(Value x, const Shape& shape, Axes axes);
Value sum_to(Value x, const Shape& shape);
// Rows of x along `axis` chosen by i32 indices: x [A, n, B], indices [I...] -> [A, I..., B].
Value gather(Value x, Value indices, std::int64_t axis = 0);
// The gradient of gather: zeros [A, n, B] with the slices of x added at the indices, in order.
Value scatter_add(Value x, Value indices, std::int64_t n, std::int64_t axis = 0);
Value one_hot(Value indices, std::int64_t depth, DType dtype = DType::f32);

// Linear algebra on the last two axes; leading axes are a batch.
Value cholesky(Value a);  // lower triangular L with L L' = a; reads the lower triangle of a
// Solves op(L) X = B with a lower triangular L; op is the transpose when asked for.
Value triangular_solve(Value l, Value b, bool transpose = false);
Value symmetric_solve(Value a, Value b);  // A X = B for a symmetric positive A
Value log_determinant(Value a);           // of a symmetric positive A, one number a matrix

// Random numbers: a function of (seed, stream, step, chain, element) and of nothing else.
// seed is i32[2] (low and high word), step i32[]. With `chained`, axis 0 is the chain.
Value random_normal(Value seed, Value step, const Type& type, std::int64_t stream,
                    bool chained = false);
Value random_uniform(Value seed, Value step, const Type& type, std::int64_t stream,
                     bool chained = false);  // in the open interval (0, 1)

// A small MLP applied to every coordinate; see engine/ops/coordinate_net.cpp for the formulas.
struct CoordinateNet {
  std::vector<std::int64_t> hidden;  // one or two layers
  std::string activation = "relu";   // relu, tanh or softplus
  std::vector<std::int64_t> wrt;     // inputs whose derivatives follow the value
};
std::int64_t coordinate_net_weights(std::size_t inputs, const std::vector<std::int64_t>& hidden);
// All inputs have one shape S (they are broadcast to it); weights is a flat vector. The result is
// [1 + wrt.size(), S...]: the value, then its derivatives by the chosen inputs.
Value coordinate_net(const std::vector<Value>& inputs, Value weights, const CoordinateNet& net);

// A gated recurrent unit over a whole sequence; see engine/ops/gru.cpp for the formulas.
// x [T,I], length i32[], w_x [I,3H], w_h [H,3H], b_x and b_h [3H], h_0 [H] -> the states [T,H].
// Only the first `length` frames count, 0 to T; the states behind them are zeros.
Value gru(Value x, Value length, Value w_x, Value w_h, Value b_x, Value b_h, Value h_0);

}  // namespace whorl
