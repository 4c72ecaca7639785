// Sequences: a ragged data set, sequences of frames that differ in length.
//
// The frames of all sequences stand one after the other in one array [total, C]; sequence s is its
// rows start(s) .. start(s+1) - 1.
// Invariants: at least one sequence, each of at least one frame, and one column; at most 2^31 - 1
// frames; f32 or f64, and all finite.
// Thread safety: immutable, may be shared; copies share the frames.
//
// Which sequence each step of training sees is MinibatchOrder(seed, sequences.count(), 1).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/tensor.hpp"

namespace whorl {

class Sequences {
 public:
  // `starts` has one entry more than there are sequences: from 0 to the number of frames. Throws a
  // data Error when the invariants would break.
  Sequences(Tensor frames, std::vector<std::int64_t> starts);

  std::int64_t count() const { return std::ssize(starts_) - 1; }
  std::int64_t frames() const { return starts_.back(); }
  std::int64_t columns() const { return tensor_.shape()[1]; }
  std::int64_t start(std::int64_t s) const { return starts_[static_cast<std::size_t>(s)]; }
  std::int64_t length(std::int64_t s) const { return start(s + 1) - start(s); }
  std::int64_t longest() const;
  const Tensor& tensor() const { return tensor_; }
  const std::vector<std::int64_t>& starts() const { return starts_; }

 private:
  Tensor tensor_;
  std::vector<std::int64_t> starts_;
};

// `source` is one of
//
//   FILE.mat:VARIABLE   a sequence for each cell of a variable, see mat.hpp
//   FOLDER              a sequence for each *.npy in it, in the order of the bytes of their names;
//                       as for a shell, names that begin with a dot do not count
//   FILE.npy            one sequence
//
// All are arrays [T,C] with T >= 1 and the same C. Numbers become `dtype`, f32 or f64, and must be
// finite. Memory is the frames and, besides, one file or the unpacked bytes of the variable.
Sequences load_sequences(const std::string& source, DType dtype);

// The same frames, in sequences of at most `window` frames: the end of a sequence is a shorter one.
// Throws a usage Error for a window below 1.
Sequences cut(const Sequences& sequences, std::int64_t window);

// Lengths to which sequences are padded, ascending, so that few plans serve them all: multiples of
// 8 that fall by about a ratio from the longest sequence, without those that no sequence needs. The
// ratio is 1.35, so that a sequence of T frames takes less than 1.35 T + 10; only where that makes
// more than `most` lengths it is as much larger as it must be. A function of the lengths alone.
std::vector<std::int64_t> bucket_lengths(const Sequences& sequences, std::int64_t most = 12);

// Which of such `buckets` takes a sequence of `length` frames: the first that is long enough.
// Throws a data Error where none is.
std::size_t bucket_of(std::span<const std::int64_t> buckets, std::int64_t length);

}  // namespace whorl
