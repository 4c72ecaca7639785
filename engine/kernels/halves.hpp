// Halves: a chain of many short phases, each of two halves, that one or two threads do together.
//
// Both halves of a phase are done before any half of the next one begins. The first thread to come
// does the first half of every phase, and the second one too, unless the other thread has taken it
// by then. So nobody waits for a thread that has not come, or that comes too late: a thread waits
// only while another one is at work on a half. Which thread does what is left to chance; halves
// must not depend on it, and then results do not. They must not throw.
//
// A phase is some microseconds long, less than a scheduler's task: waiting is spinning, and after a
// while giving way, for machines with more threads than cores.
// Thread safety: run() is for at most two threads at once, after which nothing is left to do.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace whorl {

class Halves {
 public:
  // Calls work(phase, half) for those halves of `phases` phases that the other thread leaves. When
  // both threads are back, all of it is done.
  template <class Work>
  void run(std::int64_t phases, const Work& work) {
    if (led_.exchange(true)) {
      join(phases, work);
    } else {
      lead(phases, work);
    }
  }

 private:
  template <class Work>
  void lead(std::int64_t phases, const Work& work) {
    for (std::int64_t phase = 0; phase < phases; ++phase) {
      work(phase, 0);
      first_done_.store(phase + 1, std::memory_order_release);
      if (take(phase)) {
        work(phase, 1);
        second_done_.store(phase + 1, std::memory_order_release);
      } else {
        wait([&] { return second_done_.load(std::memory_order_acquire) > phase; });
      }
    }
  }

  template <class Work>
  void join(std::int64_t phases, const Work& work) {
    std::int64_t phase = taken_.load(std::memory_order_relaxed);
    while (phase < phases) {
      wait([&] {
        return first_done_.load(std::memory_order_acquire) >= phase &&
               second_done_.load(std::memory_order_acquire) >= phase;
      });
      if (take(phase)) {
        work(phase, 1);
        second_done_.store(phase + 1, std::memory_order_release);
      }
      phase = taken_.load(std::memory_order_relaxed);
    }
  }

  // Whether the caller is to do the second half of the phase.
  bool take(std::int64_t phase) {
    return taken_.compare_exchange_strong(phase, phase + 1, std::memory_order_relaxed);
  }

  template <class Condition>
  static void wait(const Condition& condition) {
    constexpr int patience = 10'000;
    for (int spins = 0; !condition(); ++spins) {
      if (spins < patience) {
        __builtin_ia32_pause();
      } else {
        std::this_thread::yield();
      }
    }
  }

  // Of how many phases each half is done; lines of their own, because they are written at one side
  // and read at the other all the time.
  alignas(64) std::atomic<std::int64_t> first_done_{0};
  alignas(64) std::atomic<std::int64_t> second_done_{0};
  alignas(64) std::atomic<std::int64_t> taken_{0};  // second halves that somebody does or did
  std::atomic<bool> led_{false};
};

}  // namespace whorl
