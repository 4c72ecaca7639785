// A gated recurrent unit over a whole sequence of one chain, and its adjoint.
//
// With x_t the projected input of frame t, H units, and gates in the order r, z, n along the 3H
// columns of x, w_h, b_x and b_h:
//
//   a = x_t + b_x,           c = h_{t-1} w_h + b_h,
//   r = sigmoid(a_r + c_r),  z = sigmoid(a_z + c_z),   q = c_n,
//   n = tanh(a_n + r q),     h_t = n + z (h_{t-1} - n)
//
// The trace keeps what the adjoint needs, as rows of H: h_0, h_1, ..., h_T, then T rows of each of
// r, z, n and q. Rows of frames at and beyond `length` are zeros.
//
// Each frame needs the one before it, so a step is a product of a vector and a matrix, bound by how
// fast w_h comes out of the second-level cache. Forward, w_h is copied once into panels that are
// read from one end to the other; backward, its rows are read where they are.
//
// Two threads may run one chain together, each with half of the units and half of w_h, see
// halves.hpp: both call the function with the same arguments.
//
// All arrays are contiguous. T is float or double. Nothing allocates. Thread safety: as said; a
// chain has the same bits whatever else runs.
#pragma once

#include <cstdint>

#include "engine/kernels/halves.hpp"

namespace whorl::recurrent {

struct Sizes {
  std::int64_t frames;  // T
  std::int64_t units;   // H
  std::int64_t length;  // frames that count, 0 to T

  std::int64_t trace_rows() const { return 5 * frames + 1; }
  std::int64_t adjoint_rows() const { return 6 * frames + 7; }
};

// Elements of work space.
template <class T>
std::int64_t forward_scratch(std::int64_t units);
inline std::int64_t backward_scratch(std::int64_t units) { return units; }

// x [T, 3H], w_h [H, 3H], b_x and b_h [3H], h_0 [H] -> trace [5T + 1, H].
template <class T>
void forward(const Sizes& sizes, const T* x, const T* w_h, const T* b_x, const T* b_h, const T* h_0,
             T* trace, T* scratch, Halves& shared);

// The adjoints of a and of c, [T, 3H] each, then that of h_0, then the sums of both over the
// frames, which are those of b_x and b_h: 6T + 7 rows of H. With D the adjoint of h_t, and dr, dz,
// dn, dq what the trace's own rows get from outside:
//
//   ga_n = (D (1 - z) + dn) (1 - n^2)         gc_n = ga_n r + dq
//   g_r = (ga_n q + dr) r (1 - r)             g_z = (D (h_{t-1} - n) + dz) z (1 - z)
//   D of h_{t-1} = dh_{t-1} + D z + w_h gc
//
// dtrace is the adjoint of the whole trace, or, with `states_only`, that of h_1, ..., h_T, where
// all others are zero.
template <class T>
void backward(const Sizes& sizes, const T* w_h, const T* trace, const T* dtrace, bool states_only,
              T* adjoint, T* scratch, Halves& shared);

}  // namespace whorl::recurrent
