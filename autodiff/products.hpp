// Products with Jacobians and Hessians, made of backward walks only.
//
// None of them forms a matrix; each costs a small multiple of one evaluation.
// Thread safety: as for Graph::append.
#pragma once

#include <span>
#include <vector>

#include "autodiff/tape.hpp"

namespace whorl {

// J v = sum_k (dy/dx_k) v_k, of y's type. The vjp J'w is linear in w, so its own vjp with respect
// to w is J v, whatever w is: two backward walks give a forward one.
Value jacobian_vector_product(Value y, std::span<const Value> xs, std::span<const Value> vs);
Value jacobian_vector_product(Value y, Value x, Value v);

// H v, one value per x, of a scalar y: the vjp of the gradient with seed v. A direction that
// itself depends on x counts as constant. Zeros where the gradient is constant.
std::vector<Value> hessian_vector_product(Value y, std::span<const Value> xs,
                                          std::span<const Value> vs);
Value hessian_vector_product(Value y, Value x, Value v);

}  // namespace whorl
