// Tells ThreadSanitizer what oneTBB synchronises. Part of WHORL_SANITIZE=thread builds only.
//
// The oneTBB that a system ships is not instrumented, so TSan does not see that a task
// starts after it was spawned, nor that a wait ends after the tasks that it waits for,
// and would report a race between almost any two tasks. This file stands between our
// code and the few entry points of libtbb where one of these edges arises, adds the
// edge, and calls the real function. No other edge is added: a race between two tasks
// that oneTBB does not order is still reported.
//
//   spawn -> task starts     the task's vtable pointer is replaced until it starts
//   task ends -> wait ends   the task's decrement of the wait_context is visible already
//   memory used again        tasks come from malloc, which TSan follows, not from a pool
//
// It must be compiled without instrumentation and without locks, or it would itself
// order what is not ordered.

#include <dlfcn.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <sanitizer/tsan_interface.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

namespace d1 = tbb::detail::d1;

template <class F>
F* real(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    std::fprintf(stderr, "tbb_tsan: this oneTBB has no %s\n", name);
    std::abort();
  }
  return reinterpret_cast<F*>(found);
}

// The vtable of a task under the Itanium C++ ABI: two destructors, execute, cancel.
// Those are all that libtbb uses of a task that waits to be started.
struct Vtable {
  void** original;
  void* offset_to_top;
  void* type_info;
  void* slots[4];
};

void**& vtable_pointer(d1::task& task) { return *reinterpret_cast<void***>(&task); }

using Start = d1::task* (*)(d1::task*, d1::execution_data&);

template <int slot>
d1::task* start(d1::task* task, d1::execution_data& data) {
  auto* slots = reinterpret_cast<char*>(vtable_pointer(*task));
  auto* replaced = reinterpret_cast<Vtable*>(slots - offsetof(Vtable, slots));
  vtable_pointer(*task) = replaced->original;
  __tsan_acquire(task);
  return reinterpret_cast<Start>(replaced->original[slot])(task, data);
}

// One replacement per class of tasks, made once and kept.
void** replacement(void** original) {
  static constexpr std::size_t size = 4096;
  static Vtable* table[size];
  Vtable* made = nullptr;
  for (std::size_t i = 0; i < size; ++i) {
    Vtable** place = &table[(reinterpret_cast<std::uintptr_t>(original) / 8 + i) % size];
    Vtable* found = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (found == nullptr) {
      if (made == nullptr) {
        made = static_cast<Vtable*>(std::malloc(sizeof(Vtable)));
        if (made == nullptr) std::abort();
        *made = {original,
                 original[-2],
                 original[-1],
                 {original[0], original[1], reinterpret_cast<void*>(&start<2>),
                  reinterpret_cast<void*>(&start<3>)}};
      }
      if (__atomic_compare_exchange_n(place, &found, made, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE)) {
        return made->slots;
      }
    }
    if (found->original == original) {
      std::free(made);
      return found->slots;
    }
  }
  std::fprintf(stderr, "tbb_tsan: more than %zu classes of tasks\n", size);
  std::abort();
}

void before_handing_over(d1::task& task) {
  vtable_pointer(task) = replacement(vtable_pointer(task));
  __tsan_release(&task);
}

// The end of a wait, also when it ends with an exception.
struct AfterWait {
  d1::wait_context& context;
  ~AfterWait() {
    static_assert(sizeof(d1::wait_context) == 16, "version, then reference count");
    __tsan_acquire(reinterpret_cast<char*>(&context) + 8);
  }
};

// What task_arena::execute runs, perhaps on another thread.
struct Delegate final : d1::delegate_base {
  explicit Delegate(d1::delegate_base& body) : body_(body) {}
  bool operator()() const override {
    __tsan_acquire(const_cast<Delegate*>(this));
    struct Release {
      const Delegate* delegate;
      ~Release() { __tsan_release(const_cast<Delegate*>(delegate)); }
    } release{this};
    return body_();
  }
  d1::delegate_base& body_;
};

}  // namespace

