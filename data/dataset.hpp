// Dataset: named arrays with a common number of rows, what the data inputs of a model are fed from.
//
// An array's first axis counts the rows; the rest is the shape of one row, [] for one number.
// Invariants: all arrays have the same number of rows, from 1 to 2^31 - 1, and names differ.
// Arrays made here from files are finite.
// Thread safety: as for a container; many may read, a writer needs it alone.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "data/csv.hpp"
#include "engine/tensor.hpp"

namespace whorl {

class Dataset {
 public:
  struct Array {
    std::string name;
    Tensor tensor;
    std::string origin;                // where it came from, for messages
    std::vector<std::string> columns;  // the names of its columns, or none where they have none
  };

  // Throws a data Error, and stays as it was, when the invariants would break.
  void add(Array array);

  std::int64_t rows() const;  // 0 while there is nothing in it
  const std::vector<Array>& arrays() const { return arrays_; }
  // Throws a usage Error for a name that is not there.
  const Array& array(std::string_view name) const { return arrays_[index(name)]; }
  const Tensor& operator[](std::string_view name) const { return arrays_[index(name)].tensor; }
  Tensor& operator[](std::string_view name) { return arrays_[index(name)].tensor; }

 private:
  std::size_t index(std::string_view name) const;

  std::vector<Array> arrays_;
};

// An input that takes its rows from a data set.
struct WantedInput {
  std::string name;
  DType dtype = DType::f32;
  Shape row;  // of one row: [] for an input [N], [k] for [N,k]

  std::int64_t columns() const { return row.elements(); }
};
std::string to_string(const WantedInput& input);  // "f32[N,3]"

// Input name -> column names, or -> NPY or IDX file.
using ColumnNames = std::map<std::string, std::vector<std::string>>;
using FileNames = std::map<std::string, std::string>;

// The columns of `table` that each input takes, in the order of `wanted`. An input in `given` takes
// the columns said there. Of the others,
//
//   - one that takes a single column takes that of its own name, where there is one;
//   - the only one left, if it is an array [N,k], takes all columns that nobody has, in the order
//   of
//     the file, and these must be k.
//
// Anything else is an Error that says what is missing.
std::vector<std::vector<std::int64_t>> map_columns(const Table& table,
                                                   const std::vector<WantedInput>& wanted,
                                                   const ColumnNames& given = {});

// An i32 takes whole numbers only, a bool 0 and 1; a number too large for f32 is refused.
Dataset dataset_from(const Table& table, const std::vector<WantedInput>& wanted,
                     const ColumnNames& given = {});

// One NPY or IDX file for each input, converted as above; NaN and infinities are refused. An input
// [N,k] takes an array [N,a,b,...] with a b ... = k, too: its rows in C order.
Dataset dataset_from(const FileNames& files, const std::vector<WantedInput>& wanted);

}  // namespace whorl
