// What the ops of gru.cpp share: checks of their inputs, chains, and their plain forms.
//
// An input has the rank that one chain of it has, or one more: a leading axis of chains, of one
// size for all inputs that have it. Thread safety: pure functions; builders as for Graph::append.
#pragma once

#include <new>

#include "engine/kernels/halves.hpp"
#include "engine/ops.hpp"

namespace whorl {

// Input `length` is i32, all others are as the key is.
void check_dtypes(const Site& site, std::size_t key, std::size_t length);
// The leading axis of chains, [] where no input has one; `ranks` are those of one chain.
Shape chain_axis(const Site& site, std::span<const int> ranks);
// One chain's shape of input i must be `expected`.
void check_shape(const Site& site, std::size_t i, const Shape& found, const Shape& expected);

inline Shape one_chain(const Shape& shape, int rank) {
  return shape.rank() > rank ? shape.without_front() : shape;
}
inline Shape with_lead(const Shape& lead, const Shape& shape) {
  return lead.rank() > 0 ? shape.with_front(lead[0]) : shape;
}
// Of a result that is a matrix for each chain.
inline std::int64_t chain_count(const Shape& result) { return result.rank() > 2 ? result[0] : 1; }

// Input i of one chain.
template <class T>
const T* of_chain(const Call& c, int i, int rank, std::int64_t chain) {
  const Shape& shape = c.type(i).shape;
  return c.in<T>(i) + (shape.rank() > rank ? chain * shape.without_front().elements() : 0);
}
// The number of frames that count, or a data Error.
std::int64_t length_of(const Call& c, int i, std::int64_t chain, std::int64_t frames);

// Bytes for so many elements, in whole cache lines: chains do not share any.
template <class T>
std::int64_t whole_lines(std::int64_t count) {
  return (count * static_cast<std::int64_t>(sizeof(T)) + 63) / 64 * 64;
}

// A unit is a thread's part in one chain. Wide recurrences have two, which share the chain when
// they run at the same time; when they do not, the first one does it all.
inline std::int64_t hands(std::int64_t width) { return width < 64 ? 1 : 2; }

// What the units of a chain share: the state of their work, and memory for it.
struct ChainWork {
  static std::int64_t bytes(std::int64_t work_space) {
    return static_cast<std::int64_t>(sizeof(Halves)) + work_space;
  }
  ChainWork(const Call& c, std::int64_t work_space, std::int64_t chain)
      : place(static_cast<char*>(c.scratch) + chain * bytes(work_space)) {}
  void reset() { new (place) Halves; }
  Halves& halves() const { return *std::launder(reinterpret_cast<Halves*>(place)); }
  template <class T>
  T* memory() const {
    return reinterpret_cast<T*>(place + sizeof(Halves));
  }

  char* place;
};

// The op over a new leading axis, whose chains count as those that it had already.
Value batch_chains(const Batch& b, std::span<const int> ranks);

// gru_trace and gru_adjoint in plain ops, frame by frame.
Value plain_gru_trace(std::span<const Value> inputs);
Value plain_gru_adjoint(std::span<const Value> inputs);

}  // namespace whorl
