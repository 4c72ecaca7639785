// What the ops that work along the last axis have in common.
#pragma once

#include <string_view>

#include "engine/ops.hpp"

namespace whorl {

inline std::int64_t row_length(const Type& type) { return type.shape[type.shape.rank() - 1]; }

inline void check_rows(std::string_view where, const Type& type) {
  if (type.shape.rank() == 0) graph_error(where, "needs an axis to work along: rank 0");
  if (row_length(type) == 0)
    graph_error(where, "has no value over zero elements: the last axis is 0");
}

// One floating-point input, an output of the same type, a unit for each row.
struct RowOp {
  static constexpr std::array<std::string_view, 1> inputs{"x"};
  static constexpr DTypeSet dtypes = floats;
  static Type infer(const Site& site) {
    check_rows(site.op->name, site.in[0]);
    return site.in[0];
  }
  static std::int64_t units(const Site& site) {
    return site.out.elements() / row_length(site.in[0]);
  }
  // An exponential costs about as much as ten additions.
  static double flops(const Site& site) { return 10.0 * static_cast<double>(site.out.elements()); }
  static Value batch(const Batch& b) { return call(*b.op, {b.x()}); }
  static std::vector<Sample> samples() {
    return {{{{{2, 3}}}}, {{{{4}}}}, {{{{2, 2, 1}}}}, {{{{2, 40}}}}, {{{{0, 3}}}}};
  }
};

}  // namespace whorl
