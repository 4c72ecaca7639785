#include "tests/engine/allocations.hpp"

#include <cstdlib>
#include <new>

std::atomic<long> allocations{0};
std::atomic<long> failing{-1};

namespace {

void count() {
  if (allocations.fetch_add(1, std::memory_order_relaxed) ==
      failing.load(std::memory_order_relaxed))
    throw std::bad_alloc();
}

}  // namespace

// In a file of their own: a compiler that sees one of a pair inlined takes it for a mismatch.
void* operator new(std::size_t size) {
  count();
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t align) {
  count();
  const auto a = static_cast<std::size_t>(align);
  if (void* memory = std::aligned_alloc(a, (size + a - 1) / a * a)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
