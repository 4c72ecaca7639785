#include "driver/data_sources.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "data/array_file.hpp"
#include "data/content_hash.hpp"
#include "data/dataset.hpp"
#include "data/labels.hpp"
#include "data/npy.hpp"
#include "data/scaling.hpp"
#include "data/split.hpp"
#include "data/standardise.hpp"
#include "engine/attributes.hpp"
#include "engine/role.hpp"

namespace whorl::driver {

namespace {

struct DataInput {
  std::string name;
  Type type;                      // as the graph was written
  std::vector<std::string> dims;  // numbers, or names of sizes
  bool rows = false;
};

std::vector<DataInput> data_inputs(const Graph& graph, const DeclaredSizes& declared) {
  std::vector<DataInput> inputs;
  std::optional<std::string> rows;
  for (NodeId id : graph.input_nodes()) {
    if (is_parameter(graph, id)) continue;
    DataInput input{std::string(graph.name(id)), graph.type(id), {}, false};
    const auto written = declared.inputs.find(input.name);
    if (written != declared.inputs.end()) input.dims = written->second;
    if (written == declared.inputs.end())
      for (std::int64_t dim : input.type.shape) input.dims.push_back(std::to_string(dim));
    if (!rows && !input.dims.empty()) rows = input.dims[0];
    input.rows = !input.dims.empty() && input.dims[0] == rows;
    inputs.push_back(std::move(input));
  }
  return inputs;
}

const DataInput& input_named(const std::vector<DataInput>& inputs, std::string_view option,
                             const std::string& name) {
  std::vector<std::string_view> names;
  for (const DataInput& input : inputs) {
    if (input.name == name) return input;
    names.push_back(input.name);
  }
  fail(ErrorKind::usage, "sample", "{}: the energy has no data input '{}'{}", option, name,
       did_you_mean(name, names));
}

struct Sources {
  std::string table;  // a CSV file, or ""
  FileNames arrays;   // by input
  ColumnNames columns;
};

// Whether FILE is a path as a whole, though it could be read as INPUT=PATH: where '=' is part of a
// directory's name, or there is such a file.
bool is_whole_path(const std::string& file) {
  std::error_code fault;
  return file.find('/') < file.find('=') || std::filesystem::is_regular_file(file, fault);
}

Sources sort_files(const std::vector<DataInput>& inputs, const DataSettings& settings,
                   const std::vector<std::string>& files) {
  Sources sources;
  for (const std::string& file : files) {
    const std::size_t equals = file.find('=');
    const std::string name = file.substr(0, equals);
    const bool known = std::any_of(inputs.begin(), inputs.end(),
                                   [&](const DataInput& input) { return input.name == name; });
    if (equals != std::string::npos && (known || !is_whole_path(file))) {
      input_named(inputs, "data", name);
      if (!sources.arrays.emplace(name, file.substr(equals + 1)).second)
        fail(ErrorKind::usage, "sample", "data: input '{}' is given twice", name);
    } else if (!sources.table.empty()) {
      fail(ErrorKind::usage, "sample", "data: two tables are given, {} and {}; expected one",
           sources.table, file);
    } else {
      sources.table = file;
    }
  }
  if (!sources.table.empty()) check_fetched(sources.table);
  for (const auto& [input, path] : sources.arrays) check_fetched(path);
  for (const auto& [input, columns] : settings.columns) {
    input_named(inputs, "columns", input);
    if (sources.table.empty() || sources.arrays.contains(input))
      fail(ErrorKind::usage, "sample", "columns: input '{}' does not come from a CSV file", input);
    if (!sources.columns.emplace(input, columns).second)
      fail(ErrorKind::usage, "sample", "columns: input '{}' is given twice", input);
  }
  return sources;
}

void check_sources(const std::vector<DataInput>& inputs, const Sources& sources,
                   const DataSettings& settings) {
  if (inputs.empty() && !settings.files.empty())
    fail(ErrorKind::usage, "sample", "the energy has no data inputs, so {} cannot be used",
         settings.files.front());
  for (const DataInput& input : inputs) {
    if (sources.arrays.contains(input.name) || (input.rows && !sources.table.empty())) continue;
    fail(ErrorKind::usage, "sample", "input '{}' {} has no data; give --data {}{}={}.npy",
         input.name, to_string(input.type), input.rows ? "FILE.csv or --data " : "", input.name,
         input.name);
  }
  for (const std::string& name : settings.standardise)
    if (!input_named(inputs, "standardise", name).rows)
      fail(ErrorKind::usage, "sample", "standardise: input '{}' has no rows", name);
}

char separator_of(const DataSettings& settings) {
  if (settings.separator.empty()) return ',';
  if (settings.separator.size() == 1) return settings.separator[0];
  fail(ErrorKind::usage, "sample", "the separator is '{}'; expected one of , ; | and tab",
       settings.separator);
}

// The named sizes, as the files decide them.
class Sizes {
 public:
  explicit Sizes(const DeclaredSizes& declared) : declared_(declared) {}

