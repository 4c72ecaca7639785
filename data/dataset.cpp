#include "data/dataset.hpp"

#include <algorithm>
#include <limits>

#include "data/array_file.hpp"
#include "data/convert.hpp"
#include "engine/attributes.hpp"
#include "engine/error.hpp"
#include "engine/text.hpp"

namespace whorl {

namespace {

std::string user(const WantedInput& input) {
  return fmt::format("input '{}', which is {}", input.name, name(input.dtype));
}

// Fills `tensor` with value(row, column) for all its rows and columns. `refuse(row, column, text)`
// is called for the first that does not fit.
template <class Value, class Refuse>
void fill(Tensor& tensor, const WantedInput& input, Value&& value, Refuse&& refuse) {
  const std::int64_t columns = input.columns();
  dispatch(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = tensor.data<T>();
    for (std::int64_t row = 0; row < tensor.shape()[0]; ++row)
      for (std::int64_t column = 0; column < columns; ++column) {
        const double number = value(row, column);
        if (const std::string_view why = obstacle<T>(number); !why.empty())
          refuse(row, column, fmt::format("{} is {} for {}", number, why, user(input)));
        *out++ = static_cast<T>(number);
      }
  });
}

// A row of any shape feeds an input that takes it as a list, in C order: an image [28,28] is [784].
// Not the other way round: a list of 784 may be many things.
bool feeds(const Shape& array, const Shape& row) {
  if (array.rank() == 0) return false;
  const Shape found = array.without_front();
  return found == row || (row.rank() == 1 && found.rank() > 1 && found.elements() == row[0]);
}

Tensor load_rows(const std::string& path, const WantedInput& input) {
  const auto [format, type] = array_header(path);
  if (!feeds(type.shape, input.row))
    fail(ErrorKind::data, format, "{}: found {}, but input '{}' takes {}", path, to_string(type),
         input.name, to_string(input));
  const Tensor array = load_array(path, input.dtype, user(input));
  if (array.shape() != type.shape)
    fail(ErrorKind::io, format, "{}: the file was changed while it was read", path);
  return array.view(input.row.with_front(type.shape[0]));
}

}  // namespace

void Dataset::add(Array array) {
  const auto refuse = [&](std::string_view what) {
    fail(ErrorKind::data, "data", "{}: input '{}' {}", array.origin, array.name, what);
  };
  const Shape& shape = array.tensor.shape();
  if (shape.rank() == 0) refuse("has no rows: it is a single number");
  if (shape[0] == 0) refuse("has no rows");
  if (shape[0] > std::numeric_limits<std::int32_t>::max())
    refuse("has more than the limit of 2^31 - 1 rows");
  for (const Array& other : arrays_)
    if (other.name == array.name) refuse("is there already");
  if (!arrays_.empty() && rows() != shape[0])
    fail(ErrorKind::data, "data", "{} has {} rows for input '{}', but {} has {} for input '{}'",
         array.origin, shape[0], array.name, arrays_[0].origin, rows(), arrays_[0].name);
  arrays_.push_back(std::move(array));
}

std::int64_t Dataset::rows() const { return arrays_.empty() ? 0 : arrays_[0].tensor.shape()[0]; }

std::size_t Dataset::index(std::string_view name) const {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    if (arrays_[i].name == name) return i;
    names.push_back(arrays_[i].name);
  }
  fail(ErrorKind::usage, "data", "the data have no input '{}'{}", name, did_you_mean(name, names));
}

std::string to_string(const WantedInput& input) {
  return fmt::format("{}[N{}{}", name(input.dtype), input.row.rank() > 0 ? "," : "",
                     to_string(input.row).substr(1));
}

Dataset dataset_from(const Table& table, const std::vector<WantedInput>& wanted,
                     const ColumnNames& given) {
  const auto mapping = map_columns(table, wanted, given);
  Dataset dataset;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const WantedInput& input = wanted[i];
    const std::vector<std::int64_t>& columns = mapping[i];
    const auto column_name = [&](std::int64_t column) {
      return table.names[static_cast<std::size_t>(columns[static_cast<std::size_t>(column)])];
    };
    Tensor tensor({input.dtype, input.row.with_front(table.rows())});
    fill(
        tensor, input,
        [&](std::int64_t row, std::int64_t column) {
          return table.at(row, columns[static_cast<std::size_t>(column)]);
        },
        [&](std::int64_t row, std::int64_t column, const std::string& what) {
          fail(ErrorKind::data, "csv", "{}:{}: column '{}': {}", table.path, table.line(row),
               printable(column_name(column)), what);
        });
    Dataset::Array array{input.name, std::move(tensor), table.path, {}};
    for (std::int64_t column = 0; column < input.columns(); ++column)
      array.columns.push_back(column_name(column));
    dataset.add(std::move(array));
  }
  return dataset;
}

Dataset dataset_from(const FileNames& files, const std::vector<WantedInput>& wanted) {
  std::vector<std::string_view> names;
  for (const WantedInput& input : wanted) names.push_back(input.name);
  for (const auto& [name, path] : files)
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail(ErrorKind::usage, "data", "{} is given for '{}', which is no data input{}", path, name,
           did_you_mean(name, names));
  Dataset dataset;
  for (const WantedInput& input : wanted) {
    const auto file = files.find(input.name);
    if (file == files.end())
      fail(ErrorKind::usage, "data", "there is no file for input '{}'", input.name);
    dataset.add({input.name, load_rows(file->second, input), file->second, {}});
  }
  return dataset;
}

}  // namespace whorl
