// Halves: every half once, no phase before the one before it is done, with one thread or two.
#include "engine/kernels/halves.hpp"

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

namespace whorl {
namespace {

// Counts what is done; what comes too early is a fault.
struct Record {
  static constexpr std::int64_t phases = 200;
  // Plain numbers: it is Halves that must order who writes and who reads them.
  std::array<int, 2 * phases> done{};
  std::atomic<int> faults{0};

  void work(std::int64_t phase, int half) {
    for (int other : {0, 1})
      if (phase > 0 && done[static_cast<std::size_t>(2 * (phase - 1) + other)] != 1) ++faults;
    if (done[static_cast<std::size_t>(2 * phase + half)]++ != 0) ++faults;
  }
  bool complete() const {
    return faults == 0 && std::all_of(done.begin(), done.end(), [](int n) { return n == 1; });
  }
};

void idle(int microseconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

BOOST_AUTO_TEST_SUITE(halves)

BOOST_AUTO_TEST_CASE(one_thread_does_all_and_leaves_nothing_to_a_late_one) {
  Halves shared;
  Record record;
  shared.run(Record::phases, [&](std::int64_t phase, int half) { record.work(phase, half); });
  BOOST_TEST(record.complete());
  shared.run(Record::phases, [&](std::int64_t, int) { ++record.faults; });
  BOOST_TEST(record.complete());
}

BOOST_AUTO_TEST_CASE(no_phases_are_no_work) {
  Halves shared;
  shared.run(0, [](std::int64_t, int) { BOOST_TEST(false); });
  shared.run(0, [](std::int64_t, int) { BOOST_TEST(false); });
}

BOOST_AUTO_TEST_CASE(two_threads_do_every_half_once_and_in_order_whenever_they_come) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    Halves shared;
    Record record;
    // The second comes at any time; now and then somebody is slow.
    const int late = static_cast<int>(random() % 300);
    const std::uint64_t slow = random() | 1;
    const auto take_part = [&] {
      shared.run(Record::phases, [&](std::int64_t phase, int half) {
        const std::uint64_t mixed = (slow * static_cast<std::uint64_t>(2 * phase + half + 1)) >> 9;
        if (mixed % 16 == 0) idle(static_cast<int>(mixed >> 8 & 7));
        record.work(phase, half);
      });
    };
    std::thread other([&] {
      idle(late);
      take_part();
    });
    take_part();
    other.join();
    BOOST_TEST(record.complete(), "trial " << trial);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace whorl
