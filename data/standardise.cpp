#include "data/standardise.hpp"

#include <cmath>

#include "engine/error.hpp"
#include "engine/text.hpp"

namespace whorl {

namespace {

std::string column_name(const Dataset::Array& array, std::size_t column) {
  if (column < array.columns.size()) return fmt::format("'{}'", printable(array.columns[column]));
  return std::to_string(column + 1);
}

template <class F>
void on_floats(const Dataset::Array& array, F&& f) {
  if (!is_float(array.tensor.dtype()))
    fail(ErrorKind::usage, "standardise", "input '{}' is {}; only f32 and f64 can be standardised",
         array.name, name(array.tensor.dtype()));
  if (array.tensor.dtype() == DType::f32) {
    f(array.tensor.data<float>());
  } else {
    f(array.tensor.data<double>());
  }
}

// Differences to the first row instead of the values themselves: a constant column has variance
// zero exactly, and a large mean costs no digits.
Standardisation::Input measure(const Dataset::Array& array) {
  const std::int64_t rows = array.tensor.shape()[0];
  const auto columns = static_cast<std::size_t>(array.tensor.elements() / rows);
  Standardisation::Input input{array.name, std::vector<double>(columns),
                               std::vector<double>(columns)};
  on_floats(array, [&](const auto* x) {
    const auto each = [&](auto&& f) {
      for (std::int64_t row = 0; row < rows; ++row) {
        const auto* values = x + row * static_cast<std::int64_t>(columns);
        for (std::size_t c = 0; c < columns; ++c)
          f(c, static_cast<double>(values[c]) - static_cast<double>(x[c]));
      }
    };
    each([&](std::size_t c, double difference) { input.mean[c] += difference; });
    for (double& mean : input.mean) mean /= static_cast<double>(rows);
    each([&](std::size_t c, double difference) {
      const double off = difference - input.mean[c];
      input.sd[c] += off * off;
    });
    for (std::size_t c = 0; c < columns; ++c) {
      input.sd[c] = std::sqrt(input.sd[c] / static_cast<double>(rows));
      input.mean[c] += static_cast<double>(x[c]);
    }
  });
  return input;
}

void check_fits(const Standardisation::Input& input, const Dataset::Array& array) {
  const std::int64_t columns = array.tensor.elements() / array.tensor.shape()[0];
  if (columns != static_cast<std::int64_t>(input.mean.size()))
    fail(ErrorKind::data, "standardise", "{}: input '{}' has {} columns, but {} were standardised",
         array.origin, array.name, columns, input.mean.size());
  on_floats(array, [](const auto*) {});
}

template <class T>
void apply_to(const Standardisation::Input& input, const Dataset::Array& array, T* x) {
  const std::size_t columns = input.mean.size();
  for (std::int64_t row = 0; row < array.tensor.shape()[0]; ++row, x += columns)
    for (std::size_t c = 0; c < columns; ++c) {
      const auto z = static_cast<T>((static_cast<double>(x[c]) - input.mean[c]) / input.sd[c]);
      if (!std::isfinite(z))
        fail(ErrorKind::data, "standardise",
             "{}: input '{}', row {}, column {}: {} leaves the range of {} with mean {} and sd {}",
             array.origin, array.name, row, column_name(array, c), x[c], name(array.tensor.dtype()),
             input.mean[c], input.sd[c]);
      x[c] = z;
    }
}

}  // namespace

void Standardisation::apply(Dataset& dataset) const {
  for (const Input& input : inputs) check_fits(input, dataset.array(input.name));
  for (const Input& input : inputs) {
    const Dataset::Array& array = dataset.array(input.name);
    Tensor& tensor = dataset[input.name];
    if (tensor.dtype() == DType::f32) {
      apply_to(input, array, tensor.data<float>());
    } else {
      apply_to(input, array, tensor.data<double>());
    }
  }
}

Standardisation standardise(Dataset& dataset, const std::vector<std::string>& names) {
  Standardisation result;
  for (const std::string& name : names) {
    const Dataset::Array& array = dataset.array(name);
    for (const Standardisation::Input& other : result.inputs)
      if (other.name == name)
        fail(ErrorKind::usage, "standardise", "input '{}' is named twice", name);
    Standardisation::Input input = measure(array);
    for (std::size_t c = 0; c < input.sd.size(); ++c) {
      if (!std::isfinite(input.sd[c]))
        fail(ErrorKind::data, "standardise",
             "{}: input '{}', column {}: its values are too large or not finite: the sd is {}",
             array.origin, name, column_name(array, c), input.sd[c]);
      if (input.sd[c] > 0) continue;
      input.sd[c] = 1;
      result.warnings.push_back(
          fmt::format("{}: input '{}', column {} is constant: {}; it is centred, not scaled",
                      array.origin, name, column_name(array, c), input.mean[c]));
    }
    result.inputs.push_back(std::move(input));
  }
  result.apply(dataset);
  return result;
}

}  // namespace whorl
