// Makes one allocation of a program fail, by LD_PRELOAD: those of C++, from the moment on when a
// run has locked its directory. Libraries in C that cannot bear it are not asked to.
//
//   WHORL_FAIL_ALLOCATION=N      the one that fails, from 1; 0 for none
//   WHORL_ALLOCATIONS=FILE       where their number is written at the end
#include <dlfcn.h>
#include <fcntl.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>

namespace {

std::atomic<bool> armed{false};
std::atomic<long> made{0}, chosen{0};

void count() {
  if (armed && ++made == chosen) throw std::bad_alloc();
}

void* checked(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

int opened(const char* name, const char* path, int flags, mode_t mode) {
  if (std::string_view(path).ends_with("run.lock") && !armed) {
    if (const char* number = std::getenv("WHORL_FAIL_ALLOCATION")) chosen = std::atol(number);
    armed = true;
  }
  return reinterpret_cast<int (*)(const char*, int, ...)>(::dlsym(RTLD_NEXT, name))(path, flags,
                                                                                    mode);
}

__attribute__((destructor)) void write_count() {
  armed = false;
  const char* path = std::getenv("WHORL_ALLOCATIONS");
  if (std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "w")) {
    std::fprintf(file, "%ld\n", made.load());
    std::fclose(file);
  }
}

}  // namespace

void* operator new(std::size_t size) {
  count();
  return checked(std::malloc(size ? size : 1));
}
void* operator new(std::size_t size, std::align_val_t align) {
  count();
  const auto a = static_cast<std::size_t>(align);
  return checked(std::aligned_alloc(a, (size + a - 1) / a * a));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return opened("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return opened("open64", path, flags, mode);
}

}  // extern "C"
