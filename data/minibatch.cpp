#include "data/minibatch.hpp"

#include <cassert>
#include <limits>
#include <numeric>

#include "engine/error.hpp"
#include "engine/random.hpp"

namespace whorl {

MinibatchOrder::MinibatchOrder(std::uint64_t seed, std::int64_t rows, std::int64_t batch)
    : seed_(seed), rows_(rows), batch_(batch) {
  if (batch < 1)
    fail(ErrorKind::usage, "minibatch", "the batch size is {}; expected at least 1", batch);
  if (rows > std::numeric_limits<std::int32_t>::max())
    fail(ErrorKind::data, "minibatch", "there are {} rows, more than the limit of 2^31 - 1", rows);
  if (batch > rows)
    fail(ErrorKind::data, "minibatch", "the batch size is {}, but the data have {} row{}", batch,
         rows, rows == 1 ? "" : "s");
  if (!full_batch()) return;
  order_.resize(static_cast<std::size_t>(rows));
  std::iota(order_.begin(), order_.end(), 0);
}

MinibatchOrder::Batch MinibatchOrder::batch_of(std::int64_t step) {
  assert(step >= 0);
  Batch batch{step / batches_per_epoch(), step % batches_per_epoch(), {}};
  if (!full_batch() && batch.epoch != epoch_) {
    const auto epoch = static_cast<std::uint64_t>(batch.epoch);
    order_ = permutation({.seed = seed_,
                          .stream = minibatch_stream,
                          .step = static_cast<std::uint32_t>(epoch),
                          .chain = static_cast<std::uint32_t>(epoch >> 32)},
                         static_cast<std::int32_t>(rows_));
    epoch_ = batch.epoch;
  }
  batch.rows = std::span(order_).subspan(static_cast<std::size_t>(batch.position * batch_),
                                         static_cast<std::size_t>(batch_));
  return batch;
}

}  // namespace whorl