  bool open(const std::string& dim) const {
    return declared_.values.contains(dim) && !found_.contains(dim);
  }
  void take(const std::string& dim, std::int64_t value, const std::string& origin) {
    if (!declared_.values.contains(dim)) return;
    const auto [place, fresh] = found_.emplace(dim, std::pair(value, origin));
    if (!fresh && place->second.first != value)
      fail(ErrorKind::data, "sample", "size '{}' is {} by {} and {} by {}", dim,
           place->second.first, place->second.second, value, origin);
  }
  std::int64_t of(const std::string& dim) const {
    if (const auto found = found_.find(dim); found != found_.end()) return found->second.first;
    const auto written = declared_.values.find(dim);
    return written != declared_.values.end() ? written->second : std::stoll(dim);
  }
  Type type(const DataInput& input) const {
    std::vector<std::int64_t> dims;
    for (const std::string& dim : input.dims) dims.push_back(of(dim));
    return {input.type.dtype, Shape(std::span<const std::int64_t>(dims))};
  }
  std::map<std::string, std::int64_t> found() const {
    std::map<std::string, std::int64_t> sizes;
    for (const auto& [name, value] : found_) sizes[name] = value.first;
    return sizes;
  }

 private:
  const DeclaredSizes& declared_;
  std::map<std::string, std::pair<std::int64_t, std::string>> found_;
};

void take_array_sizes(const DataInput& input, const std::string& path, Sizes& sizes) {
  const std::size_t first = input.rows ? 1 : 0;
  if (std::none_of(input.dims.begin() + static_cast<std::ptrdiff_t>(first), input.dims.end(),
                   [&](const std::string& dim) { return sizes.open(dim); }))
    return;
  const Shape shape = array_shape(path);
  // An input [rows,size] takes rows of any shape as lists.
  if (input.rows && input.dims.size() == 2 && shape.rank() > 2)
    return sizes.take(input.dims[1], shape.without_front().elements(), path);
  if (static_cast<std::size_t>(shape.rank()) != input.dims.size()) return;  // refused later
  for (std::size_t axis = first; axis < input.dims.size(); ++axis)
    sizes.take(input.dims[axis], shape[static_cast<int>(axis)], path);
}

// An input [rows,k] takes as many columns as it is given, or all that are left when it is alone.
void take_table_sizes(const std::vector<DataInput>& inputs, const Sources& sources,
                      const Table& table, Sizes& sizes) {
  std::int64_t left = table.columns();
  const DataInput* rest = nullptr;
  int open = 0;
  for (const DataInput& input : inputs) {
    if (!input.rows || sources.arrays.contains(input.name)) continue;
    const auto given = sources.columns.find(input.name);
    const bool variable = input.dims.size() == 2 && sizes.open(input.dims[1]);
    if (given != sources.columns.end()) {
      left -= static_cast<std::int64_t>(given->second.size());
      if (variable)
        sizes.take(input.dims[1], static_cast<std::int64_t>(given->second.size()), table.path);
    } else if (variable) {
      rest = &input;
      ++open;
    } else {
      left -= sizes.type(input).shape.without_front().elements();
    }
  }
  if (open == 1 && left > 0 && sizes.open(rest->dims[1]))
    sizes.take(rest->dims[1], left, table.path);
}

// An input without rows takes its file as it is.
Tensor whole_array(const DataInput& input, const Type& type, const std::string& path) {
  Tensor tensor = load_array(path);
  if (tensor.dtype() == DType::f64 && type.dtype == DType::f32) tensor = narrow(path, tensor);
  if (tensor.type() != type)
    fail(ErrorKind::data, "sample", "input '{}' is {}, but {} holds {}", input.name,
         to_string(type), path, to_string(tensor.type()));
  return tensor;
}

Dataset load_rows(const std::vector<DataInput>& inputs, const Sources& sources,
                  const std::optional<Table>& table, const Sizes& sizes) {
  std::vector<WantedInput> from_table, from_files;
  FileNames files;
  for (const DataInput& input : inputs) {
    if (!input.rows) continue;
    const auto file = sources.arrays.find(input.name);
    const WantedInput wanted{input.name, input.type.dtype, sizes.type(input).shape.without_front()};
    (file == sources.arrays.end() ? from_table : from_files).push_back(wanted);
    if (file != sources.arrays.end()) files.insert(*file);
  }
  Dataset dataset;
  if (table) dataset = dataset_from(*table, from_table, sources.columns);
  if (files.empty()) return dataset;
  const Dataset arrays = dataset_from(files, from_files);
  for (const Dataset::Array& array : arrays.arrays()) dataset.add(array);
  return dataset;
}

// What of a table no input takes.
void note_unused(const Table& table, const Dataset& dataset, std::vector<std::string>& notes) {
  std::vector<std::string> unused = table.names;
  for (const Dataset::Array& array : dataset.arrays())
    if (array.origin == table.path)
      for (const std::string& used : array.columns) std::erase(unused, used);
  constexpr std::size_t shown = 10;
  const std::size_t count = unused.size();
  if (count == table.names.size())
    return notes.push_back(fmt::format("no input takes anything of {}", table.path));
  if (count == 0) return;
  if (count > shown) unused.resize(shown);
  notes.push_back(fmt::format("{}: no input takes {} {}{}", table.path,
                              count == 1 ? "column" : "the columns", fmt::join(unused, ", "),
                              count > shown ? fmt::format(" and {} more", count - shown) : ""));
}

}  // namespace

namespace {

// Row by row from the files of one set, with labels chosen and scaled as the settings say.
Dataset prepared_rows(const std::vector<DataInput>& inputs, const Sources& sources,
                      const std::optional<Table>& table, const Sizes& sizes,
                      const DataSettings& settings) {
  Dataset dataset = load_rows(inputs, sources, table, sizes);
  if (settings.labels) {
    input_named(inputs, "labels", settings.labels->input);
    dataset = keep_labels(dataset, settings.labels->input, settings.labels->keep);
  }
  for (const ScalingSettings& scaling : settings.scaling) {
    input_named(inputs, "scaling", scaling.input);
    Scaling{scaling.input, scaling.divisor, scaling.mean, scaling.sd}.apply(dataset);
  }
  return dataset;
}

std::optional<Table> load_table(const Sources& sources, const DataSettings& settings) {
  if (sources.table.empty()) return std::nullopt;
  return load_csv(sources.table, {.separator = separator_of(settings)});
}

HeldOut held_out(const Dataset& dataset) {
  HeldOut rows;
  rows.rows = dataset.rows();
  for (const Dataset::Array& array : dataset.arrays())
    rows.tensors.emplace(array.name, array.tensor);
  return rows;
}

// Files that are the same in both sets: what is learned would be judged by itself.
void note_same_files(const Sources& data, const Sources& test, std::vector<std::string>& notes) {
  const auto compare = [&](const std::string& a, const std::string& b) {
    if (const std::string warning = same_content_warning(a, b); !warning.empty())
      notes.push_back(warning);
  };
  if (!data.table.empty() && !test.table.empty()) compare(data.table, test.table);
  for (const auto& [input, path] : data.arrays)
    if (const auto other = test.arrays.find(input); other != test.arrays.end())
      compare(path, other->second);
}

// Whether a table has the columns that an input takes, by their names or by its own.
bool has_columns(const Table& table, const std::string& input, const ColumnNames& given) {
  const auto there = [&](const std::string& column) {
    return std::find(table.names.begin(), table.names.end(), column) != table.names.end();
  };
  const auto named = given.find(input);
  return named == given.end() ? there(input)
                              : std::all_of(named->second.begin(), named->second.end(), there);
}

// `optional` may have no data; "" when all must have.
Dataset load_more(const std::vector<DataInput>& inputs, Sources sources, const Sizes& sizes,
                  DataSettings settings, const std::string& optional) {
  std::vector<DataInput> given;
  const std::optional<Table> table = load_table(sources, settings);
  for (const DataInput& input : inputs) {
    const bool in_table =
        table && (input.name != optional || has_columns(*table, input.name, sources.columns));
    if (sources.arrays.contains(input.name) || (input.rows && in_table)) {
      given.push_back(input);
    } else if (input.rows && input.name != optional) {
      fail(ErrorKind::usage, "data", "input '{}' {} has no data among {}", input.name,
           to_string(input.type), fmt::join(settings.test, ", "));
    } else if (input.rows) {
      sources.columns.erase(optional);
      // Rows cannot be chosen by labels that are not there.
      settings.labels.reset();
    }
  }
  return prepared_rows(given, sources, table, sizes, settings);
}

}  // namespace

LoadedData load_data(const Graph& graph, const DeclaredSizes& declared,
                     const DataSettings& settings) {
  const std::vector<DataInput> inputs = data_inputs(graph, declared);
  const Sources sources = sort_files(inputs, settings, settings.files);
  check_sources(inputs, sources, settings);

  const std::optional<Table> table = load_table(sources, settings);
  Sizes sizes(declared);
  for (const DataInput& input : inputs)
    if (const auto file = sources.arrays.find(input.name); file != sources.arrays.end())
      take_array_sizes(input, file->second, sizes);
  if (table) take_table_sizes(inputs, sources, *table, sizes);

  LoadedData result;
  Dataset dataset = prepared_rows(inputs, sources, table, sizes, settings);
  std::optional<Dataset> validation, test;
  if (settings.validation) {
    auto [first, last] = split_last(dataset, *settings.validation);
    dataset = std::move(first);
    validation = std::move(last);
  }
  if (!settings.test.empty()) {
    const Sources files = sort_files(inputs, settings, settings.test);
    note_same_files(sources, files, result.notes);
    test = load_more(inputs, files, sizes, settings, "");
  }
  if (!settings.standardise.empty()) {
    const Standardisation standardisation = standardise(dataset, settings.standardise);
    for (const std::string& warning : standardisation.warnings) result.notes.push_back(warning);
    if (validation) standardisation.apply(*validation);
    if (test) standardisation.apply(*test);
  }
  if (validation) result.validation = held_out(*validation);
  if (test) result.test = held_out(*test);
  if (table) note_unused(*table, dataset, result.notes);
  result.rows = dataset.rows();
  result.sizes = sizes.found();
  for (const Dataset::Array& array : dataset.arrays())
    result.tensors.emplace(array.name, array.tensor);
  for (const DataInput& input : inputs) {
    if (input.rows) {
      result.row_inputs.push_back(input.name);
      if (declared.values.contains(input.dims[0])) result.rows_size = input.dims[0];
    } else {
      result.tensors.emplace(input.name,
                             whole_array(input, sizes.type(input), sources.arrays.at(input.name)));
    }
  }
  return result;
}

std::vector<std::string> row_inputs_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const DataInput& input : data_inputs(graph, {}))
    if (input.rows) names.push_back(input.name);
  return names;
}

