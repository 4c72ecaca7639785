// MinibatchOrder: which rows each step of stochastic-gradient sampling sees.
//
// Steps are cut into epochs of floor(N / M) batches of M rows each. An epoch takes the rows in an
// order of its own, a permutation that depends on (seed, epoch) only, and batch b of the epoch is
// rows b M .. b M + M - 1 of that order. The N mod M rows at the end of an order are left out of
// that epoch, others in each: all batches have M rows, as plans of static shapes need, and every
// row is equally likely to be in a batch, so an energy scaled by N / M has no bias.
//
// With M = N there is one batch, the rows as they are: 0 .. N-1.
//
// The random numbers are those of Philox stream `minibatch_stream`, step = epoch (low word), chain
// = epoch (high word). Nothing depends on the steps taken before, so a resumed run continues the
// same. Thread safety: batch_of changes the object; each thread needs one of its own, and all
// agree.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace whorl {

// "mini" in ASCII; noise drawn by a sampler from the same seed must use other streams.
inline constexpr std::uint32_t minibatch_stream = 0x6d696e69;

class MinibatchOrder {
 public:
  struct Batch {
    std::int64_t epoch = 0;
    std::int64_t position = 0;           // of the batch in its epoch
    std::span<const std::int32_t> rows;  // until the next call
  };

  // Throws a usage Error for a batch below 1, a data Error when there are fewer rows than a batch.
  MinibatchOrder(std::uint64_t seed, std::int64_t rows, std::int64_t batch);

  std::int64_t batches_per_epoch() const { return rows_ / batch_; }
  bool full_batch() const { return rows_ == batch_; }
  // Steps count from 0. Makes a new order when the epoch is another than in the call before.
  Batch batch_of(std::int64_t step);

 private:
  std::uint64_t seed_;
  std::int64_t rows_, batch_;
  std::int64_t epoch_ = -1;  // whose order is in order_
  std::vector<std::int32_t> order_;
};

}  // namespace whorl
