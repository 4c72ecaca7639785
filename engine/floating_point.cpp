#include "engine/floating_point.hpp"

#include <immintrin.h>

namespace whorl {

namespace {
// All exceptions masked, round to nearest, flush results (bit 15) and operands (bit 6) to zero.
constexpr unsigned engine_mode = 0x1f80u | 0x8040u;
}  // namespace

FlushDenormals::FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(engine_mode); }
FlushDenormals::~FlushDenormals() { _mm_setcsr(saved_); }

}  // namespace whorl