std::map<std::string, Tensor> load_shared(const Graph& graph, const DataSettings& settings) {
  const std::vector<DataInput> inputs = data_inputs(graph, {});
  const Sources sources = sort_files(inputs, settings, settings.files);
  std::map<std::string, Tensor> tensors;
  for (const DataInput& input : inputs)
    if (!input.rows)
      tensors.emplace(input.name, whole_array(input, input.type, sources.arrays.at(input.name)));
  return tensors;
}

HeldOut load_more_rows(const Graph& graph, const DataSettings& settings,
                       const std::vector<std::string>& files, const std::string& optional) {
  DataSettings chosen = settings;
  chosen.test = files;
  const DeclaredSizes declared;
  const std::vector<DataInput> inputs = data_inputs(graph, declared);
  const Sizes sizes(declared);
  const Sources sources = sort_files(inputs, chosen, files);
  Dataset rows = load_more(inputs, sources, sizes, chosen, optional);
  if (chosen.standardise.empty()) return held_out(rows);
  DataSettings learned = settings;
  learned.test.clear();
  const Sources first = sort_files(inputs, learned, learned.files);
  Dataset data = prepared_rows(inputs, first, load_table(first, learned), sizes, learned);
  if (learned.validation) data = split_last(data, *learned.validation).first;
  standardise(data, learned.standardise).apply(rows);
  return held_out(rows);
}

void check_fetched(const std::string& path) {
  const std::string fetched = (data_directory() / "").string();
  std::error_code fault;
  if (path.starts_with(fetched) && !std::filesystem::exists(path, fault))
    fail(ErrorKind::io, "data",
         "{} is not there; tools/fetch-data fetches it, as in 'tools/fetch-data {}'", path,
         path.substr(fetched.size(), path.find('/', fetched.size()) - fetched.size()));
}

void make_absolute(DataSettings& settings) {
  // FILE or INPUT=FILE.
  for (std::vector<std::string>* files : {&settings.files, &settings.test})
    for (std::string& source : *files) {
      const std::size_t equals = source.find('=');
      const std::size_t path =
          equals == std::string::npos || is_whole_path(source) ? 0 : equals + 1;
      source = source.substr(0, path) + std::filesystem::absolute(source.substr(path)).string();
    }
  if (!settings.sequences) return;
  SequenceSettings& sequences = *settings.sequences;
  for (std::string* source :
       {&sequences.train, sequences.validation ? &*sequences.validation : nullptr,
        sequences.test ? &*sequences.test : nullptr})
    if (source) *source = std::filesystem::absolute(*source).string();
}

}  // namespace whorl::driver
