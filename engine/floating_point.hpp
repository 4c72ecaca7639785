// FlushDenormals: sets the processor to flush subnormal numbers to zero for the life of an object,
// and puts the caller's mode back at the end: same bits in every thread, no slow paths.
// Thread safety: the mode belongs to the thread; make and destroy the object in the same one.
#pragma once

namespace whorl {

class FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned saved_;
};

}  // namespace whorl
