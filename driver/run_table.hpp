// RunTable: what runs that differ in nothing but their seed come to, beside published values.
//
// Runs are grouped by experiment, sampler and settings. Of each group and quantity of metrics.jsonl
// there is, over the n runs that have it at a place,
//
//   mean = sum x / n,   sd = sqrt(sum (x - mean)^2 / (n - 1)),   error = sd / sqrt(n)
//
// with no sd and no error for a single run. A place is a step, a pass over the data, or the end;
// the value there is the last that was measured until then. Another place is the best: where, in
// each run for itself, the same quantity of the validation data was lowest. A run that has not come
// so far, and at the end one that is not done, has none; the best of one that is not done is that
// of the steps that it made. Whatever makes runs less than comparable is said in a note.
// Thread safety: free functions; values.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "driver/output.hpp"
#include "driver/run_record.hpp"

namespace whorl::driver {

struct TablePlace {
  enum class Kind { step, epoch, end, best } kind = Kind::end;
  double at = 0;

  bool operator==(const TablePlace&) const = default;
};

struct TableRequest {
  // What metrics.jsonl has of these: published quantities, errors and likelihoods when empty.
  std::vector<std::string> quantities;
  // The steps of published values, and the end, when empty.
  std::vector<TablePlace> places;
};

struct TableCell {
  std::int64_t runs = 0;
  double mean = std::numeric_limits<double>::quiet_NaN();
  double sd = std::numeric_limits<double>::quiet_NaN();  // of a published value: its spread
  double error = std::numeric_limits<double>::quiet_NaN();
  std::string source = {};  // of a published value
};

struct TableRow {
  std::string sampler;
  bool published = false;
  TablePlace place;
  // The place's, or the last one; of an epoch, the last measured; 0: unknown.
  std::int64_t step = 0;
  std::vector<std::uint64_t> seeds;
  std::vector<TableCell> cells;  // one for each quantity
};

struct RunTable {
  std::string experiment;
  std::vector<std::string> quantities;
  std::vector<TableRow> rows;
  std::vector<std::string> notes;
};

// One table for each experiment. Throws a usage Error for a quantity that no run has.
std::vector<RunTable> make_tables(const std::vector<const RunRecord*>& runs,
                                  const TableRequest& request);

enum class TableStyle { text, markdown };
void print_table(const RunTable& table, TableStyle style, Output& output);
// {"tables": [...]}
std::string tables_json(const std::vector<RunTable>& tables);

// "0.01823 +- 0.00031": two digits of the error, and as many decimals of the mean.
std::string with_error(double mean, double error);

}  // namespace whorl::driver
