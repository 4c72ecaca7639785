// Scaling: all numbers of an input shifted and scaled by the same known numbers.
//
//   x' = (x / divisor - mean) / sd
//
// As for images: bytes are divided by 255, then mean and sd of all pixels of a set are those that a
// paper gives. What differs from column to column, and is measured, is in standardise.hpp.
// Thread safety: plain values.
#pragma once

#include <string>

#include "data/dataset.hpp"

namespace whorl {

struct Scaling {
  std::string input;
  double divisor = 1, mean = 0, sd = 1;

  // Changes the array in place, and with it all Tensors that share its memory. Computes in f64.
  // Throws a usage Error before anything is changed when the input is not there or of no floating
  // type, or a number makes no sense, and a data Error for a row that leaves the range of its type.
  void apply(Dataset& dataset) const;
};

}  // namespace whorl
