// What the ops on square matrices have in common. Matrices lie on the last two axes; the axes
// before are a batch.
//
// A symmetric argument is given by its lower triangle: what lies above the diagonal is never read.
// So the ops are functions of the n (n + 1) / 2 numbers of that triangle. Where the derivative by a
// full matrix is G, an element below the diagonal stands for two and gets G_ij + G_ji, the diagonal
// gets G_ii, and above it is zero: by_lower_triangle(G).
#pragma once

#include <limits>
#include <string_view>

#include "engine/ops.hpp"

namespace whorl {

inline void check_square(std::string_view where, std::string_view name, const Shape& shape) {
  const int rank = shape.rank();
  if (rank < 2) graph_error(where, "{} has rank {}; expected matrices", name, rank);
  if (shape[rank - 1] != shape[rank - 2])
    graph_error(where, "{} is not square: {} and {}", name, shape[rank - 2], shape[rank - 1]);
  if (shape[rank - 1] > std::numeric_limits<std::int32_t>::max())
    graph_error(where, "{} has a side of {}; the limit is 2^31 - 1", name, shape[rank - 1]);
}

// Whether an element of x lies on the diagonal, or in another relation of row and column.
inline Value where(Value x, Value (*relation)(Value row, Value column)) {
  const int rank = x.shape().rank();
  const Type index{DType::i32, x.shape().slice(rank - 2, rank)};
  const Value matrix = relation(iota(*x.graph, index, 0), iota(*x.graph, index, 1));
  return broadcast(matrix, x.shape());
}

// x on and below the diagonal, zero above.
inline Value lower_triangle(Value x) { return select(where(x, greater_equal), x, fill_like(x, 0)); }
// x below the diagonal, half of it on the diagonal, zero above.
inline Value half_lower_triangle(Value x) {
  return select(where(x, equal), x * 0.5, lower_triangle(x));
}
inline Value by_lower_triangle(Value g) { return half_lower_triangle(g + transpose(g)); }

// Symmetric positive definite test matrices, made of whatever `input` holds: x x' / n + I.
void make_positive_definite(Tensor& input);

}  // namespace whorl
