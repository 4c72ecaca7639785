// LoadedData: the arrays of an energy's data inputs, from the files that a user names.
//
// A data input with rows is one whose leading axis counts the rows of a data set: those that have
// the leading axis of the first data input, by the name of its size where it has one, as in
// f32[rows,3], else by its number. The other data inputs are bound as they are. Sizes with names
// are taken from the files.
// Thread safety: plain values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "driver/evaluation.hpp"
#include "engine/graph.hpp"
#include "engine/tensor.hpp"
#include "graphs/experiment_file.hpp"
#include "graphs/graph_file.hpp"

namespace whorl::driver {

struct LoadedData {
  std::map<std::string, Tensor> tensors;  // of all data inputs; [rows, ...] for those with rows
  std::vector<std::string> row_inputs;
  std::int64_t rows = 0;                      // N; 0 when no input has rows
  std::string rows_size;                      // the name of the leading size, or ""
  std::map<std::string, std::int64_t> sizes;  // that the files decide, other than `rows_size`
  std::vector<std::string> notes;
  std::optional<HeldOut> test, validation;
};

// Reads a CSV file, NPY and IDX files (INPUT=FILE), or both, for the inputs of `graph`, which was
// loaded from a file with these sizes; then leaves out the rows with other labels, scales, sets
// rows aside for validation, and standardises by those that are left. Test data get all of it with
// the same numbers. Throws a usage Error when an input is left without data or a name
// is wrong, a data Error for content that does not fit.
LoadedData load_data(const Graph& graph, const DeclaredSizes& declared,
                     const DataSettings& settings);

// The data inputs with rows of a graph without named sizes, as that of a run.
std::vector<std::string> row_inputs_of(const Graph& graph);

// Other rows for the inputs of such a graph, prepared as those of `settings` are; `files` are named
// as there. The input `optional` may be left out. Where inputs are standardised, the data of
// `settings` are read again for it.
HeldOut load_more_rows(const Graph& graph, const DataSettings& settings,
                       const std::vector<std::string>& files, const std::string& optional);
// The data inputs without rows, which are the same for all rows.
std::map<std::string, Tensor> load_shared(const Graph& graph, const DataSettings& settings);

// Throws an io Error that tells how to fetch a file which tools/fetch-data would put there, and
// which is not.
void check_fetched(const std::string& path);

// Gives every file its absolute path.
void make_absolute(DataSettings& settings);

}  // namespace whorl::driver
