#include "data/minibatch.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "tests/data/data_fixture.hpp"

namespace whorl {

namespace {

std::vector<std::int32_t> rows_of(MinibatchOrder& order, std::int64_t step) {
  const auto batch = order.batch_of(step);
  return {batch.rows.begin(), batch.rows.end()};
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(minibatch, testing::DataFixture)

BOOST_AUTO_TEST_CASE(an_epoch_shows_no_row_twice) {
  MinibatchOrder order(3, 17, 5);
  BOOST_TEST(order.batches_per_epoch() == 3);
  for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
    std::set<std::int32_t> seen;
    for (std::int64_t position = 0; position < 3; ++position) {
      const auto batch = order.batch_of(3 * epoch + position);
      BOOST_TEST(batch.epoch == epoch);
      BOOST_TEST(batch.position == position);
      BOOST_TEST(batch.rows.size() == 5u);
      seen.insert(batch.rows.begin(), batch.rows.end());
    }
    BOOST_TEST(seen.size() == 15u);
    BOOST_TEST(*seen.begin() >= 0);
    BOOST_TEST(*seen.rbegin() < 17);
  }
}

BOOST_AUTO_TEST_CASE(a_batch_depends_on_seed_and_step_only) {
  MinibatchOrder forward(9, 23, 4), backward(9, 23, 4), other(10, 23, 4);
  std::map<std::int64_t, std::vector<std::int32_t>> batches;
  for (std::int64_t step = 0; step < 40; ++step) batches[step] = rows_of(forward, step);
  for (std::int64_t step = 39; step >= 0; step -= 3) {
    BOOST_TEST(rows_of(backward, step) == batches[step]);
    MinibatchOrder resumed(9, 23, 4);
    BOOST_TEST(rows_of(resumed, step) == batches[step]);
  }
  BOOST_TEST(rows_of(other, 0) != batches[0]);
  BOOST_TEST(batches[0] != batches[5]);  // the first batches of two epochs
}

BOOST_AUTO_TEST_CASE(epochs_beyond_32_bits_have_orders_of_their_own) {
  MinibatchOrder order(1, 100, 50);
  const std::int64_t far = std::int64_t{2} << 32;  // two batches an epoch
  BOOST_TEST(rows_of(order, far) != rows_of(order, 0));
}

BOOST_AUTO_TEST_CASE(an_order_is_made_once_an_epoch) {
  MinibatchOrder order(1, 100, 10);
  const std::int32_t* start = order.batch_of(0).rows.data();
  for (std::int64_t step = 1; step < 10; ++step)
    BOOST_TEST(order.batch_of(step).rows.data() == start + 10 * step);
}

BOOST_AUTO_TEST_CASE(over_many_epochs_every_row_is_seen_equally_often) {
  constexpr std::int64_t rows = 10, batch = 4, epochs = 20000;
  MinibatchOrder order(77, rows, batch);
  std::vector<double> seen(rows), first(rows);
  for (std::int64_t step = 0; step < 2 * epochs; ++step) {
    const auto now = order.batch_of(step);
    for (std::int32_t row : now.rows) ++seen[static_cast<std::size_t>(row)];
    ++first[static_cast<std::size_t>(now.rows[0])];
  }
  // A row is in an epoch with probability 8/10, and at the head of one of its batches with 2/10.
  const auto check = [&](const std::vector<double>& counts, double p) {
    const double se = std::sqrt(epochs * p * (1 - p));
    for (double count : counts) BOOST_TEST(std::abs(count - epochs * p) < 5.85 * se);
  };
  check(seen, 0.8);
  check(first, 0.2);
}

BOOST_AUTO_TEST_CASE(a_full_batch_is_the_rows_as_they_are) {
  MinibatchOrder order(5, 6, 6);
  BOOST_TEST(order.full_batch());
  std::vector<std::int32_t> wanted(6);
  std::iota(wanted.begin(), wanted.end(), 0);
  const std::int32_t* start = order.batch_of(0).rows.data();
  for (std::int64_t step : {0, 1, 1000}) {
    BOOST_TEST(rows_of(order, step) == wanted);
    BOOST_TEST(order.batch_of(step).epoch == step);
    BOOST_TEST(order.batch_of(step).rows.data() == start);
  }
}

BOOST_AUTO_TEST_CASE(sizes_that_cannot_be_are_refused) {
  const auto error = [&](std::int64_t rows, std::int64_t batch) {
    return error_of([&] { MinibatchOrder(1, rows, batch); });
  };
  BOOST_TEST(error(10, 0) == "[minibatch] the batch size is 0; expected at least 1 (2)");
  BOOST_TEST(error(10, -3) == "[minibatch] the batch size is -3; expected at least 1 (2)");
  BOOST_TEST(error(10, 11) == "[minibatch] the batch size is 11, but the data have 10 rows (4)");
  BOOST_TEST(error(1, 2) == "[minibatch] the batch size is 2, but the data have 1 row (4)");
  BOOST_TEST(error(0, 1) == "[minibatch] the batch size is 1, but the data have 0 rows (4)");
  BOOST_TEST(error(std::int64_t{1} << 31, 1) ==
             "[minibatch] there are 2147483648 rows, more than the limit of 2^31 - 1 (4)");
  BOOST_TEST(error(10, 10) == "no error");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