namespace tbb::detail::r1 {

void spawn(d1::task& task, d1::task_group_context& context) {
  static const auto call = real<void(d1::task&, d1::task_group_context&)>(
      "_ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextE");
  before_handing_over(task);
  call(task, context);
}

void spawn(d1::task& task, d1::task_group_context& context, d1::slot_id slot) {
  static const auto call = real<void(d1::task&, d1::task_group_context&, d1::slot_id)>(
      "_ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextEt");
  before_handing_over(task);
  call(task, context, slot);
}

void submit(d1::task& task, d1::task_group_context& context, arena* where,
            std::uintptr_t critical) {
  static const auto call = real<void(d1::task&, d1::task_group_context&, arena*, std::uintptr_t)>(
      "_ZN3tbb6detail2r16submitERNS0_2d14taskERNS2_18task_group_contextEPNS1_5arenaEm");
  before_handing_over(task);
  call(task, context, where, critical);
}

void enqueue(d1::task& task, d1::task_arena_base* where) {
  static const auto call = real<void(d1::task&, d1::task_arena_base*)>(
      "_ZN3tbb6detail2r17enqueueERNS0_2d14taskEPNS2_15task_arena_baseE");
  before_handing_over(task);
  call(task, where);
}

void enqueue(d1::task& task, d1::task_group_context& context, d1::task_arena_base* where) {
  static const auto call = real<void(d1::task&, d1::task_group_context&, d1::task_arena_base*)>(
      "_ZN3tbb6detail2r17enqueueERNS0_2d14taskERNS2_18task_group_contextEPNS2_15task_arena_baseE");
  before_handing_over(task);
  call(task, context, where);
}

void execute_and_wait(d1::task& task, d1::task_group_context& task_context, d1::wait_context& wait,
                      d1::task_group_context& wait_context) {
  static const auto call =
      real<void(d1::task&, d1::task_group_context&, d1::wait_context&, d1::task_group_context&)>(
          "_ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_"
          "contextES6_");
  AfterWait after{wait};
  call(task, task_context, wait, wait_context);
}

void wait(d1::wait_context& wait, d1::task_group_context& context) {
  static const auto call = real<void(d1::wait_context&, d1::task_group_context&)>(
      "_ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE");
  AfterWait after{wait};
  call(wait, context);
}

void execute(d1::task_arena_base& where, d1::delegate_base& body) {
  static const auto call = real<void(d1::task_arena_base&, d1::delegate_base&)>(
      "_ZN3tbb6detail2r17executeERNS0_2d115task_arena_baseERNS2_13delegate_baseE");
  Delegate delegate(body);
  __tsan_release(&delegate);
  struct Acquire {
    Delegate& delegate;
    ~Acquire() { __tsan_acquire(&delegate); }
  } acquire{delegate};
  call(where, delegate);
}

void* cache_aligned_allocate(std::size_t size) {
  void* memory = std::aligned_alloc(128, (size + 127) / 128 * 128);
  if (memory == nullptr) std::abort();
  return memory;
}

void cache_aligned_deallocate(void* memory) { std::free(memory); }

void* allocate(d1::small_object_pool*& pool, std::size_t size) {
  static char no_pool;
  pool = reinterpret_cast<d1::small_object_pool*>(&no_pool);
  void* memory = cache_aligned_allocate(size);
  __tsan_release(memory);
  return memory;
}

void* allocate(d1::small_object_pool*& pool, std::size_t size, const d1::execution_data&) {
  return allocate(pool, size);
}

// What libtbb allocates for itself may be freed by another thread, in an order unseen.
void deallocate(d1::small_object_pool&, void* memory, std::size_t) {
  __tsan_acquire(memory);
  std::free(memory);
}

void deallocate(d1::small_object_pool& pool, void* memory, std::size_t size,
                const d1::execution_data&) {
  deallocate(pool, memory, size);
}

}  // namespace tbb::detail::r1
