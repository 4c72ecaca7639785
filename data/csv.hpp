// CSV: tables of numbers as text, one row a line.
//
// Every cell is one f64 exactly as written: digits with a decimal point, whatever the locale. Cells
// and column names may stand in quotes as RFC 4180 has it ("" is a quote), but not run over a line
// end; blanks around a cell do not count. Nothing is guessed: what is not a number, a row with more
// or fewer cells than there are columns, and an empty line are a data Error that names file, line
// and column, as in
//
//   [csv] d.csv:17: column 'age': expected a number, found 'abc'
//
// A cell is missing when it is empty, NA, NaN or infinite. The file is read in blocks: memory is 8
// bytes a cell, and a cell has at least 2 bytes in the file. lines.hpp says which texts are read.
// Thread safety: free functions without shared state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace whorl {

enum class Missing { refuse, drop_row };

struct CsvOptions {
  char separator = ',';  // or ';', '|', a tab
  bool header = true;    // false: there is no line of names, the columns are c1, c2, ...
  Missing missing = Missing::refuse;
};

struct Table {
  std::string path;                        // begins errors about the content
  std::vector<std::string> names;          // of the columns: UTF-8, not empty, all different
  std::vector<double> values;              // row by row, all finite
  std::int64_t first_line = 1;             // of the rows in the file
  std::vector<std::int64_t> dropped = {};  // lines of the rows with missing cells, ascending

  std::int64_t columns() const { return static_cast<std::int64_t>(names.size()); }
  std::int64_t rows() const { return static_cast<std::int64_t>(values.size() / names.size()); }
  double at(std::int64_t row, std::int64_t column) const {
    return values[static_cast<std::size_t>(row * columns() + column)];
  }
  // Where a row stands in the file.
  std::int64_t line(std::int64_t row) const;
};

inline constexpr std::int64_t csv_column_limit = 1000000;

// The table has at least one column and one row.
Table load_csv(const std::string& path, const CsvOptions& options = {});

}  // namespace whorl
