// Counts every allocation of the process, so that tests can show that a run makes none and that
// every single one may fail.
#pragma once

#include <atomic>

extern std::atomic<long> allocations;
// The number of the allocation that fails; none does when it is negative.
extern std::atomic<long> failing;
