// Standardisation: every column shifted to mean 0 and scaled to standard deviation 1.
//
//   z = (x - mean) / sd,   mean = sum_n x_n / N,   sd^2 = sum_n (x_n - mean)^2 / N
//
// computed in f64 over the rows of the data it was made from, and applied to others, such as test
// data, with the same numbers. A column that is constant is centred and keeps its scale: sd is 1.
// Thread safety: plain values.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.hpp"

namespace whorl {

struct Standardisation {
  struct Input {
    std::string name;
    std::vector<double> mean, sd;  // one number for each column
  };
  std::vector<Input> inputs;
  std::vector<std::string> warnings;  // one for each constant column

  // Changes the arrays of `dataset` in place, and with them all Tensors that share their memory.
  // Throws an Error before anything is changed if an array is missing or its rows have another
  // size, and a data Error for a row that leaves the range of its type.
  void apply(Dataset& dataset) const;
};

// Measures the arrays `names`, which must be of a floating type, and applies the result to them.
Standardisation standardise(Dataset& dataset, const std::vector<std::string>& names);

}  // namespace whorl
